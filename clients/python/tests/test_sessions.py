"""Sessions, blocking and asynchronous."""

from __future__ import annotations

import asyncio
import re
import threading

import palestra
import palestra.testing
import pytest
from conftest import Proxy
from palestra._address import Address


def target(session: palestra.Session | palestra.AsyncSession) -> int:
    found = re.search(r"exactly (\d+)", str(session.messages))
    assert found, session.messages
    return int(found[1])


def test_an_episode_is_played_and_scored(client: palestra.Client) -> None:
    with client.session("bench/counter", task={"split": "train", "index": 3}, limits={"steps": 2}) as session:
        assert session.tools and session.task.split == "train"
        wanted = target(session)
        first = session.call("add", amount=wanted - 1)
        assert (first.seq, first.done, first.verdict) == (1, False, None)
        last = session.step(str(1))
        assert last.truncated and last.stop_reason == "max_steps" and session.done
        assert session.verdict is not None and session.verdict == last.verdict
        assert (session.verdict.score, session.verdict.passed, session.verdict.is_sample) == (1.0, True, True)
        assert session.verify() == session.verdict
    stored = client.trajectory(session.episode)
    assert len(stored["steps"]) == 2
    assert client.verdicts(session.episode) == [session.verdict]


def test_what_stands_behind_the_last_step_is_refused_with_its_code(client: palestra.Client) -> None:
    with client.session("bench/counter") as session:
        finished = session.finish("max_turns")
        assert finished.stop_reason == "max_turns" and finished.verdict is not None
        with pytest.raises(palestra.ApiError) as refused:
            session.step("1")
        assert (refused.value.code, refused.value.status) == ("episode_over", 409)
        opened = session.reset()
        assert opened.seq == 0 and not session.done
        assert session.step("1").seq == 1


def test_sessions_branch(client: palestra.Client) -> None:
    with client.session("bench/counter") as session:
        session.step("2")
        snapshot = session.snapshot("two")
        session.step("3")
        early, late = *session.fork(at_seq=1), *session.fork()
        assert (early.seq, late.seq) == (1, 2)
        assert early.step("10").observation.data["count"] == 12
        assert late.step("10").observation.data["count"] == 15
        assert session.diff(late.id)["patch"]
        session.restore(snapshot)
        assert session.step("1").observation.data["count"] == 3
        assert session.state()["state"]
        again = client.session(start={"snapshot": snapshot.id})
        assert again.seq == 1


def test_threads_share_a_client(client: palestra.Client) -> None:
    counts: dict[int, int] = {}

    def play(number: int) -> None:
        with client.session("bench/counter", limits={"steps": 50}) as session:
            for _ in range(5):
                counts[number] = session.step("1").observation.data["count"]

    threads = [threading.Thread(target=play, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(counts.values()) == [5] * 8


def test_a_run_closes_its_sessions(client: palestra.Client) -> None:
    with client.run() as run:
        session = client.session("bench/counter", run=run)
    assert client.request("GET", f"/sessions/{session.id}")["state"] == "closed"
    with pytest.raises(palestra.ApiError) as refused:
        session.step("1")
    assert refused.value.code == "session_over"


def test_environments_tasks_and_lists_are_read(client: palestra.Client) -> None:
    assert "bench/counter" in [environment.name for environment in client.environments(family="bench")]
    counter = client.environment("bench/counter")
    assert counter.splits["train"] > 0
    assert [task.split for task in client.tasks("bench/counter", limit=3)] == ["train"] * 3
    run = client.run()
    sessions = {client.session("bench/counter", run=run).id for _ in range(5)}
    assert {row["id"] for row in client.pages("/sessions", run=run.id, limit=2)} == sessions
    run.close()


def test_a_wrong_key_is_refused_at_once(server: palestra.testing.Server) -> None:
    with palestra.Client(server.url, "wrong") as client:
        for attempt in (lambda: client.session("bench/counter"), lambda: client.environments()):
            with pytest.raises(palestra.ApiError) as refused:
                attempt()
            assert (refused.value.status, refused.value.code) == (401, "unauthorized")


def test_a_server_that_is_not_there_is_given_up() -> None:
    with palestra.Client("http://127.0.0.1:9", "key", give_up_s=0.3) as client:
        for attempt in (lambda: client.session("bench/counter"), lambda: client.environments()):
            with pytest.raises(palestra.ConnectionLost, match="is the server running"):
                attempt()


def test_bad_input_says_what_is_wrong(client: palestra.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    for address, match in [("ftp://somewhere", "no address"), ("http://here:99999", "no address"), ("http://here:7070/v1", "leave that out")]:
        with pytest.raises(palestra.PalestraError, match=match):
            palestra.Client(address, "key")
    with pytest.raises(palestra.PalestraError, match="the key holds"):
        palestra.Client("http://here:7070", "clé")
    monkeypatch.delenv("PALESTRA_URL", raising=False)
    with pytest.raises(palestra.PalestraError, match="PALESTRA_URL"):
        palestra.Client()
    with pytest.raises(palestra.ApiError, match="limits") as refused:
        client.session("bench/counter", limits={"steps": 0})
    assert refused.value.code == "invalid"
    with client.session("bench/counter") as session:
        with pytest.raises(TypeError, match="an action is"):
            session.step(1)  # type: ignore[arg-type]
        with pytest.raises(palestra.ApiError, match="larger than"):
            session.step("1" * (17 << 20))
        for unsendable in ("\ud800", {"tool": "add", "arguments": {"amount": float("nan")}}, {"tool": object()}):
            with pytest.raises(ValueError, match="cannot be sent"):
                session.step(unsendable)
        with pytest.raises(ValueError, match="cannot be sent"):
            session.step("1", meta={"logprob": float("-inf")})
        # Nothing of it was counted.
        assert session.step("1").seq == 1


def test_a_closed_client_says_so_and_may_be_closed_again(server: palestra.testing.Server) -> None:
    client = server.client()
    client.close()
    client.close()
    with pytest.raises(palestra.ClientClosed, match="closed"):
        client.environments()


def test_a_cancelled_wait_cancels_no_step(server: palestra.testing.Server) -> None:
    async def play() -> None:
        async with server.async_client() as client, await client.session("bench/counter") as session:
            step = asyncio.create_task(session.step("1"))
            await asyncio.sleep(0)
            step.cancel()
            with pytest.raises(asyncio.CancelledError):
                await step
            # It was taken or is still on its way; the next one comes behind it.
            after = await session.step("1")
            assert (after.seq, after.observation.data["count"]) in ((2, 2), (1, 1))

    asyncio.run(play())


def test_an_error_survives_pickling(client: palestra.Client) -> None:
    import pickle

    with pytest.raises(palestra.ApiError) as refused:
        client.environment("bench/none")
    again = pickle.loads(pickle.dumps(refused.value))
    assert (again.code, str(again)) == (refused.value.code, str(refused.value))


def test_a_client_of_another_event_loop_says_so(server: palestra.testing.Server) -> None:
    client = server.async_client()
    session = asyncio.run(client.session("bench/counter"))
    for again in (session.step("1"), client.environments()):
        with pytest.raises(palestra.ClientClosed, match="another event loop"):
            asyncio.run(again)


def test_sessions_outlive_a_server_that_was_given_up(server: palestra.testing.Server) -> None:
    async def play() -> None:
        proxy = Proxy(server.url, cuts_max=0, bytes_max=1, seed=1)
        listener = await proxy.listen(0)
        async with palestra.AsyncClient(proxy.url, server.key, give_up_s=0.3) as client:
            session = await client.session("bench/counter")
            await proxy.close(listener)
            with pytest.raises(palestra.ConnectionLost):
                await session.step("1")
            listener = await proxy.listen(int(proxy.url.rsplit(":", 1)[1]))
            assert (await session.step("1")).observation.data["count"] == 1
            await session.close()
        await proxy.close(listener)

    asyncio.run(play())


def test_a_block_is_left_soon_where_the_server_is_gone(server: palestra.testing.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("palestra._session.LEAVE_S", 0.2)

    async def play() -> None:
        proxy = Proxy(server.url, cuts_max=0, bytes_max=1, seed=1)
        listener = await proxy.listen(0)
        async with palestra.AsyncClient(proxy.url, server.key) as client:
            async with await client.session("bench/counter"), await client.vector("bench/counter", 2):
                await proxy.close(listener)

    asyncio.run(play())


def test_a_proxy_is_that_of_http_and_none_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("https_proxy", "http://secure:1")
    assert Address.of("http://far:7070", "key").proxy is None
    assert Address.of("https://far:7070", "key").proxy == "http://secure:1"
    monkeypatch.setenv("http_proxy", "http://plain:1")
    assert Address.of("http://far:7070", "key").proxy == "http://plain:1"
    assert Address.of("http://127.0.0.1:7070", "key").proxy is None
    monkeypatch.setenv("no_proxy", "far")
    assert Address.of("https://far:7070", "key").proxy is None
