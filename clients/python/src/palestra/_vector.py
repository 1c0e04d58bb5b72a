"""Many sessions of one environment over one socket."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

from ._session import given
from ._stream import encode, too_large
from .errors import ApiError
from .models import Action, Finished, Json, Opened, Step, action_body

if TYPE_CHECKING:
    from ._client import AsyncClient, AsyncRun

# Steps in one frame: its answer comes when all of them are taken.
ITEMS_MAX = 128

#: What became of one session's turn: its step, why it was refused, or ``None`` where it had no turn.
Outcome = Optional[Union[Step, ApiError]]


class AsyncVectorSession:
    """Sessions that step together. Nothing is lost or repeated when the connection breaks; one that fails fails no other.

    All of them belong to a run with a lease, which is renewed in the background: if this process dies, the server closes them.
    """

    def __init__(self, client: AsyncClient, run: AsyncRun, opened: list[Opened]):
        self._client = client
        self._run = run
        #: The episode of each session that began last.
        self.opened = opened
        self._seq = [session.seq for session in opened]
        #: True for each session whose episode is over.
        self.done = [False] * len(opened)
        self._turn = asyncio.Lock()

    def __len__(self) -> int:
        return len(self.opened)

    @property
    def ids(self) -> list[str]:
        """Ids of the sessions."""
        return [session.id for session in self.opened]

    @property
    def run(self) -> str:
        """The run that owns the sessions."""
        return self._run.id

    async def step(self, actions: Sequence[Action | None], *, metas: Sequence[Any] | None = None) -> list[Outcome]:
        """Takes one step in each session that has an action, and answers in the same order.

        ``None`` leaves a session out. An :class:`ApiError` in a place says why that session took no step.
        """
        if len(actions) != len(self):
            raise ValueError(f"{len(actions)} actions for {len(self)} sessions: give one each, None for those that wait")
        if metas is not None and len(metas) != len(self):
            raise ValueError(f"{len(metas)} metas for {len(self)} sessions: give one each, or none at all")
        # Refused before anything is sent, so that no session of the batch is a step ahead of the others.
        bodies = [None if action is None else action_body(action) for action in actions]
        return await asyncio.shield(self._step(bodies, metas))

    async def _step(self, bodies: Sequence[Mapping[str, Any] | None], metas: Sequence[Any] | None) -> list[Outcome]:
        async with self._turn:
            outcomes: list[Outcome] = [None] * len(self)
            items = {
                place: given(
                    session=self.opened[place].id,
                    episode=self.opened[place].episode,
                    seq=self._seq[place] + 1,
                    action=body,
                    meta=None if metas is None else metas[place],
                )
                for place, body in enumerate(bodies)
                if body is not None
            }

            async def take(places: list[int]) -> None:
                try:
                    taken = await self._client.stream_steps([items[place] for place in places])
                except ApiError as error:
                    taken = [error] * len(places)
                for place, outcome in zip(places, taken):
                    outcomes[place] = self._took(place, outcome)

            # All of them come to their end, whatever becomes of one: what was answered is counted.
            ends = await asyncio.gather(*map(take, self._frames(items, outcomes)), return_exceptions=True)
            for end in ends:
                if end is not None:
                    raise end
            return outcomes

    def _took(self, place: int, outcome: Step | ApiError) -> Outcome:
        if isinstance(outcome, Step):
            self._seq[place], self.done[place] = outcome.seq, outcome.done
        elif outcome.code in ("episode_over", "session_over", "session_lost"):
            self.done[place] = True
        return outcome

    def _frames(self, items: Mapping[int, Json], outcomes: list[Outcome]) -> list[list[int]]:
        """Places of the items of each frame: few enough, and together not larger than the server reads. What cannot be sent has its outcome."""
        frames: list[list[int]] = []
        room = 0
        # The frame around the items is small.
        most = self._client.frame_bytes_max - 256
        for place, item in items.items():
            try:
                size = len(encode(item)) + 1
            except ValueError as error:
                outcomes[place] = ApiError({"status": 400, "code": "malformed", "detail": str(error)})
                continue
            if size > most:
                outcomes[place] = too_large(size, most)
                continue
            if not frames or len(frames[-1]) == ITEMS_MAX or size > room:
                frames.append([])
                room = most
            frames[-1].append(place)
            room -= size
        return frames

    async def reset(
        self,
        places: Sequence[int] | None = None,
        tasks: Sequence[Mapping[str, Any]] | None = None,
        seeds: Sequence[int | None] | None = None,
    ) -> list[Opened | ApiError]:
        """Begins new episodes in the sessions at these places (all of them where left out), of the same tasks and seeds or of others."""
        chosen = self._places(places, range(len(self)))
        for name, values in (("tasks", tasks), ("seeds", seeds)):
            if values is not None and len(values) != len(chosen):
                raise ValueError(f"{len(values)} {name} for {len(chosen)} sessions: give one each, or none at all")

        async def begin(at: int, place: int) -> Opened | ApiError:
            body = given(task=None if tasks is None else tasks[at], seed=None if seeds is None else seeds[at])
            try:
                opened = Opened(await self._client.stream_call("reset", session=self.opened[place].id, **body))
            except ApiError as error:
                return error
            self.opened[place], self._seq[place], self.done[place] = opened, opened.seq, False
            return opened

        async def all_of_them() -> list[Opened | ApiError]:
            async with self._turn:
                return list(await asyncio.gather(*(begin(at, place) for at, place in enumerate(chosen))))

        return await asyncio.shield(all_of_them())

    async def finish(self, places: Sequence[int] | None = None, reason: str = "gave_up") -> list[Finished | ApiError]:
        """Ends the episodes at these places (of all sessions that are not done where left out)."""
        chosen = self._places(places, (place for place, done in enumerate(self.done) if not done))

        async def end(place: int) -> Finished | ApiError:
            opened = self.opened[place]
            try:
                finished = Finished(await self._client.stream_call("finish", session=opened.id, episode=opened.episode, reason=reason))
            except ApiError as error:
                return error
            self.done[place] = True
            return finished

        async def all_of_them() -> list[Finished | ApiError]:
            async with self._turn:
                return list(await asyncio.gather(*map(end, chosen)))

        return await asyncio.shield(all_of_them())

    def _places(self, places: Sequence[int] | None, where_left_out: Iterable[int]) -> list[int]:
        chosen = list(where_left_out if places is None else places)
        wrong = [place for place in chosen if not 0 <= place < len(self)]
        if wrong or len(set(chosen)) != len(chosen):
            raise ValueError(f"places are those of {len(self)} sessions, from 0, each once: {wrong or chosen}")
        return chosen

    async def close(self) -> None:
        """Closes all sessions; their records stay. Episodes that are not over become ``invalid``: no samples."""
        await self._run.close()

    async def __aenter__(self) -> AsyncVectorSession:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._run.__aexit__()


async def open_vector(
    client: AsyncClient,
    run: AsyncRun,
    tasks: Sequence[Mapping[str, Any] | None],
    seeds: Sequence[int | None],
    group_size: int,
    fields: Json,
) -> AsyncVectorSession:
    """Opens ``group_size`` sessions of each task, those of one task beside each other: all of them, or none."""

    async def group(task: Mapping[str, Any] | None, seed: int | None) -> list[Opened]:
        body = given(task=task, seed=seed, run=run.id, count=group_size, **fields)
        return [Opened(raw) for raw in (await client.stream_call("create", **body))["data"]]

    try:
        groups = await asyncio.gather(*map(group, tasks, seeds))
    except BaseException:
        # What was opened is closed with the run, also what is opened yet.
        await asyncio.shield(run.close())
        raise
    return AsyncVectorSession(client, run, [opened for group in groups for opened in group])
