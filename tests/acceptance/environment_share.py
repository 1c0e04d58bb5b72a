"""What the environment takes of a training's time: a group-relative job over a mix of puzzles, with 64 sessions at once."""

import time

from harness import expect, main
from training import metrics, serve, succeed

PUZZLES = ["countdown", "sudoku", "knights_and_knaves", "shortest_path", "subset_sum", "twenty_four"]
STEPS, TASKS, ROLLOUTS = 3, 8, 8
# Of the time of a step.
SHARE_MAX = 0.04


# The built-in transformer of the default size, answers as text.
JOB = {
    "policy": {"from": "builtin:tiny-transformer"},
    "environments": [{"name": f"puzzle/{name}"} for name in PUZZLES],
    "algorithm": {"name": "grpo", "group_size": ROLLOUTS, "tasks_per_step": TASKS},
    "rollout": {
        "concurrent_sessions": 64,
        "max_turns": 1,
        "max_tokens": 64,
        "max_context_tokens": 2_048,
        "tool_format": "text",
    },
    "optimizer": {"lr": 1e-4},
    "steps": STEPS,
    "seed": 11,
}


def run(_short):
    """There is no short form: without optimisation and beside other work the share says nothing."""
    began = time.monotonic()
    with serve() as server:
        api = server.api()
        done = succeed(api, JOB)
        told = metrics(api, done["id"])
    shares = [told["environment_share"][step] for step in sorted(told["environment_share"])]
    expect(len(shares) == STEPS, f"{len(shares)} of {STEPS} steps told their share")
    expect(all(0 < share < 1 for share in shares), f"shares of the environment: {shares}")
    # The first step opens connections and makes the puzzles' tables.
    counted = shares[1:]
    expect(max(counted) < SHARE_MAX, f"the environment takes {max(counted):.1%} of a step: {shares}")
    each = " ".join(f"{share:.2%}" for share in shares)
    return f"environment share per step {each}; {len(PUZZLES)} puzzles, 64 sessions; {time.monotonic() - began:.0f} s"


if __name__ == "__main__":
    main(run)
