"""Known numbers for the algorithms of the trainer, worked out apart from it with NumPy.

Run `python3 trainer/known/algorithms.py` to write `algorithms.json` beside this file; the tests of
`crates/trainer/src/algorithm/` read that file. Everything is float64, and gradients are checked here against
central differences before they are written.
"""

import json
from pathlib import Path

import numpy as np

EPSILON = 1e-6
WHITENING_EPSILON = 1e-8
LOG_RATIO_MAX = 20.0


# --- Episodes -------------------------------------------------------------------------------------------------


def make_episodes():
    """Four groups of 4, 5, 3 and 1 episodes; one episode is masked and holds no number as its reward."""
    draw = np.random.default_rng(20)
    episodes = []
    for group, size in enumerate([4, 5, 3, 1]):
        for place in range(size):
            turns = []
            for _ in range(int(draw.integers(1, 5))):
                turns.append(
                    {
                        "tokens": int(draw.integers(1, 9)),
                        "reward": round(float(draw.normal(0.1, 0.5)), 3),
                        "state": [None, "start", "left", "right", "start"][int(draw.integers(0, 5))],
                    }
                )
            episodes.append(
                {
                    "group": group,
                    "counts": not (group == 1 and place == 2),
                    "turns": turns,
                    "tool_calls": int(draw.integers(0, 3)),
                    "game": ["hex", "nim"][group % 2],
                    "role": ["first", "second"][place % 2],
                    "terminated": bool(draw.integers(0, 2)),
                }
            )
    for episode in episodes:
        total = sum(turn["reward"] for turn in episode["turns"])
        episode["reward"] = round(total, 3) if episode["counts"] else None
        if not episode["counts"]:
            episode["turns"][0]["reward"] = None
    return episodes


def groups_of(episodes, key):
    found = {}
    for index, episode in enumerate(episodes):
        if episode["counts"]:
            found.setdefault(key(episode), []).append(index)
    return found


def spread_over_turns(episodes, per_episode):
    return [[float(per_episode[i])] * len(e["turns"]) for i, e in enumerate(episodes)]


def returns_to_go(rewards, gamma):
    """G_t = sum over k >= t of gamma^(k-t) r_k, as a matrix product rather than a recursion."""
    rewards = np.asarray(rewards, dtype=np.float64)
    steps = np.arange(len(rewards))
    powers = steps[None, :] - steps[:, None]
    weights = np.where(powers >= 0, float(gamma) ** np.maximum(powers, 0), 0.0)
    return weights @ rewards


def normalised(values, epsilon, divide=True):
    values = np.asarray(values, dtype=np.float64)
    if len(values) < 2:
        return np.zeros_like(values)
    centred = values - values.mean()
    return centred / (values.std(ddof=1) + epsilon) if divide else centred


def by_group(episodes, form, key=lambda e: e["group"]):
    answer = np.zeros(len(episodes))
    for members in groups_of(episodes, key).values():
        answer[members] = form(np.array([episodes[i]["reward"] for i in members]))
    return answer


def all_kept(episodes):
    return [e["counts"] for e in episodes]


def group_normalised(episodes, epsilon=EPSILON):
    per = by_group(episodes, lambda r: normalised(r, epsilon))
    return {"turns": spread_over_turns(episodes, per), "kept": all_kept(episodes)}


def group_centred(episodes):
    per = by_group(episodes, lambda r: normalised(r, 0.0, divide=False))
    return {"turns": spread_over_turns(episodes, per), "kept": all_kept(episodes)}


def leave_one_out(episodes):
    def form(rewards):
        if len(rewards) < 2:
            return np.zeros_like(rewards)
        return np.array([rewards[i] - np.delete(rewards, i).mean() for i in range(len(rewards))])

    return {"turns": spread_over_turns(episodes, by_group(episodes, form)), "kept": all_kept(episodes)}


def batch_whitened(episodes, gamma, group_mean_first):
    taken = np.zeros(len(episodes))
    if group_mean_first:
        taken = by_group(episodes, lambda r: np.full(len(r), r.mean()))
    per_turn, tokens = [], []
    for index, episode in enumerate(episodes):
        if not episode["counts"]:
            per_turn.append([0.0] * len(episode["turns"]))
            continue
        rewards = [turn["reward"] for turn in episode["turns"]]
        rewards[-1] -= taken[index]
        per_turn.append(returns_to_go(rewards, gamma).tolist())
        for turn, value in zip(episode["turns"], per_turn[-1]):
            tokens.extend([value] * turn["tokens"])
    tokens = np.array(tokens)
    mean, variance = tokens.mean(), tokens.var(ddof=1)
    for index, episode in enumerate(episodes):
        if episode["counts"]:
            per_turn[index] = [float((v - mean) / np.sqrt(variance + WHITENING_EPSILON)) for v in per_turn[index]]
    return {"turns": per_turn, "kept": all_kept(episodes)}


def group_median(episodes, epsilon=1e-3):
    def lower_median(values):
        return np.sort(values)[(len(values) - 1) // 2]

    per = by_group(
        episodes,
        lambda r: (r - lower_median(r)) / (lower_median(np.abs(r - lower_median(r))) + epsilon),
    )
    kept = all_kept(episodes)
    for members in groups_of(episodes, lambda e: e["group"]).values():
        rewards = np.array([episodes[i]["reward"] for i in members])
        leaver = members[int(np.flatnonzero(rewards == lower_median(rewards))[0])]
        kept[leaver] = False
    return {"turns": spread_over_turns(episodes, per), "kept": kept}


def group_in_group(episodes, gamma, step_weight, normalise):
    episode_part = by_group(episodes, lambda r: normalised(r, EPSILON, divide=normalise))
    turns = spread_over_turns(episodes, episode_part)
    places = {}
    for i, episode in enumerate(episodes):
        if not episode["counts"]:
            continue
        to_go = returns_to_go([t["reward"] for t in episode["turns"]], gamma)
        for t, turn in enumerate(episode["turns"]):
            if turn["state"] is not None:
                places.setdefault((episode["group"], turn["state"]), []).append((i, t, to_go[t]))
    for members in places.values():
        step = normalised([value for _, _, value in members], EPSILON, divide=normalise)
        for (i, t, _), advantage in zip(members, step):
            turns[i][t] += step_weight * float(advantage)
    return {"turns": turns, "kept": all_kept(episodes)}


def stratified(episodes, alpha, epsilon=EPSILON):
    within = by_group(episodes, lambda r: normalised(r, epsilon), key=lambda e: (e["group"], e["tool_calls"]))
    across = by_group(episodes, lambda r: normalised(r, epsilon))
    return {"turns": spread_over_turns(episodes, alpha * within + (1 - alpha) * across), "kept": all_kept(episodes)}


def role_baseline(episodes, decay, before):
    advantages = np.zeros(len(episodes))
    after = {game: dict(roles) for game, roles in before.items()}
    for (game, role), members in groups_of(episodes, lambda e: (e["game"], e["role"])).items():
        rewards = np.array([episodes[i]["reward"] for i in members])
        baseline = before.get(game, {}).get(role, 0.0)
        advantages[members] = rewards - baseline
        after.setdefault(game, {})[role] = decay * baseline + (1 - decay) * float(rewards.mean())
    turns = spread_over_turns(episodes, advantages)
    return {"turns": turns, "kept": all_kept(episodes), "before": before, "after": after}


# --- Generalised advantage estimation -------------------------------------------------------------------------


def generalised(rewards, values, ends, after_last, gamma, decay):
    """Plain form: A_t = sum over k of (gamma decay)^k delta_(t+k), within one episode."""
    count = len(rewards)
    deltas, last = np.zeros(count), np.zeros(count, dtype=bool)
    for t in range(count):
        if ends[t] == "terminated":
            following, last[t] = 0.0, True
        elif isinstance(ends[t], float):
            following, last[t] = ends[t], True
        else:
            following = values[t + 1] if t + 1 < count else after_last
        deltas[t] = rewards[t] + gamma * following - values[t]
    advantages = np.zeros(count)
    for t in range(count):
        factor = 1.0
        for k in range(t, count):
            advantages[t] += factor * deltas[k]
            if last[k]:
                break
            factor *= gamma * decay
    return advantages


def generalised_cases():
    draw = np.random.default_rng(3)
    rewards = draw.normal(size=9).round(3).tolist()
    values = draw.normal(size=9).round(3).tolist()
    ends = [None, None, "terminated", None, None, 0.75, None, None, None]
    plain = generalised(rewards, values, ends, 0.4, 0.99, 0.95)
    flat = {
        "gamma": 0.99,
        "lambda": 0.95,
        "after_last": 0.4,
        "steps": [{"reward": r, "value": v, "acts": True, "end": e} for r, v, e in zip(rewards, values, ends)],
        "advantages": plain.tolist(),
        "returns": (plain + np.array(values)).tolist(),
        "whitened": ((plain - plain.mean()) / np.sqrt(plain.var(ddof=1) + WHITENING_EPSILON)).tolist(),
    }
    # The same with observation tokens between: they neither earn nor are valued, and a reward that stands on one
    # belongs to the action before it.
    steps, expected = [], []
    for t in range(9):
        waits = t in (0, 3, 7)
        split = round(rewards[t] * 0.25, 4) if waits else 0.0
        own = rewards[t] - split
        steps.append({"reward": own, "value": values[t], "acts": True, "end": None if waits else ends[t]})
        expected.append(plain[t])
        if waits:
            steps.append({"reward": split, "value": 123.0, "acts": False, "end": None})
            steps.append({"reward": 0.0, "value": -77.0, "acts": False, "end": ends[t]})
            expected.extend([0.0, 0.0])
    mixed = {
        "gamma": 0.99,
        "lambda": 0.95,
        "after_last": 0.4,
        "steps": steps,
        "advantages": [float(a) for a in expected],
        "returns": [float(a + s["value"]) if s["acts"] else 0.0 for a, s in zip(expected, steps)],
    }
    return {"plain": flat, "with_observations": mixed}


# --- Aggregation, auxiliary, importance, reward ----------------------------------------------------------------


def aggregation_cases():
    lengths = [3, 0, 7, 1]
    tokens = np.random.default_rng(5).normal(size=(4, 7)).round(4)
    mask = np.array([[t < length for t in range(7)] for length in lengths])
    present = mask.any(axis=1)
    sums = (tokens * mask).sum(axis=1)
    losses = {
        "token_mean": tokens[mask].mean(),
        "sequence_mean_of_token_mean": np.mean([tokens[i][mask[i]].mean() for i in np.flatnonzero(present)]),
        "sequence_mean_of_token_sum": sums[present].mean(),
        "token_sum_over_constant": sums.sum() / (present.sum() * 16.0),
    }
    return {
        "lengths": lengths,
        "losses": [row[m].tolist() for row, m in zip(tokens, mask)],
        "constant": 16.0,
        "expected": {name: float(value) for name, value in losses.items()},
    }


def importance_case():
    old = np.array([-1.0, -0.5, -2.0, -0.1, -30.0, -0.2])
    sampled = np.array([-1.0, -1.5, -1.0, -0.3, -0.1, -60.0])
    return {
        "old": old.tolist(),
        "sampled": sampled.tolist(),
        "weights": np.minimum(np.exp(np.clip(old - sampled, -LOG_RATIO_MAX, LOG_RATIO_MAX)), 2.0).tolist(),
    }


def overlong_case():
    longest, cache = 100, 20
    lengths = [0, 50, 80, 81, 90, 100, 101, 5000]
    rewards = []
    for length in lengths:
        if length <= longest - cache:
            rewards.append(0.0)
        elif length <= longest:
            rewards.append(((longest - cache) - length) / cache)
        else:
            rewards.append(-1.0)
    return {"longest": longest, "cache": cache, "lengths": lengths, "penalties": rewards}


# --- Losses on tokens -----------------------------------------------------------------------------------------


def central_difference(function, at, step=1e-6):
    gradient = np.zeros_like(at)
    for i in range(len(at)):
        up, down = at.copy(), at.copy()
        up[i] += step
        down[i] -= step
        gradient[i] = (function(up) - function(down)) / (2 * step)
    return gradient


def clipped_loss(ratio, advantages, low, high, dual):
    """The loss, the ratio's coefficient in its slope, and which tokens the clip holds."""
    free = -advantages * ratio
    bound = -advantages * np.clip(ratio, 1 - low, 1 + high)
    loss = np.maximum(free, bound)
    held = bound > free
    slope = np.where(held, 0.0, -advantages)
    if dual is not None:
        ceiling = -advantages * dual
        over = (advantages < 0) & (loss > ceiling)
        loss, slope = np.where(over, ceiling, loss), np.where(over, 0.0, slope)
    return loss, slope, held


def policy_cases():
    draw = np.random.default_rng(11)
    count = 14
    sequence_of = [0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2]
    old = draw.uniform(-3.0, -0.1, count).round(4)
    new = (old + draw.normal(0.0, 0.3, count)).round(4)
    reference = (new + draw.normal(0.0, 0.4, count)).round(4)
    advantages = draw.normal(0.0, 1.0, count).round(4)
    entropies = draw.uniform(0.1, 2.0, count).round(4)
    weights = draw.uniform(0.02, 0.2, count).round(4)
    importance = draw.uniform(0.2, 2.0, count).round(4)
    # Far beyond the dual clip, beyond the clamp in both directions, and on the clamp of the reference.
    old[1], new[1], advantages[1] = -2.0, -0.25, -1.5
    old[5], new[5], advantages[5] = -25.0, -0.5, 0.7
    old[9], new[9], advantages[9] = -0.5, -28.0, -0.9
    reference[9] = -1.0
    new[12] = old[12]
    inputs = {
        "new": new.tolist(),
        "old": old.tolist(),
        "reference": reference.tolist(),
        "advantages": advantages.tolist(),
        "entropies": entropies.tolist(),
        "importance": importance.tolist(),
        "weights": weights.tolist(),
        "sequence_of": sequence_of,
    }

    def ratios(now):
        log_ratio = np.clip(now - old, -LOG_RATIO_MAX, LOG_RATIO_MAX)
        return np.exp(log_ratio), np.abs(now - old) < LOG_RATIO_MAX

    def token_case(name, low, high, dual, with_importance=False):
        scale = importance if with_importance else np.ones(count)
        ratio, free = ratios(new)
        loss, slope, held = clipped_loss(ratio, advantages, low, high, dual)
        gradient = weights * scale * slope * ratio * free

        def total(now):
            return float((weights * scale * clipped_loss(ratios(now)[0], advantages, low, high, dual)[0]).sum())

        np.testing.assert_allclose(gradient, central_difference(total, new), rtol=1e-4, atol=1e-6)
        return {
            "name": name,
            "low": low,
            "high": high,
            "dual": dual,
            "importance": with_importance,
            "loss": (scale * loss).tolist(),
            "ratio": ratio.tolist(),
            "held": held.astype(float).tolist(),
            "gradient": gradient.tolist(),
        }

    token = [
        token_case("symmetric", 0.2, 0.2, None),
        token_case("wide_above", 0.2, 0.28, None),
        token_case("dual", 0.2, 0.28, 3.0),
        token_case("dual_with_importance", 0.2, 0.2, 3.0, with_importance=True),
    ]

    # Sequence form: the value is that of the whole sequence, the slope that of each token.
    low, high = 0.1, 0.15
    means = np.array([np.mean((new - old)[np.array(sequence_of) == s]) for s in range(3)])
    ratio = np.exp(np.clip(means, -LOG_RATIO_MAX, LOG_RATIO_MAX))[sequence_of]
    loss, slope, held = clipped_loss(ratio, advantages, low, high, None)

    def sequence_total(now):
        moved = ratio * np.exp(now - new)
        return float((weights * clipped_loss(moved, advantages, low, high, None)[0]).sum())

    gradient = weights * slope * ratio
    np.testing.assert_allclose(gradient, central_difference(sequence_total, new), rtol=1e-4, atol=1e-6)
    sequence = {
        "low": low,
        "high": high,
        "loss": loss.tolist(),
        "ratio": ratio.tolist(),
        "held": held.astype(float).tolist(),
        "gradient": gradient.tolist(),
    }

    def divergence(kind, now):
        d = np.clip(reference - now, -LOG_RATIO_MAX, LOG_RATIO_MAX)
        return {"k1": -d, "k2": d**2 / 2, "k3": np.exp(d) - d - 1}[kind]

    kl = []
    for kind in ["k1", "k2", "k3"]:
        d = np.clip(reference - new, -LOG_RATIO_MAX, LOG_RATIO_MAX)
        inside = np.abs(reference - new) < LOG_RATIO_MAX
        slope = {"k1": np.ones(count), "k2": -d, "k3": 1 - np.exp(d)}[kind] * inside
        gradient = weights * slope
        # The token whose divergence is near e^20 swamps a difference of sums, so tokens are differenced apart.
        difference = (divergence(kind, new + 1e-6) - divergence(kind, new - 1e-6)) / 2e-6
        np.testing.assert_allclose(slope, difference, rtol=1e-4, atol=1e-6)
        kl.append({"estimator": kind, "values": divergence(kind, new).tolist(), "gradient": gradient.tolist()})
    return {"inputs": inputs, "token": token, "sequence": sequence, "kl": kl}


def value_case():
    draw = np.random.default_rng(13)
    values, old, returns, weights = (draw.normal(0.0, 1.0, 10).round(4) for _ in range(4))
    old = (values + draw.normal(0.0, 0.3, 10)).round(4)
    weights = np.abs(weights)
    clip = 0.2

    def losses(now):
        near = old + np.clip(now - old, -clip, clip)
        return 0.5 * np.maximum((now - returns) ** 2, (near - returns) ** 2)

    near = old + np.clip(values - old, -clip, clip)
    near_wins = (near - returns) ** 2 > (values - returns) ** 2
    gradient = weights * np.where(near_wins, 0.0, values - returns)
    difference = central_difference(lambda now: float((weights * losses(now)).sum()), values)
    np.testing.assert_allclose(gradient, difference, rtol=1e-4, atol=1e-6)
    return {
        "clip": clip,
        "values": values.tolist(),
        "old": old.tolist(),
        "returns": returns.tolist(),
        "weights": weights.tolist(),
        "loss": losses(values).tolist(),
        "gradient": gradient.tolist(),
    }


def main():
    episodes = make_episodes()
    before = {"hex": {"first": 0.25}, "chess": {"white": -0.5}}
    known = {
        "episodes": episodes,
        "advantage": {
            "group_normalised": group_normalised(episodes),
            "group_centred": group_centred(episodes),
            "leave_one_out": leave_one_out(episodes),
            "batch_whitened": batch_whitened(episodes, 0.9, False),
            "batch_whitened_group_mean_first": batch_whitened(episodes, 1.0, True),
            "group_median": group_median(episodes),
            "group_in_group": group_in_group(episodes, 0.95, 1.0, True),
            "group_in_group_centred": group_in_group(episodes, 0.95, 0.5, False),
            "stratified": stratified(episodes, 0.8),
            "role_baseline": role_baseline(episodes, 0.95, before),
        },
        "generalised": generalised_cases(),
        "aggregation": aggregation_cases(),
        "importance": importance_case(),
        "overlong": overlong_case(),
        "policy": policy_cases(),
        "value": value_case(),
    }
    target = Path(__file__).with_name("algorithms.json")
    target.write_text(json.dumps(known, indent=1, allow_nan=False) + "\n")


if __name__ == "__main__":
    main()
