"""Gymnasium's own checks, and episodes through its interface."""

from __future__ import annotations

import math
from collections.abc import Iterator

import gymnasium
import numpy as np
import palestra
import palestra.gym
import palestra.testing
import pytest
from gymnasium.utils.env_checker import check_env


@pytest.fixture
def counter(client: palestra.Client) -> Iterator[palestra.gym.PalestraEnv]:
    env = palestra.gym.PalestraEnv("bench/counter", client, limits={"steps": 2})
    yield env
    env.close()


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_gymnasium_finds_no_fault(counter: palestra.gym.PalestraEnv) -> None:
    check_env(counter, skip_render_check=True)


def test_an_episode_ends_with_its_verdict(counter: palestra.gym.PalestraEnv) -> None:
    text, info = counter.reset(seed=5)
    again, _ = counter.reset(seed=5)
    assert text == again and info["tools"]
    target = int(info["messages"][-1]["content"].split("exactly ")[1].split(".")[0])
    counter.step({"tool": "add", "arguments": {"amount": target}})
    text, reward, terminated, truncated, info = counter.step("0")
    assert (terminated, truncated, reward, info["is_sample"]) == (False, True, 1.0, True)
    assert info["verdict"]["status"] == "scored"


def test_what_has_no_score_is_no_reward(counter: palestra.gym.PalestraEnv) -> None:
    step = palestra.Step({
        "episode": "e", "seq": 1, "observation": {"text": ""}, "messages": [], "reward": 0.0, "terminated": False, "truncated": True,
        "info": {}, "verdict": {"status": "infra_error", "score": None, "passed": False, "trainable": False, "checks": []},
    })
    reward, info = palestra.gym._stepped(step)
    assert math.isnan(reward) and not info["is_sample"]


def test_it_is_made_by_name(server: palestra.testing.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALESTRA_URL", server.url)
    monkeypatch.setenv("PALESTRA_API_KEY", server.key)
    env = gymnasium.make("Palestra-v0", environment="puzzle/mastermind", disable_env_checker=True)
    text, _ = env.reset(seed=1)
    assert text == env.reset(seed=1)[0]
    env.close()


def test_a_vector_begins_anew_by_itself(client: palestra.Client) -> None:
    env = palestra.gym.PalestraVectorEnv("bench/counter", 4, client, limits={"steps": 3})
    texts, infos = env.reset(seed=11)
    assert len(texts) == 4 and infos["_messages"].all()
    for _ in range(3):
        texts, rewards, terminated, truncated, infos = env.step(["0"] * 4)
    assert truncated.all() and infos["_verdict"].all() and infos["is_sample"].all()
    texts, rewards, terminated, truncated, infos = env.step(["0"] * 4)
    assert not truncated.any() and infos["_task"].all() and np.array_equal(rewards, np.zeros(4))
    _, _, _, _, infos = env.step(["1"] * 4)
    assert [data["count"] for data in infos["data"]] == [1] * 4
    env.close()


def test_each_reset_draws_a_task_and_a_seed_brings_it_again(client: palestra.Client) -> None:
    env = palestra.gym.PalestraEnv("bench/counter", client)
    env.reset(seed=3)
    drawn = [env.reset()[1]["task"]["id"] for _ in range(4)]
    assert len(set(drawn)) == 4
    env.reset(seed=3)
    assert [env.reset()[1]["task"]["id"] for _ in range(4)] == drawn
    assert env.reset(options={"task": {"split": "train", "index": 2}})[1]["task"]["index"] == 2
    env.close()
    env.close()
    fixed = palestra.gym.PalestraEnv("bench/counter", client, task={"split": "train", "index": 4})
    assert {fixed.reset()[1]["task"]["index"] for _ in range(3)} == {4}
    fixed.close()


def test_a_vector_is_seeded_and_one_that_fails_fails_no_other(client: palestra.Client) -> None:
    env = palestra.gym.PalestraVectorEnv("bench/counter", 3, client, limits={"steps": 9})

    def seeds() -> list[int]:
        episodes = [client.episode(episode) for episode in env.reset(seed=5)[1]["episode"]]
        return [episode["seed"] for episode in episodes]

    assert seeds() == seeds() == [5, 6, 7]
    _, rewards, _, truncated, infos = env.step(["5", {"foo": 1}, "5"])
    assert [bool(over) for over in truncated] == [False, True, False] and math.isnan(rewards[1]) and infos["error"][1]
    _, _, _, truncated, infos = env.step(["5", "5", "5"])
    assert [data and data["count"] for data in infos["data"]] == [10, None, 10] and infos["_task"][1]
    for wrong in ({"seed": [1, 2]}, {"options": {"tasks": [{"index": 1}]}}):
        with pytest.raises(ValueError, match="for 3 sessions"):
            env.reset(**wrong)
    env.close()
