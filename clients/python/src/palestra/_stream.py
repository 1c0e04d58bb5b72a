"""The stream: one WebSocket for many sessions, pipelined, that survives lost connections.

A frame without an answer is kept, and sent again in the same order after a reconnect. Nothing acts twice by that: steps carry ``seq``,
frames that create something carry a ``key``, and the others say the same thing however often they are said.
"""

from __future__ import annotations

import asyncio
import copy
import json
import time
import uuid
from collections import deque
from collections.abc import Sequence
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.typing import Subprotocol

from ._address import Address
from ._backoff import Backoff
from .errors import PASSING, ApiError, ClientClosed, ConnectionLost, PalestraError

# The largest frame that is sent, where the server does not say less.
FRAME_BYTES_MAX = 16 << 20
# The server stops reading beyond as many.
IN_FLIGHT_MAX = 1024
HANDSHAKE_S = 10.0
# A connection on which nothing is heard for as long, pings included, is lost.
SILENCE_S = 60.0
# A connection that held as long is a success, even where nothing was asked over it.
STABLE_S = 5.0
CREATING = frozenset({"create", "reset", "fork", "snapshot", "restore"})


def encode(value: Any) -> bytes:
    """JSON as the server reads it; ``ValueError`` where something is not."""
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, TypeError) as error:
        raise ValueError(f"it cannot be sent as JSON ({error}): send finite numbers, whole characters, texts, lists and objects") from error


def new_key() -> str:
    """A key that no other creation carries."""
    return uuid.uuid4().hex


class Stream:
    """A connection to ``/v1/stream`` that reconnects by itself. For one event loop."""

    def __init__(self, address: Address, give_up_s: float):
        self._url = address.url.replace("http", "ws", 1) + "/v1/stream"
        self._headers, self._proxy = address.headers, address.proxy
        self._give_up_s = give_up_s
        self._permits = asyncio.Semaphore(IN_FLIGHT_MAX)
        self._unanswered: dict[int, tuple[bytes, asyncio.Future[Any]]] = {}
        self._queue: deque[int] = deque()
        self._wake = asyncio.Event()
        self._last = 0
        self._end: PalestraError | None = None
        self._driver: asyncio.Task[None] | None = None
        #: Bytes of the largest frame that the server reads.
        self.frame_bytes_max = FRAME_BYTES_MAX
        #: How often the connection was lost and made again.
        self.reconnects = 0

    @property
    def has_ended(self) -> bool:
        """True once it was given up or closed."""
        return self._end is not None

    async def open(self) -> None:
        """Connects. Fails at once where the server refuses the credential."""
        backoff = Backoff(self._give_up_s)
        socket = await self._connect(backoff)
        self._driver = asyncio.create_task(self._drive(socket, backoff))

    async def close(self) -> None:
        self._fail(ClientClosed("the client is closed: make a new one"))
        if self._driver is not None:
            self._driver.cancel()
            await asyncio.gather(self._driver, return_exceptions=True)

    async def call(self, op: str, **fields: Any) -> Any:
        """Sends one frame and waits for its answer, over as many reconnects as it takes.

        A command that the server could not take at the moment is sent again after a wait.
        """
        if op in CREATING:
            fields.setdefault("key", new_key())
        backoff = Backoff(self._give_up_s)
        while True:
            try:
                return await self._exchange(op, fields)
            except ApiError as error:
                wait = backoff.wait_s(error.retry_after_s or 0.0) if error.code in PASSING else None
                if wait is None:
                    raise
            await asyncio.sleep(wait)

    async def steps(self, items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Takes many steps in one frame; each outcome has ``ok`` or ``error``."""
        answer = await self.call("steps", items=items)
        return list(answer["data"])

    async def _exchange(self, op: str, fields: dict[str, Any]) -> Any:
        async with self._permits:
            if self._end is not None:
                # A copy: each raised one gets a traceback of its own.
                raise copy.copy(self._end)
            self._last += 1
            number = self._last
            text = encode({"id": number, "op": op, **fields})
            if len(text) > self.frame_bytes_max:
                raise too_large(len(text), self.frame_bytes_max)
            answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            self._unanswered[number] = (text, answer)
            self._queue.append(number)
            self._wake.set()
            return await answer

    async def _connect(self, backoff: Backoff) -> ClientConnection:
        while True:
            try:
                socket = await connect(
                    self._url,
                    additional_headers=self._headers,
                    subprotocols=[Subprotocol("palestra.json")],
                    compression=None,
                    # Answers about many sessions are large, and the server is trusted.
                    max_size=None,
                    proxy=self._proxy,
                    open_timeout=HANDSHAKE_S,
                    close_timeout=1.0,
                    ping_interval=20.0,
                    ping_timeout=SILENCE_S - 20.0,
                )
            except InvalidURI as error:
                raise PalestraError(f"{self._url!r} is no address: give one such as http://127.0.0.1:7070") from error
            except InvalidStatus as error:
                refused = _refusal(error)
                if 400 <= refused.status < 500 and refused.status not in (408, 429):
                    raise refused from error
                last: Exception = refused
            except (OSError, TimeoutError, asyncio.TimeoutError, InvalidHandshake, ConnectionClosed) as error:
                last = error
            else:
                said = socket.response.headers.get("palestra-frame-bytes-max") if socket.response else None
                self.frame_bytes_max = min(int(said or FRAME_BYTES_MAX), FRAME_BYTES_MAX)
                return socket
            wait = backoff.wait_s()
            if wait is None:
                why = str(last) or type(last).__name__
                way = f" over the proxy {self._proxy}" if self._proxy else ""
                raise ConnectionLost(f"{self._url} was not reached{way} for {self._give_up_s:.0f} s ({why}): is the server running?") from last
            await asyncio.sleep(wait)

    async def _drive(self, socket: ClientConnection, backoff: Backoff) -> None:
        try:
            while True:
                self._queue = deque(self._unanswered)
                self._wake.set()
                made_at = time.monotonic()
                # A frame that kills every connection must not keep the stream busy for ever.
                if await self._converse(socket) or time.monotonic() - made_at >= STABLE_S:
                    backoff.succeeded()
                wait = backoff.wait_s()
                if wait is None:
                    raise ConnectionLost(f"{self._url} takes connections and answers nothing for {self._give_up_s:.0f} s: see its log")
                await asyncio.sleep(wait)
                socket = await self._connect(backoff)
                self.reconnects += 1
        except PalestraError as error:
            self._fail(error)
        except asyncio.CancelledError:
            self._fail(ClientClosed("the event loop of this client ended: make a client in each loop"))
            raise
        except Exception as error:
            self._fail(PalestraError(f"the stream failed: {error!r}"))

    async def _converse(self, socket: ClientConnection) -> bool:
        """Sends and reads until the connection ends; true where anything was answered."""
        sender = asyncio.create_task(self._send(socket))
        answered = False
        try:
            # Reading never waits for writing: a server that waits for its reader would otherwise stop both.
            async for text in socket:
                answered = self._take(json.loads(text)) or answered
        except ConnectionClosed:
            pass
        finally:
            sender.cancel()
            await asyncio.gather(sender, return_exceptions=True)
            # Nothing more is wanted of it: its close handshake may wait for a peer that is gone.
            socket.transport.abort()
            await socket.wait_closed()
        return answered

    async def _send(self, socket: ClientConnection) -> None:
        while True:
            while self._queue:
                kept = self._unanswered.get(self._queue.popleft())
                if kept is not None:
                    await socket.send(kept[0], text=True)
            self._wake.clear()
            await self._wake.wait()

    def _take(self, message: dict[str, Any]) -> bool:
        if message.get("id") is None and "error" in message:
            # The server could not read a frame, and does not say which.
            self._answer_all(ApiError(message["error"]))
            return True
        # An answer may come twice: to a frame, and to the same frame sent again.
        _, answer = self._unanswered.pop(message.get("id", 0), (None, None))
        if answer is None or answer.done():
            return False
        if "error" in message:
            answer.set_exception(ApiError(message["error"]))
        else:
            answer.set_result(message["ok"])
        return True

    def _fail(self, error: PalestraError) -> None:
        self._end = self._end or error
        self._answer_all(self._end)

    def _answer_all(self, error: PalestraError) -> None:
        for _, answer in self._unanswered.values():
            if not answer.done():
                answer.set_exception(copy.copy(error))
        self._unanswered.clear()


def too_large(size: int, most: int) -> ApiError:
    detail = f"{size} bytes are larger than the {most} that the server reads in a frame: send less at once"
    return ApiError({"status": 413, "code": "too_large", "detail": detail})


def _refusal(error: InvalidStatus) -> ApiError:
    body = error.response.body or b""
    status = error.response.status_code
    try:
        problem = json.loads(body)
        problem["code"], problem["detail"]
    except (ValueError, KeyError, TypeError):
        problem = {"status": status, "code": "unknown", "detail": f"the server answers {status}: {bytes(body[:200])!r}"}
    return ApiError({**problem, "status": status})
