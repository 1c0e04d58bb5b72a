"""Environments as Gymnasium's: ``pip install palestra[gym]``.

Actions are what :meth:`palestra.Session.step` takes: a text, or a tool call. Observations are texts. ``info`` carries what a policy that
speaks needs (``messages``, ``tools``) and, at the end, the ``verdict``. An episode without a score is no sample: its last reward is NaN, so
that nothing learns from it unnoticed, and ``info["is_sample"]`` is false.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ._blocking import Client, Session, VectorSession
from .errors import ApiError
from .models import Action, Json, Opened, Step

CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
CHARACTERS_MAX = 12


class Words(gymnasium.Space[Any]):
    """Texts of any length and script; for actions also tool calls. Samples are short words, which make sense as actions nowhere."""

    def __init__(self, calls: bool = False, seed: int | None = None):
        self.calls = calls
        super().__init__(dtype=object, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        return False

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        del mask, probability
        count = int(self.np_random.integers(1, CHARACTERS_MAX + 1))
        return "".join(self.np_random.choice(list(CHARACTERS), count))

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) or (self.calls and isinstance(x, (dict, list)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Words) and other.calls == self.calls

    def __repr__(self) -> str:
        return f"Words(calls={self.calls})"


def _begun(opened: Opened) -> Json:
    return {"messages": opened.messages, "tools": opened.tools, "task": opened.task.raw, "episode": opened.episode}


def _stepped(step: Step) -> tuple[float, Json]:
    """Reward and info of a step."""
    verdict = step.verdict
    info: Json = {"messages": step.messages, "data": step.observation.data, "stop_reason": step.stop_reason}
    if verdict is None:
        return step.reward or 0.0, info
    info.update(verdict=verdict.raw, is_sample=verdict.is_sample)
    return (step.reward or 0.0) if verdict.is_sample else math.nan, info


class PalestraEnv(gymnasium.Env[str, Any]):
    """One session as a Gymnasium environment.

    :param environment: ``family/name``.
    :param client: a client to share; where left out, one is made from ``PALESTRA_URL`` and ``PALESTRA_API_KEY``.
    :param options: those of :meth:`palestra.Client.session`, such as ``task`` and ``limits``.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"]}

    def __init__(self, environment: str, client: Client | None = None, render_mode: str | None = None, **options: Any):
        self.observation_space = Words()
        self.action_space = Words(calls=True)
        self.render_mode = render_mode
        self._environment, self._options = environment, options
        self._own, self._client = client is None, client
        self._session: Session | None = None
        self._client = client or Client()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begins an episode. ``seed`` chooses the task; ``options={"task": {..}}`` names it."""
        super().reset(seed=seed)
        split = (self._options.get("task") or {}).get("split", "train")
        task = (options or {}).get("task") or (self._options.get("task") if seed is None else {"split": split, "seed": seed})
        assert self._client is not None
        if self._session is None:
            self._session = self._client.session(self._environment, **{**self._options, "task": task, "seed": seed})
            opened = self._session.opened
        else:
            opened = self._session.reset(task, seed=seed)
        return opened.observation.text, _begun(opened)

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Takes a step."""
        if self._session is None:
            raise gymnasium.error.ResetNeeded("call reset before the first step")
        step = self._session.step(action)
        reward, info = _stepped(step)
        return step.observation.text, reward, step.terminated, step.truncated, info

    def render(self) -> Any:
        """The present observation as text."""
        return self._session.observation.text if self._session else ""

    def close(self) -> None:
        """Closes the session, and the client where it was made here."""
        if self._session is not None:
            self._session.close()
            self._session = None
        if self._own and self._client is not None:
            self._client.close()
            self._client = None


class PalestraVectorEnv(VectorEnv):
    """Many sessions over one socket as a Gymnasium vector environment. A session that is done begins anew with the next step."""

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, environment: str, num_envs: int, client: Client | None = None, **options: Any):
        self.num_envs = num_envs
        self.single_observation_space, self.single_action_space = Words(), Words(calls=True)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._environment, self._options = environment, options
        self._own = client is None
        self._client: Client | None = client or Client()
        self._vector: VectorSession | None = None

    def reset(self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode in each session. A list of seeds chooses the tasks; one seed counts up from there."""
        assert self._client is not None
        tasks = (options or {}).get("tasks") or self._tasks(seed)
        if self._vector is None and tasks is None:
            self._vector = self._client.vector(self._environment, self.num_envs, **self._options)
        elif self._vector is None:
            self._vector = self._client.vector(self._environment, tasks=tasks, **self._options)
        else:
            for opened in self._vector.reset(tasks=tasks):
                if isinstance(opened, ApiError):
                    raise opened
        return tuple(opened.observation.text for opened in self._vector.opened), _columns([_begun(opened) for opened in self._vector.opened])

    def _tasks(self, seed: int | Sequence[int | None] | None) -> list[Json] | None:
        if seed is None:
            return None
        seeds = [seed + place for place in range(self.num_envs)] if isinstance(seed, int) else seed
        return [{"split": "train"} if each is None else {"split": "train", "seed": each} for each in seeds]

    def step(self, actions: Sequence[Action]) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Takes a step in each session. In one that was done, its action is left out, and an episode begins instead."""
        if self._vector is None:
            raise gymnasium.error.ResetNeeded("call reset before the first step")
        over = [place for place, done in enumerate(self._vector.done) if done]
        begun = dict(zip(over, self._vector.reset(over))) if over else {}
        rewards = np.zeros(self.num_envs)
        terminated, truncated = np.zeros(self.num_envs, bool), np.zeros(self.num_envs, bool)
        texts, infos = [], []
        for place, step in enumerate(self._vector.step([None if place in begun else action for place, action in enumerate(actions)])):
            outcome = begun.get(place, step)
            if isinstance(outcome, ApiError):
                raise outcome
            assert outcome is not None
            texts.append(outcome.observation.text)
            if isinstance(outcome, Opened):
                infos.append(_begun(outcome))
                continue
            rewards[place], info = _stepped(outcome)
            terminated[place], truncated[place] = outcome.terminated, outcome.truncated
            infos.append(info)
        return tuple(texts), rewards, terminated, truncated, _columns(infos)

    def close_extras(self, **_: Any) -> None:
        """Closes the sessions, and the client where it was made here."""
        if self._vector is not None:
            self._vector.close()
        if self._own and self._client is not None:
            self._client.close()
        self._vector = self._client = None


def _columns(infos: list[Json]) -> dict[str, Any]:
    """One array for each key, with a mask of the sessions that have it, as Gymnasium's own vector environments answer."""
    columns: dict[str, Any] = {}
    for name in dict.fromkeys(name for info in infos for name in info):
        values = np.empty(len(infos), dtype=object)
        for place, info in enumerate(infos):
            values[place] = info.get(name)
        columns[name] = values
        columns["_" + name] = np.array([name in info for info in infos])
    return columns


gymnasium.register(
    id="Palestra-v0",
    entry_point="palestra.gym:PalestraEnv",
    vector_entry_point="palestra.gym:PalestraVectorEnv",
    order_enforce=False,
)
