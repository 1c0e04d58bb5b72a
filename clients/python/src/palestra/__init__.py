"""Client of Palestra, a server of environments for training and evaluating agents with verifiable rewards.

>>> import palestra
>>> with palestra.Client() as client, client.session("bench/counter") as session:  # doctest: +SKIP
...     print(session.step("1").observation.text)
"""

from ._blocking import Client, Run, Session, VectorSession
from ._client import AsyncClient, AsyncRun
from ._session import AsyncSession
from ._vector import AsyncVectorSession, Outcome
from .errors import ApiError, ClientClosed, ConnectionLost, PalestraError
from .models import Action, Check, Environment, Finished, Observation, Opened, Snapshot, Step, Task, Verdict

__all__ = [
    "Action",
    "ApiError",
    "AsyncClient",
    "AsyncRun",
    "AsyncSession",
    "AsyncVectorSession",
    "Check",
    "Client",
    "ClientClosed",
    "ConnectionLost",
    "Environment",
    "Finished",
    "Observation",
    "Opened",
    "Outcome",
    "PalestraError",
    "Run",
    "Session",
    "Snapshot",
    "Step",
    "Task",
    "Verdict",
    "VectorSession",
]
