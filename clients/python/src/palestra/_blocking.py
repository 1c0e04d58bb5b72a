"""The client for code that is not asynchronous: the same calls, each waits for its answer. Threads may share it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ._client import LEASE_MS, AsyncClient, AsyncRun
from ._portal import Portal
from ._session import AsyncSession
from ._vector import AsyncVectorSession, Outcome
from .errors import ApiError
from .models import Action, Environment, Finished, Json, Observation, Opened, Snapshot, Step, Task, Verdict


class Client:
    """A server, with an API key: see :class:`AsyncClient`, whose arguments these are."""

    def __init__(self, url: str | None = None, key: str | None = None, *, timeout_s: float = 120.0, give_up_s: float = 120.0):
        async def make() -> AsyncClient:
            return AsyncClient(url, key, timeout_s=timeout_s, give_up_s=give_up_s)

        self._portal = Portal()
        try:
            self._client = self._portal.run(make())
        except BaseException:
            self._portal.close()
            raise

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connections and the thread. Sessions stay open on the server."""
        if self._portal.is_open:
            self._portal.run(self._client.close())
            self._portal.close()

    @property
    def url(self) -> str:
        """Address of the server."""
        return self._client.url

    @property
    def reconnects(self) -> int:
        """How often the socket was lost and made again."""
        return self._client.reconnects

    def request(self, method: str, path: str, **options: Any) -> Any:
        """Any call of the API: see :meth:`AsyncClient.request`."""
        return self._portal.run(self._client.request(method, path, **options))

    def pages(self, path: str, **params: Any) -> Iterator[Json]:
        """All rows of a list, page by page."""
        rows = self._client.pages(path, **params)

        async def following() -> Json | None:
            async for row in rows:
                return row
            return None

        while (row := self._portal.run(following())) is not None:
            yield row

    def environments(self, *, family: str | None = None, tag: str | None = None, q: str | None = None) -> list[Environment]:
        """Environments, all or those that fit."""
        return self._portal.run(self._client.environments(family=family, tag=tag, q=q))

    def environment(self, name: str, *, version: int | None = None) -> Environment:
        """One environment, ``family/name``."""
        return self._portal.run(self._client.environment(name, version=version))

    def tasks(self, name: str, *, split: str = "train", shuffle: int | None = None, offset: int = 0, limit: int = 100) -> list[Task]:
        """Tasks of a split: see :meth:`AsyncClient.tasks`."""
        return self._portal.run(self._client.tasks(name, split=split, shuffle=shuffle, offset=offset, limit=limit))

    def episode(self, episode: str) -> Json:
        """A stored episode."""
        return self._portal.run(self._client.episode(episode))

    def trajectory(self, episode: str) -> Json:
        """A stored episode with all its steps."""
        return self._portal.run(self._client.trajectory(episode))

    def verdicts(self, episode: str) -> list[Verdict]:
        """Every verdict on a stored episode."""
        return self._portal.run(self._client.verdicts(episode))

    def session(self, environment: str | None = None, *, run: Run | str | None = None, **options: Any) -> Session:
        """Opens a session: see :meth:`AsyncClient.session`, whose arguments these are."""
        owner = run.id if isinstance(run, Run) else run
        return Session(self._portal, self._portal.run(self._client.session(environment, run=owner, **options)))

    def vector(
        self, environment: str, count: int | None = None, *, tasks: Sequence[Mapping[str, Any]] | None = None, **options: Any
    ) -> VectorSession:
        """Opens many sessions: see :meth:`AsyncClient.vector`, whose arguments these are."""
        return VectorSession(self._portal, self._portal.run(self._client.vector(environment, count, tasks=tasks, **options)))

    def run(self, *, lease_ms: int = LEASE_MS) -> Run:
        """Begins a run: see :meth:`AsyncClient.run`."""
        return Run(self._portal, self._portal.run(self._client.run(lease_ms=lease_ms)))


class Run:
    """A run whose lease is renewed in the background until it is closed."""

    def __init__(self, portal: Portal, run: AsyncRun):
        self._portal, self._run = portal, run

    @property
    def id(self) -> str:
        return self._run.id

    def close(self) -> None:
        """Ends the run, and closes its sessions."""
        self._portal.run(self._run.close())

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self._portal.run(self._run.__aexit__())


class Session:
    """A live place to act: see :class:`AsyncSession`."""

    def __init__(self, portal: Portal, session: AsyncSession):
        self._portal, self._session = portal, session

    @property
    def id(self) -> str:
        return self._session.id

    @property
    def episode(self) -> str:
        """The current episode's id."""
        return self._session.episode

    @property
    def seq(self) -> int:
        """The last step that was answered."""
        return self._session.seq

    @property
    def opened(self) -> Opened:
        """The episode that began last."""
        return self._session.opened

    @property
    def messages(self) -> list[Json]:
        """The prompt: everything that the policy should see at the beginning."""
        return self._session.messages

    @property
    def tools(self) -> list[Json]:
        """OpenAI function tools."""
        return self._session.tools

    @property
    def task(self) -> Task:
        return self._session.task

    @property
    def token(self) -> str | None:
        """Credential for this session alone, for an agent that is not trusted."""
        return self._session.token

    @property
    def observation(self) -> Observation:
        """The present observation."""
        return self._session.observation

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of the episode, once it has one."""
        return self._session.verdict

    @property
    def done(self) -> bool:
        """True once the episode is over."""
        return self._session.done

    def step(self, action: Action, *, meta: Any = None, observe: Mapping[str, Any] | None = None) -> Step:
        """Takes one step: see :meth:`AsyncSession.step`."""
        return self._portal.run(self._session.step(action, meta=meta, observe=observe))

    def call(self, tool: str, /, **arguments: Any) -> Step:
        """Takes a step that calls one tool."""
        return self._portal.run(self._session.call(tool, **arguments))

    def reset(self, task: Mapping[str, Any] | None = None, *, seed: int | None = None) -> Opened:
        """Begins a new episode: of the same task, or of another."""
        return self._portal.run(self._session.reset(task, seed=seed))

    def finish(self, reason: str = "gave_up", *, detail: str | None = None) -> Finished:
        """Ends the episode from outside: see :meth:`AsyncSession.finish`."""
        return self._portal.run(self._session.finish(reason, detail=detail))

    def verify(self) -> Verdict:
        """The verdict of the current episode; a live one is ended first."""
        return self._portal.run(self._session.verify())

    def fork(
        self, count: int = 1, *, at_seq: int | None = None, randomness: str | None = None, allow_inexact: bool | None = None
    ) -> list[Session]:
        """Copies the session: see :meth:`AsyncSession.fork`."""
        copies = self._portal.run(self._session.fork(count, at_seq=at_seq, randomness=randomness, allow_inexact=allow_inexact))
        return [Session(self._portal, copy) for copy in copies]

    def snapshot(self, name: str | None = None) -> Snapshot:
        """Stores the present point of the episode under a name."""
        return self._portal.run(self._session.snapshot(name))

    def restore(self, snapshot: Snapshot | str) -> Opened:
        """Begins a new episode at the point of a snapshot."""
        return self._portal.run(self._session.restore(snapshot))

    def state(self, pointer: str | None = None) -> Json:
        """Privileged state and its hash (scope ``state:read``)."""
        return self._portal.run(self._session.state(pointer))

    def diff(self, against: str) -> Json:
        """Compares the state with that of a snapshot or of another session, as JSON Patch."""
        return self._portal.run(self._session.diff(against))

    def close(self) -> None:
        """Closes the session; its record stays."""
        self._portal.run(self._session.close())

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._portal.run(self._session.__aexit__())


class VectorSession:
    """Sessions that step together: see :class:`AsyncVectorSession`."""

    def __init__(self, portal: Portal, vector: AsyncVectorSession):
        self._portal, self._vector = portal, vector

    def __len__(self) -> int:
        return len(self._vector)

    @property
    def ids(self) -> list[str]:
        return self._vector.ids

    @property
    def opened(self) -> list[Opened]:
        """The episode of each session that began last."""
        return self._vector.opened

    @property
    def done(self) -> list[bool]:
        """True for each session whose episode is over."""
        return self._vector.done

    @property
    def run(self) -> str:
        """The run that owns the sessions."""
        return self._vector.run

    def step(self, actions: Sequence[Action | None], *, metas: Sequence[Any] | None = None) -> list[Outcome]:
        """Takes one step in each session that has an action: see :meth:`AsyncVectorSession.step`."""
        return self._portal.run(self._vector.step(actions, metas=metas))

    def reset(
        self,
        places: Sequence[int] | None = None,
        tasks: Sequence[Mapping[str, Any]] | None = None,
        seeds: Sequence[int | None] | None = None,
    ) -> list[Opened | ApiError]:
        """Begins new episodes: see :meth:`AsyncVectorSession.reset`."""
        return self._portal.run(self._vector.reset(places, tasks, seeds))

    def finish(self, places: Sequence[int] | None = None, reason: str = "gave_up") -> list[Finished | ApiError]:
        """Ends episodes: see :meth:`AsyncVectorSession.finish`."""
        return self._portal.run(self._vector.finish(places, reason))

    def close(self) -> None:
        """Closes all sessions; their records stay."""
        self._portal.run(self._vector.close())

    def __enter__(self) -> VectorSession:
        return self

    def __exit__(self, *_: object) -> None:
        self._portal.run(self._vector.__aexit__())

