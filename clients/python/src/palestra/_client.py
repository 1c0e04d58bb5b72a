"""The client for asyncio."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import httpx

from ._address import Address
from ._backoff import Backoff
from ._session import AsyncSession, given, leave
from ._stream import Stream, new_key
from ._vector import AsyncVectorSession, open_vector
from .errors import PASSING, ApiError, ClientClosed, ConnectionLost, PalestraError
from .models import Environment, Json, Opened, Step, Task, Verdict

CONNECT_S = 10.0
LEASE_MS = 60_000
# Longest wait for the answer to one renewal of a lease.
BEAT_S = 10.0
# Sessions of one task.
GROUP_MAX = 1024
REPEATABLE = frozenset({"GET", "HEAD", "PUT", "DELETE"})


class AsyncClient:
    """A server, with an API key. Sessions of one client share one socket.

    :param url: such as ``http://127.0.0.1:7070``; where left out, the environment variable ``PALESTRA_URL``.
    :param key: an API key; where left out, ``PALESTRA_API_KEY``.
    :param timeout_s: longest wait for the answer to one HTTP request.
    :param give_up_s: how long a server that cannot be reached, or that is full, is tried before :class:`ConnectionLost` or its error.
    """

    def __init__(self, url: str | None = None, key: str | None = None, *, timeout_s: float = 120.0, give_up_s: float = 120.0):
        self._address = Address.of(url, key)
        self._give_up_s = give_up_s
        self._http = httpx.AsyncClient(
            base_url=self.url + "/v1",
            headers=self._address.headers,
            timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, CONNECT_S)),
            proxy=self._address.proxy,
            trust_env=False,
        )
        self._stream: Stream | None = None
        self._opening = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    @property
    def url(self) -> str:
        """Address of the server."""
        return self._address.url

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the connections. Sessions stay open on the server."""
        self._closed = True
        if self._stream is not None:
            await self._stream.close()
        await self._http.aclose()

    @property
    def reconnects(self) -> int:
        """How often the socket was lost and made again."""
        return 0 if self._stream is None else self._stream.reconnects

    # --- HTTP

    async def request(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        params: Mapping[str, Any] | None = None,
        content: bytes | None = None,
        content_type: str | None = None,
        key: str | None = None,
        timeout_s: float | None = None,
    ) -> Any:
        """Any call of the API: ``path`` below ``/v1``. Answers JSON, or bytes where the server sends something else.

        ``key`` makes a creating POST safe to repeat (``Idempotency-Key``). What is safe to repeat is sent again while the server cannot be
        reached or has no room.
        """
        headers = given(**{"Content-Type": content_type, "Idempotency-Key": key})
        is_repeatable = method in REPEATABLE or key is not None
        timeout = httpx.USE_CLIENT_DEFAULT if timeout_s is None else httpx.Timeout(timeout_s)
        backoff = Backoff(self._give_up_s)
        while True:
            self._expect_open()
            try:
                answer = await self._http.request(method, path, json=json, params=params, content=content, headers=headers, timeout=timeout)
            except (httpx.LocalProtocolError, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
                raise PalestraError(f"{method} {self.url}/v1{path} cannot be sent: {error}") from error
            except httpx.TransportError as error:
                # No connection came about: nothing can have acted.
                wait = backoff.wait_s() if is_repeatable or isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)) else None
                if wait is None:
                    why = str(error) or type(error).__name__
                    raise ConnectionLost(f"{method} {self.url}/v1{path} had no answer ({why}): is the server running?") from error
            else:
                if answer.is_success:
                    return _content(answer)
                refused = _problem(answer)
                wait = backoff.wait_s(_retry_after_s(answer)) if refused.code in PASSING else None
                if wait is None:
                    raise refused
            await asyncio.sleep(wait)

    async def _get(self, path: str, **params: Any) -> Json:
        """An object of the API."""
        answer = await self.request("GET", path, params=given(**params))
        if not isinstance(answer, dict):
            raise PalestraError(f"{self.url} does not answer as Palestra does ({str(answer)[:80]!r}): check the address")
        return answer

    async def pages(self, path: str, **params: Any) -> AsyncIterator[Json]:
        """All rows of a list, page by page."""
        cursor: str | None = None
        while True:
            page = await self._get(path, **params, cursor=cursor)
            for row in page["data"]:
                yield row
            cursor = page.get("next_cursor")
            if cursor is None:
                return

    async def environments(self, *, family: str | None = None, tag: str | None = None, q: str | None = None) -> list[Environment]:
        """Environments, all or those that fit."""
        return [Environment(row) async for row in self.pages("/environments", family=family, tag=tag, q=q)]

    async def environment(self, name: str, *, version: int | None = None) -> Environment:
        """One environment, ``family/name``."""
        return Environment(await self._get(f"/environments/{name}", version=version))

    async def tasks(self, name: str, *, split: str = "train", shuffle: int | None = None, offset: int = 0, limit: int = 100) -> list[Task]:
        """Tasks of a split. ``shuffle`` is a seed: workers with disjoint offsets draw without replacement."""
        rows = await self._get(f"/environments/{name}/tasks", split=split, shuffle=shuffle, offset=offset, limit=limit)
        return [Task(row) for row in rows["data"]]

    async def episode(self, episode: str) -> Json:
        """A stored episode."""
        return await self._get(f"/episodes/{episode}")

    async def trajectory(self, episode: str) -> Json:
        """A stored episode with all its steps."""
        return await self._get(f"/episodes/{episode}/trajectory")

    async def verdicts(self, episode: str) -> list[Verdict]:
        """Every verdict on a stored episode."""
        return [Verdict(row) for row in (await self._get(f"/episodes/{episode}/verdicts"))["data"]]

    # --- Sessions

    async def session(
        self,
        environment: str | None = None,
        *,
        task: Mapping[str, Any] | None = None,
        seed: int | None = None,
        limits: Mapping[str, Any] | None = None,
        verify: str | None = None,
        observe: Mapping[str, Any] | None = None,
        record: str | None = None,
        config: Mapping[str, Any] | None = None,
        run: AsyncRun | str | None = None,
        group: str | None = None,
        metadata: Any = None,
        start: Mapping[str, Any] | None = None,
    ) -> AsyncSession:
        """Opens a session.

        :param task: ``{"id"}``, ``{"split", "index"}`` or ``{"split", "seed", "difficulty"}``; a random one of ``train`` where left out.
        :param seed: randomness of the environment, beside the task's own.
        :param start: a stored point, ``{"snapshot"}`` or ``{"episode", "seq"}`` (the field ``from`` of the API).
        """
        body = given(
            environment=environment,
            task=task,
            seed=seed,
            limits=limits,
            verify=verify,
            observe=observe,
            record=record,
            config=config,
            run=run.id if isinstance(run, AsyncRun) else run,
            group=group,
            metadata=metadata,
            **{"from": start},
        )
        return AsyncSession(self, Opened(await self.stream_call("create", **body)))

    async def vector(
        self,
        environment: str,
        count: int | None = None,
        *,
        tasks: Sequence[Mapping[str, Any]] | None = None,
        seeds: Sequence[int | None] | None = None,
        group_size: int = 1,
        lease_ms: int = LEASE_MS,
        limits: Mapping[str, Any] | None = None,
        verify: str | None = None,
        observe: Mapping[str, Any] | None = None,
        record: str | None = None,
        config: Mapping[str, Any] | None = None,
        metadata: Any = None,
    ) -> AsyncVectorSession:
        """Opens many sessions: ``group_size`` of each of ``tasks``, or of ``count`` random tasks.

        Sessions of one task stand beside each other and share a group. ``seeds`` (one for each task) is the randomness of the environment.
        The other arguments are those of :meth:`session`.
        """
        if (count is None) == (tasks is None):
            raise ValueError("give `count` or `tasks`: how many sessions, or the task of each group")
        chosen: Sequence[Mapping[str, Any] | None] = [None] * (count or 0) if tasks is None else tasks
        if not chosen:
            raise ValueError("a vector has one session at least: give a `count` above 0, or `tasks`")
        if not 1 <= group_size <= GROUP_MAX:
            raise ValueError(f"group_size is {group_size}: a group has 1 to {GROUP_MAX} sessions")
        if seeds is not None and len(seeds) != len(chosen):
            raise ValueError(f"{len(seeds)} seeds for {len(chosen)} tasks: give one each, or none at all")
        fields = given(
            environment=environment, limits=limits, verify=verify, observe=observe, record=record, config=config, metadata=metadata
        )
        run = await self.run(lease_ms=lease_ms)
        return await open_vector(self, run, chosen, seeds or [None] * len(chosen), group_size, fields)

    async def run(self, *, lease_ms: int = LEASE_MS) -> AsyncRun:
        """Begins a run: sessions opened in it are closed with it, also when this process dies and its lease expires."""
        run = await self.request("POST", "/runs", json={"lease_ms": lease_ms}, key=new_key())
        return AsyncRun(self, run["id"], lease_ms)

    # --- The stream

    @property
    def frame_bytes_max(self) -> int:
        """Bytes of the largest frame that the server reads."""
        assert self._stream is not None, "sessions are opened over the stream"
        return self._stream.frame_bytes_max

    async def stream_call(self, op: str, **fields: Any) -> Any:
        """One command over the stream (docs/streaming.md)."""
        return await (await self._connected()).call(op, **fields)

    async def stream_steps(self, items: list[Json]) -> list[Step | ApiError]:
        """Steps of many sessions in one frame. A command that the server could not take at the moment is sent again after a wait."""
        stream = await self._connected()
        outcomes: list[Step | ApiError] = [ApiError({})] * len(items)
        left = list(range(len(items)))
        backoff = Backoff(self._give_up_s)
        while True:
            passing = []
            for place, outcome in zip(left, await stream.steps([items[place] for place in left])):
                outcomes[place] = taken = Step(outcome["ok"]) if "ok" in outcome else ApiError(outcome["error"])
                if isinstance(taken, ApiError) and taken.code in PASSING:
                    passing.append(place)
            wait = backoff.wait_s() if passing else None
            if wait is None:
                return outcomes
            left = passing
            await asyncio.sleep(wait)

    def _expect_open(self) -> None:
        if self._closed:
            raise ClientClosed("the client is closed: make a new one")
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        if self._loop is not loop:
            raise ClientClosed("this client belongs to another event loop: make a client in each")

    async def _connected(self) -> Stream:
        self._expect_open()
        # One that was given up is made anew: sessions outlive it.
        if self._stream is None or self._stream.has_ended:
            async with self._opening:
                if self._stream is None or self._stream.has_ended:
                    stream = Stream(self._address, self._give_up_s)
                    await stream.open()
                    if self._closed:
                        await stream.close()
                    self._expect_open()
                    self._stream = stream
        return self._stream


class AsyncRun:
    """A run whose lease is renewed in the background until it is closed."""

    def __init__(self, client: AsyncClient, run: str, lease_ms: int):
        self._client = client
        #: The run's id.
        self.id = run
        self._beating = asyncio.create_task(self._beat(lease_ms / 3_000))

    async def _beat(self, every_s: float) -> None:
        wait_s = every_s
        while True:
            await asyncio.sleep(wait_s * random.uniform(0.8, 1.0))
            wait_s = every_s
            try:
                # A connection that hangs must not take the lease with it.
                await self._client.request("POST", f"/runs/{self.id}/heartbeat", json={}, timeout_s=min(BEAT_S, every_s / 2))
            except ClientClosed:
                return
            except ApiError as error:
                if error.code in ("run_over", "not_found"):
                    return
                wait_s = every_s / 4
            except PalestraError:
                # Another connection is tried soon; the server decides how long it waits.
                wait_s = every_s / 4

    async def close(self) -> None:
        """Ends the run, and closes its sessions."""
        self._beating.cancel()
        await asyncio.gather(self._beating, return_exceptions=True)
        try:
            await self._client.request("DELETE", f"/runs/{self.id}")
        except ApiError as error:
            if error.code != "run_over":
                raise

    async def __aenter__(self) -> AsyncRun:
        return self

    async def __aexit__(self, *_: object) -> None:
        await leave(self.close())


def _content(answer: httpx.Response) -> Any:
    if "json" not in answer.headers.get("content-type", ""):
        return answer.content
    try:
        return answer.json()
    except ValueError as error:
        raise PalestraError(f"{answer.url} does not answer as Palestra does ({answer.text[:80]!r}): check the address") from error


def _problem(answer: httpx.Response) -> ApiError:
    try:
        problem = answer.json()
        problem["code"], problem["detail"]
    except (ValueError, KeyError, TypeError):
        problem = {"code": "unknown", "detail": f"the server answers {answer.status_code}: {answer.content[:200]!r}"}
    return ApiError({**problem, "status": answer.status_code})


def _retry_after_s(answer: httpx.Response) -> float:
    try:
        return float(answer.headers.get("retry-after", 0))
    except ValueError:
        return 0.0
