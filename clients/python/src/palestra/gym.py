"""Environments as Gymnasium's: ``pip install palestra[gym]``.

Actions are what :meth:`palestra.Session.step` takes: a text, or a tool call. Observations are texts. ``info`` carries what a policy that
speaks needs (``messages``, ``tools``) and, at the end, the ``verdict``. An episode without a score is no sample: its last reward is NaN, so
that nothing learns from it unnoticed, and ``info["is_sample"]`` is false.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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
# Seeds are whole numbers that JSON carries exactly.
SEED_MAX = 1 << 53


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


def _drawn(task: Mapping[str, Any] | None, seed: int) -> Mapping[str, Any]:
    """The task that was fixed, or the one that the seed chooses from its split and difficulty."""
    if task is not None and task.keys() & {"id", "index", "seed"}:
        return task
    return {**(task or {}), "seed": seed}


def _seed(random: np.random.Generator) -> int:
    return int(random.integers(SEED_MAX))


class PalestraEnv(gymnasium.Env[str, Any]):
    """One session as a Gymnasium environment.

    :param environment: ``family/name``.
    :param client: a client to share; where left out, one is made from ``PALESTRA_URL`` and ``PALESTRA_API_KEY``.
    :param options: those of :meth:`palestra.Client.session`, such as ``limits``. A ``task`` with an ``id``, ``index`` or ``seed`` is played
        in every episode; otherwise each reset draws one, from the split and the difficulty that ``task`` names.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"]}

    def __init__(self, environment: str, client: Client | None = None, render_mode: str | None = None, **options: Any):
        self.observation_space = Words()
        self.action_space = Words(calls=True)
        self.render_mode = render_mode
        self._environment, self._task, self._options = environment, options.pop("task", None), options
        self._own = client is None
        self._client: Client | None = client or Client()
        self._session: Session | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begins an episode of another task. The same ``seed`` brings the same one; ``options={"task": {..}}`` names it."""
        super().reset(seed=seed)
        if self._client is None:
            raise gymnasium.error.ClosedEnvironmentError("the environment is closed: make a new one")
        drawn = _seed(self.np_random) if seed is None else int(seed)
        task = _drawn((options or {}).get("task") or self._task, drawn)
        if self._session is None:
            self._session = self._client.session(self._environment, task=task, seed=drawn, **self._options)
            opened = self._session.opened
        else:
            opened = self._session.reset(task, seed=drawn)
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
        session, client = self._session, self._client if self._own else None
        self._session = self._client = None
        try:
            if session is not None:
                session.close()
        finally:
            if client is not None:
                client.close()


class PalestraVectorEnv(VectorEnv):
    """Many sessions over one socket as a Gymnasium vector environment. A session that is done begins another task with the next step.

    A session that cannot step fails no other: it is truncated with the reward NaN, and ``info["error"]`` says why.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, environment: str, num_envs: int, client: Client | None = None, **options: Any):
        self.num_envs = num_envs
        self.single_observation_space, self.single_action_space = Words(), Words(calls=True)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._environment, self._task, self._options = environment, options.pop("task", None), options
        self._own = client is None
        self._client: Client | None = client or Client()
        self._vector: VectorSession | None = None
        self._over = [False] * num_envs

    def reset(self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode in each session. A list of seeds chooses the tasks, one seed counts up from there; ``options={"tasks": [..]}``."""
        first = None if seed is None or isinstance(seed, Sequence) else int(seed)
        super().reset(seed=first)
        if self._client is None:
            raise gymnasium.error.ClosedEnvironmentError("the environment is closed: make a new one")
        named: list[int | None] = list(seed) if isinstance(seed, Sequence) else [None] * self.num_envs
        tasks = (options or {}).get("tasks") or [self._task] * self.num_envs
        if len(named) != self.num_envs or len(tasks) != self.num_envs:
            raise ValueError(f"{len(named)} seeds and {len(tasks)} tasks for {self.num_envs} sessions: give one each")
        if first is not None:
            named = [*range(first, first + self.num_envs)]
        drawn = [_seed(self.np_random) if each is None else int(each) for each in named]
        chosen = [_drawn(task, each) for task, each in zip(tasks, drawn)]
        if self._vector is None:
            self._vector = self._client.vector(self._environment, tasks=chosen, seeds=drawn, **self._options)
        else:
            for opened in self._vector.reset(tasks=chosen, seeds=drawn):
                if isinstance(opened, ApiError):
                    raise opened
        self._over = [False] * self.num_envs
        return tuple(opened.observation.text for opened in self._vector.opened), _columns([_begun(opened) for opened in self._vector.opened])

    def step(self, actions: Sequence[Action]) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Takes a step in each session. In one that was done, its action is left out, and an episode begins instead."""
        if self._vector is None:
            raise gymnasium.error.ResetNeeded("call reset before the first step")
        stepped = self._vector.step([None if over else action for over, action in zip(self._over, actions, strict=True)])
        begun = self._begin_again()
        rewards = np.zeros(self.num_envs)
        terminated, truncated = np.zeros(self.num_envs, bool), np.zeros(self.num_envs, bool)
        texts, infos = [], []
        for place, step in enumerate(stepped):
            outcome = begun.get(place, step)
            text = ""
            info: Json = {"error": str(outcome), "is_sample": False}
            if isinstance(outcome, Opened):
                text, info = outcome.observation.text, _begun(outcome)
            elif isinstance(outcome, Step):
                text = outcome.observation.text
                rewards[place], info = _stepped(outcome)
                terminated[place], truncated[place] = outcome.terminated, outcome.truncated
            else:
                rewards[place], truncated[place] = math.nan, True
            texts.append(text)
            infos.append(info)
        self._over = [bool(over) for over in terminated | truncated]
        return tuple(texts), rewards, terminated, truncated, _columns(infos)

    def _begin_again(self) -> dict[int, Opened | ApiError]:
        """New episodes, of other tasks, in the sessions that are over."""
        places = [place for place, over in enumerate(self._over) if over]
        if not places or self._vector is None:
            return {}
        drawn = [_seed(self.np_random) for _ in places]
        return dict(zip(places, self._vector.reset(places, [_drawn(self._task, each) for each in drawn], drawn)))

    def close_extras(self, **_: Any) -> None:
        """Closes the sessions, and the client where it was made here."""
        vector, client = self._vector, self._client if self._own else None
        self._vector = self._client = None
        try:
            if vector is not None:
                vector.close()
        finally:
            if client is not None:
                client.close()


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
