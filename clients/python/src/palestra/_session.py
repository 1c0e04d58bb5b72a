"""One session over the stream of its client."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import ConnectionLost
from .models import Action, Finished, Json, Observation, Opened, Snapshot, Step, Task, Verdict, action_body

if TYPE_CHECKING:
    from ._client import AsyncClient

T = TypeVar("T")
# Longest wait for a server at the end of a block.
LEAVE_S = 5.0


def given(**fields: Any) -> Json:
    """The fields that are not ``None``."""
    return {name: value for name, value in fields.items() if value is not None}


async def leave(closing: Awaitable[Any]) -> None:
    """Closes at the end of a block. A server that cannot be reached closes by itself what nobody uses: it is not waited for."""
    with contextlib.suppress(ConnectionLost, asyncio.TimeoutError):
        await asyncio.wait_for(closing, LEAVE_S)


class AsyncSession:
    """A live place to act. Commands run one after the other; a cancelled wait cancels no command."""

    def __init__(self, client: AsyncClient, opened: Opened):
        self._client = client
        self._turn = asyncio.Lock()
        #: The session's id.
        self.id = opened.id
        self._begin(opened)

    def _begin(self, opened: Opened) -> None:
        #: The episode that began last, with its prompt (``messages``), ``tools`` and ``task``.
        self.opened = opened
        #: The current episode's id.
        self.episode = opened.episode
        #: The last step that was answered.
        self.seq = opened.seq
        #: The present observation.
        self.observation: Observation = opened.observation
        #: The verdict of the episode, once it has one.
        self.verdict: Verdict | None = None
        #: True once the episode is over.
        self.done = False

    @property
    def messages(self) -> list[Json]:
        """The prompt: everything that the policy should see at the beginning."""
        return self.opened.messages

    @property
    def tools(self) -> list[Json]:
        """OpenAI function tools."""
        return self.opened.tools

    @property
    def task(self) -> Task:
        return self.opened.task

    @property
    def token(self) -> str | None:
        """Credential for this session alone, for an agent that is not trusted."""
        return self.opened.token

    async def _in_turn(self, command: Callable[[], Awaitable[T]]) -> T:
        async def run() -> T:
            async with self._turn:
                return await command()

        # Whoever waits may be cancelled; the command goes on, and the next one waits for it.
        return await asyncio.shield(run())

    async def step(self, action: Action, *, meta: Any = None, observe: Mapping[str, Any] | None = None) -> Step:
        """Takes one step.

        ``meta`` (JSON, at most 64 KiB) is stored with it and never shown to the environment, such as token ids and log-probabilities.
        """
        body = given(action=action_body(action), meta=meta, observe=observe)

        async def take() -> Step:
            # `seq` and `episode` make it safe to send again: it acts once, and in no other episode.
            sent = await self._client.stream_call("step", session=self.id, episode=self.episode, seq=self.seq + 1, **body)
            return self._took(Step(sent))

        return await self._in_turn(take)

    def _took(self, step: Step) -> Step:
        self.seq, self.observation, self.done = step.seq, step.observation, step.done
        self.verdict = step.verdict or self.verdict
        return step

    async def call(self, tool: str, /, **arguments: Any) -> Step:
        """Takes a step that calls one tool."""
        return await self.step({"tool": tool, "arguments": arguments})

    async def reset(self, task: Mapping[str, Any] | None = None, *, seed: int | None = None) -> Opened:
        """Begins a new episode: of the same task, or of another."""

        async def begin() -> Opened:
            opened = Opened(await self._client.stream_call("reset", session=self.id, **given(task=task, seed=seed)))
            self._begin(opened)
            return opened

        return await self._in_turn(begin)

    async def finish(self, reason: str = "gave_up", *, detail: str | None = None) -> Finished:
        """Ends the episode from outside: ``max_tokens``, ``max_turns``, ``gave_up``, or ``aborted`` (then it is no sample)."""

        async def end() -> Finished:
            body = given(reason=reason, detail=detail, episode=self.episode)
            finished = Finished(await self._client.stream_call("finish", session=self.id, **body))
            self.verdict, self.done = finished.verdict or self.verdict, True
            return finished

        return await self._in_turn(end)

    async def verify(self) -> Verdict:
        """The verdict of the current episode, however long its verifier takes; a live episode is ended first."""

        async def judge() -> Verdict:
            answer = await self._client.stream_call("verify", session=self.id)
            # The server waits a minute, and answers then that the verdict is still to come.
            while "status" not in answer:
                answer = await self._client.stream_call("verify", session=self.id)
            self.verdict, self.done = Verdict(answer), True
            return self.verdict

        return await self._in_turn(judge)

    async def fork(
        self, count: int = 1, *, at_seq: int | None = None, randomness: str | None = None, allow_inexact: bool | None = None
    ) -> list[AsyncSession]:
        """Copies the session, as it is now or as it was after step ``at_seq``. ``randomness="split"`` gives each copy its own."""

        async def copy() -> list[AsyncSession]:
            body = given(count=count, at_seq=at_seq, randomness=randomness, allow_inexact=allow_inexact)
            copies = await self._client.stream_call("fork", session=self.id, **body)
            return [AsyncSession(self._client, Opened(opened)) for opened in copies["data"]]

        return await self._in_turn(copy)

    async def snapshot(self, name: str | None = None) -> Snapshot:
        """Stores the present point of the episode under a name."""

        async def take() -> Snapshot:
            return Snapshot(await self._client.stream_call("snapshot", session=self.id, **given(name=name)))

        return await self._in_turn(take)

    async def restore(self, snapshot: Snapshot | str) -> Opened:
        """Begins a new episode at the point of a snapshot."""
        named = snapshot if isinstance(snapshot, str) else snapshot.id

        async def back() -> Opened:
            opened = Opened(await self._client.stream_call("restore", session=self.id, snapshot=named))
            self._begin(opened)
            return opened

        return await self._in_turn(back)

    async def state(self, pointer: str | None = None) -> Json:
        """Privileged state and its hash (scope ``state:read``); ``pointer`` names a part (RFC 6901)."""
        answer: Json = await self._client.request("GET", f"/sessions/{self.id}/state", params=given(pointer=pointer))
        return answer

    async def diff(self, against: str) -> Json:
        """Compares the state with that of a snapshot or of another session, as JSON Patch."""
        answer: Json = await self._client.request("GET", f"/sessions/{self.id}/diff", params={"against": against})
        return answer

    async def close(self) -> None:
        """Closes the session; its record stays."""
        await self._in_turn(lambda: self._client.stream_call("close", session=self.id))

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, *_: object) -> None:
        await leave(self.close())
