"""A counter as an OpenEnv environment, served by OpenEnv's own application from its released package."""

from uuid import uuid4

from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State

from announce import serve

SESSIONS_MAX = 4096


class Add(Action):
    amount: int


class Count(Observation):
    count: int = 0


class Counter(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self.count = 0
        self.place = State(episode_id=str(uuid4()), step_count=0)

    def reset(self, seed=None, episode_id=None, **kwargs):
        self.count = 0
        self.place = State(episode_id=episode_id or str(uuid4()), step_count=0)
        return Count(count=0)

    def step(self, action, timeout_s=None, **kwargs):
        self.count += action.amount
        self.place.step_count += 1
        return Count(count=self.count, reward=0.0)

    @property
    def state(self):
        return self.place


if __name__ == "__main__":
    serve(create_fastapi_app(Counter, Add, Count, max_concurrent_envs=SESSIONS_MAX))
