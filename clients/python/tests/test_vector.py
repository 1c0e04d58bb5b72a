"""Many sessions over one socket, and over one that breaks."""

from __future__ import annotations

import asyncio

import palestra
import palestra.testing
import pytest
from conftest import cutting


def test_sessions_step_together_and_one_that_fails_fails_no_other(client: palestra.Client) -> None:
    with client.vector("bench/counter", tasks=[{"split": "train", "index": 0}, {"split": "train", "index": 1}], group_size=3) as vector:
        assert len(vector) == 6
        groups = [opened.group for opened in vector.opened]
        assert len(set(groups[:3])) == len(set(groups[3:])) == 1 and groups[0] != groups[3]
        steps = vector.step([str(place) for place in range(6)])
        assert [step.observation.data["count"] for step in steps if isinstance(step, palestra.Step)] == list(range(6))
        client.request("DELETE", f"/sessions/{vector.ids[4]}")
        outcomes = vector.step(["1", None, "1", "1", "1", {"tool": "add", "arguments": {"amount": 2}}])
        assert outcomes[1] is None
        assert isinstance(outcomes[4], palestra.ApiError) and outcomes[4].code == "session_over"
        assert [step.seq for step in outcomes if isinstance(step, palestra.Step)] == [2, 2, 2, 2]
        assert vector.done == [False, False, False, False, True, False]


def test_the_count_of_what_is_given_is_checked_before_anything_is_sent(client: palestra.Client) -> None:
    with client.vector("bench/counter", 2) as vector:
        with pytest.raises(ValueError, match="1 actions for 2 sessions"):
            vector.step(["1"])
        with pytest.raises(TypeError, match="an action is"):
            vector.step(["1", 5])  # type: ignore[list-item]
        assert [step.seq for step in vector.step(["1", "1"]) if isinstance(step, palestra.Step)] == [1, 1]
    with pytest.raises(ValueError, match="`count` or `tasks`"):
        client.vector("bench/counter")


def test_episodes_begin_anew_and_end(client: palestra.Client) -> None:
    with client.vector("bench/counter", 3) as vector:
        vector.step(["1", "2", "3"])
        before = [opened.episode for opened in vector.opened]
        assert all(isinstance(opened, palestra.Opened) for opened in vector.reset([0, 2], [{"split": "train", "index": 5}, {"split": "train", "index": 6}]))
        after = [opened.episode for opened in vector.opened]
        assert [old == new for old, new in zip(before, after)] == [False, True, False]
        (finished,) = vector.finish([1])
        assert isinstance(finished, palestra.Finished) and finished.verdict is not None and finished.verdict.status == "scored"
        assert vector.done == [False, True, False]


def test_a_creation_that_fails_leaves_nothing(client: palestra.Client) -> None:
    tasks = [{"split": "train", "index": 0}, {"split": "nowhere", "index": 0}]
    with pytest.raises(palestra.ApiError) as refused:
        client.vector("bench/counter", tasks=tasks)
    assert refused.value.code in ("unknown_task", "invalid")
    newest = next(iter(client.pages("/runs", limit=1)))
    assert newest["state"] != "open"


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_lost_or_repeated_over_a_connection_that_breaks(server: palestra.testing.Server, seed: int) -> None:
    sessions, steps = 300, 6

    async def play() -> None:
        async with cutting(server.url, cuts_max=25, bytes_max=300_000, seed=seed) as proxy, palestra.AsyncClient(proxy.url, server.key) as client:
            async with await client.vector("bench/counter", sessions, limits={"steps": 100}) as vector:
                for turn in range(1, steps + 1):
                    outcomes = await vector.step(["1"] * sessions)
                    counts = [outcome.observation.data["count"] for outcome in outcomes if isinstance(outcome, palestra.Step)]
                    assert counts == [turn] * sessions
                assert len(set(vector.ids)) == sessions
                assert proxy.cuts > 3 and client.reconnects > 3
                run = vector.run
                rows = [row async for row in client.pages("/sessions", run=run, limit=1000)]
                # Creations that were sent again opened no second session.
                assert len(rows) == sessions

    asyncio.run(play())


def test_single_sessions_survive_a_connection_that_breaks(server: palestra.testing.Server) -> None:
    async def play() -> None:
        async with cutting(server.url, cuts_max=12, bytes_max=40_000, seed=9) as proxy, palestra.AsyncClient(proxy.url, server.key) as client:

            async def one() -> list[int]:
                async with await client.session("bench/counter", limits={"steps": 50}) as session:
                    return [(await session.step("1")).observation.data["count"] for _ in range(10)]

            assert await asyncio.gather(*(one() for _ in range(20))) == [list(range(1, 11))] * 20
            assert proxy.cuts > 2

    asyncio.run(play())


def test_what_cannot_be_sent_fails_alone(client: palestra.Client) -> None:
    with client.vector("bench/counter", 4, limits={"steps": 50}) as vector:
        actions: list[palestra.Action | None] = ["5", "x" * (17 << 20), "\ud800", "5"]
        outcomes = vector.step(actions, metas=[None, None, None, {"logprob": 0.5}])
        codes = [outcome.code if isinstance(outcome, palestra.ApiError) else None for outcome in outcomes]
        assert codes == [None, "too_large", "malformed", None]
        again = vector.step(["1"] * 4, metas=[{"logprob": float("nan")}, None, None, None])
        counts = [outcome.observation.data["count"] for outcome in again if isinstance(outcome, palestra.Step)]
        assert isinstance(again[0], palestra.ApiError) and counts == [1, 1, 6]
        with pytest.raises(ValueError, match="places are those of 4"):
            vector.reset([0, 9])
        assert vector.opened[0].seq == 0 and [step.seq for step in vector.step(["1", None, None, None]) if isinstance(step, palestra.Step)] == [2]


def test_an_opening_that_is_cancelled_leaves_nothing(server: palestra.testing.Server) -> None:
    async def play() -> None:
        async with server.async_client() as client:
            begun = {row["id"] async for row in client.pages("/runs", limit=1000)}
            opening = asyncio.create_task(client.vector("bench/counter", 400))
            while not (new := [row async for row in client.pages("/runs", limit=1000) if row["id"] not in begun]):
                pass
            opening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await opening
            assert (await client.request("GET", f"/runs/{new[0]['id']}"))["state"] != "open"

    asyncio.run(play())
