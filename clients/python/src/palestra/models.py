"""What the server answers. Each object wraps the JSON that came (``raw``), so fields of newer servers are there too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Union

#: A text, a tool call ``{"tool", "arguments"}``, an assistant message ``{"message"}``, or a list of calls ``{"id", "tool", "arguments"}``.
Action = Union[str, Mapping[str, Any], Sequence[Mapping[str, Any]]]

Json = dict[str, Any]


def action_body(action: Action) -> Mapping[str, Any]:
    """The action as the server takes it."""
    if isinstance(action, str):
        return {"text": action}
    if isinstance(action, Mapping):
        return dict(action)
    if isinstance(action, (list, tuple)):
        return {"calls": list(action)}
    raise TypeError(f"an action is a text, a mapping or a list of calls, not {type(action).__name__}: {action!r:.200}")


class Model:
    """JSON of the server with names for its fields."""

    __slots__ = ("raw",)

    def __init__(self, raw: Json):
        #: The JSON as it came.
        self.raw = raw

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and type(other) is type(self) and other.raw == self.raw

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.raw!r:.500})"


class Observation(Model):
    """Observation after a reset or a step."""

    __slots__ = ()

    @property
    def text(self) -> str:
        """Always there, and enough to act on."""
        return str(self.raw["text"])

    @property
    def content(self) -> list[Json]:
        """Typed blocks such as ``{"type": "table", ..}``."""
        return self.raw.get("content") or []

    @property
    def data(self) -> Any:
        """Structured form, as the environment's ``observation_schema`` says; ``None`` where it has none."""
        return self.raw.get("data")

    @property
    def omitted_bytes(self) -> int:
        """Bytes of ``text`` that were cut away."""
        return int(self.raw.get("omitted_bytes") or 0)


class Check(Model):
    """One thing that the verifier checked."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return str(self.raw["name"])

    @property
    def weight(self) -> float:
        """Share of the score, relative to the other checks."""
        return float(self.raw["weight"])

    @property
    def score(self) -> float:
        """In [0, 1]."""
        return float(self.raw["score"])

    @property
    def passed(self) -> bool:
        return bool(self.raw["passed"])

    @property
    def evidence(self) -> str:
        """The finding."""
        return str(self.raw["evidence"])


class Verdict(Model):
    """Judgement of one episode. Without a score the episode is no sample: play it again, never count it as 0."""

    __slots__ = ()

    @property
    def status(self) -> str:
        """``scored``, or why there is no score: ``timeout``, ``infra_error``, ``verifier_error``, ``invalid``."""
        return str(self.raw["status"])

    @property
    def is_sample(self) -> bool:
        """True if the episode has a score that a trainer may learn from."""
        return self.status == "scored" and self.trainable

    @property
    def score(self) -> float | None:
        """In [0, 1]; ``None`` unless ``scored``."""
        return self.raw.get("score")

    @property
    def passed(self) -> bool:
        """True if the task counts as solved."""
        return bool(self.raw["passed"])

    @property
    def trainable(self) -> bool:
        """False, for example, if the agent could have influenced the verdict."""
        return bool(self.raw["trainable"])

    @property
    def checks(self) -> list[Check]:
        return [Check(check) for check in self.raw["checks"]]

    @property
    def detail(self) -> str | None:
        """Why there is no score."""
        return self.raw.get("detail")

    @property
    def usage(self) -> Json:
        """Steps, calls, milliseconds and tokens of the episode."""
        return dict(self.raw["usage"])


class Step(Model):
    """Answer to one step."""

    __slots__ = ()

    @property
    def episode(self) -> str:
        return str(self.raw["episode"])

    @property
    def seq(self) -> int:
        """Number of the step in its episode, from 1."""
        return int(self.raw["seq"])

    @property
    def observation(self) -> Observation:
        return Observation(self.raw["observation"])

    @property
    def messages(self) -> list[Json]:
        """New messages of the policy's conversation."""
        return list(self.raw["messages"])

    @property
    def reward(self) -> float | None:
        """The step's reward; ``None`` where none is defined."""
        return self.raw.get("reward")

    @property
    def terminated(self) -> bool:
        """The task ended by its own rules."""
        return bool(self.raw["terminated"])

    @property
    def truncated(self) -> bool:
        """A limit or the caller ended it."""
        return bool(self.raw["truncated"])

    @property
    def done(self) -> bool:
        """The episode is over."""
        return self.terminated or self.truncated

    @property
    def stop_reason(self) -> str | None:
        return self.raw.get("stop_reason")

    @property
    def verdict(self) -> Verdict | None:
        """On the step that ends an episode, unless the session has ``verify="manual"``."""
        verdict = self.raw.get("verdict")
        return None if verdict is None else Verdict(verdict)

    @property
    def info(self) -> Json:
        """Timings in milliseconds, and extras."""
        return dict(self.raw["info"])


class Finished(Model):
    """Answer to ``finish``."""

    __slots__ = ()

    @property
    def seq(self) -> int:
        """The last step."""
        return int(self.raw["seq"])

    @property
    def stop_reason(self) -> str:
        return str(self.raw["stop_reason"])

    @property
    def verdict(self) -> Verdict | None:
        verdict = self.raw.get("verdict")
        return None if verdict is None else Verdict(verdict)


class Task(Model):
    """One task, without anything that gives its answer away."""

    __slots__ = ()

    @property
    def id(self) -> str:
        """Recreates the task exactly."""
        return str(self.raw["id"])

    @property
    def split(self) -> str:
        return str(self.raw["split"])

    @property
    def difficulty(self) -> float | None:
        """From 0 (easy) to 1 (hard); ``None`` where the environment has no such scale."""
        return self.raw.get("difficulty")

    @property
    def messages(self) -> list[Json]:
        """System text and instruction: all that a policy is told."""
        return list(self.raw["messages"])

    @property
    def tools(self) -> list[Json]:
        """OpenAI function tools."""
        return list(self.raw["tools"])

    @property
    def metadata(self) -> Any:
        return self.raw["metadata"]


class Opened(Model):
    """An episode that began, or that goes on from a stored point."""

    __slots__ = ()

    @property
    def id(self) -> str:
        """The session."""
        return str(self.raw["id"])

    @property
    def episode(self) -> str:
        return str(self.raw["episode"])

    @property
    def environment(self) -> str:
        """``family/name@version``."""
        return str(self.raw["environment"])

    @property
    def task(self) -> Task:
        return Task(self.raw["task"])

    @property
    def seq(self) -> int:
        """The last step; 0 in a new episode."""
        return int(self.raw["seq"])

    @property
    def group(self) -> str | None:
        """Group of rollouts of one task."""
        return self.raw.get("group")

    @property
    def run(self) -> str | None:
        return self.raw.get("run")

    @property
    def observation(self) -> Observation:
        return Observation(self.raw["observation"])

    @property
    def messages(self) -> list[Json]:
        """The prompt: everything that the policy should see."""
        return list(self.raw["messages"])

    @property
    def tools(self) -> list[Json]:
        """OpenAI function tools."""
        return list(self.raw["tools"])

    @property
    def token(self) -> str | None:
        """Credential for this session alone: it steps and reads observations, and sees neither rewards nor verdicts."""
        return self.raw.get("token")


class Environment(Model):
    """Environment with its capabilities."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """``family/name``."""
        return str(self.raw["name"])

    @property
    def version(self) -> int:
        return int(self.raw["version"])

    @property
    def description(self) -> str:
        return str(self.raw["description"])

    @property
    def splits(self) -> dict[str, int]:
        """Splits and how many tasks each has."""
        return dict(self.raw["splits"])

    @property
    def step_rewards(self) -> bool:
        """True if steps before the last carry a reward."""
        return bool(self.raw["step_rewards"])

    @property
    def capabilities(self) -> Json:
        return dict(self.raw["capabilities"])


class Snapshot(Model):
    """Named point of an episode."""

    __slots__ = ()

    @property
    def id(self) -> str:
        return str(self.raw["id"])

    @property
    def seq(self) -> int:
        """The step after which it was taken."""
        return int(self.raw["seq"])
