"""Many sessions of one environment over one socket."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

from ._session import given
from ._stream import encode
from .errors import ApiError
from .models import Action, Json, Opened, Step, action_body

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
                for place, outcome in zip(places, await self._client.stream_steps([items[place] for place in places])):
                    outcomes[place] = self._took(place, outcome)

            await asyncio.gather(*map(take, self._frames(items)))
            return outcomes

    def _took(self, place: int, outcome: Step | ApiError) -> Outcome:
        if isinstance(outcome, Step):
            self._seq[place], self.done[place] = outcome.seq, outcome.done
        elif outcome.code in ("episode_over", "session_over", "session_lost"):
            self.done[place] = True
        return outcome

    def _frames(self, items: Mapping[int, Json]) -> list[list[int]]:
        """Places of the items of each frame: few enough, and together not larger than the server reads."""
        frames: list[list[int]] = []
        room = 0
        for place, item in items.items():
            # A character has at most four bytes, and the frame around the items is small.
            size = 4 * len(encode(item)) + 1
            if not frames or len(frames[-1]) == ITEMS_MAX or size > room:
                frames.append([])
                room = self._client.frame_bytes_max - 256
            frames[-1].append(place)
            room -= size
        return frames

    async def reset(self, places: Sequence[int] | None = None, tasks: Sequence[Mapping[str, Any]] | None = None) -> list[Opened | ApiError]:
        """Begins new episodes in the sessions at these places (all of them where left out), of the same tasks or of others."""
        chosen = list(range(len(self))) if places is None else list(places)
        if tasks is not None and len(tasks) != len(chosen):
            raise ValueError(f"{len(tasks)} tasks for {len(chosen)} sessions: give one each, or none at all")

        async def begin(at: int, place: int) -> Opened | ApiError:
            body = given(task=None if tasks is None else tasks[at])
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

    async def finish(self, places: Sequence[int] | None = None, reason: str = "gave_up") -> list[Any]:
        """Ends the episodes at these places (of all sessions that are not done where left out); each answers its verdict or error."""
        from .models import Finished

        chosen = [place for place, done in enumerate(self.done) if not done] if places is None else list(places)

        async def end(place: int) -> Any:
            opened = self.opened[place]
            try:
                finished = Finished(await self._client.stream_call("finish", session=opened.id, episode=opened.episode, reason=reason))
            except ApiError as error:
                return error
            self.done[place] = True
            return finished

        async def all_of_them() -> list[Any]:
            async with self._turn:
                return list(await asyncio.gather(*map(end, chosen)))

        return await asyncio.shield(all_of_them())

    async def close(self) -> None:
        """Closes all sessions; their records stay. Episodes that are not over become ``invalid``: no samples."""
        await self._run.close()

    async def __aenter__(self) -> AsyncVectorSession:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


async def open_vector(
    client: AsyncClient, run: AsyncRun, tasks: Sequence[Mapping[str, Any] | None], group_size: int, fields: Json
) -> AsyncVectorSession:
    """Opens ``group_size`` sessions of each task, those of one task beside each other."""

    async def group(task: Mapping[str, Any] | None) -> list[Opened]:
        body = given(task=task, run=run.id, count=group_size, **fields)
        return [Opened(raw) for raw in (await client.stream_call("create", **body))["data"]]

    groups = await asyncio.gather(*map(group, tasks), return_exceptions=True)
    failed = [group for group in groups if isinstance(group, BaseException)]
    if failed:
        # All or nothing: what was opened is closed with the run.
        await run.close()
        raise failed[0]
    return AsyncVectorSession(client, run, [opened for group in groups if not isinstance(group, BaseException) for opened in group])
