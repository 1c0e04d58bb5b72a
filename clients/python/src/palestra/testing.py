"""A server for tests: with data of its own, which go with it."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
import sysconfig
import tempfile
import threading
from collections.abc import Iterator
from typing import IO

from ._blocking import Client
from ._client import AsyncClient
from .errors import PalestraError

READY_MAX_S = 60.0
END_MAX_S = 30.0


class Server:
    """A running server."""

    def __init__(self, url: str, key: str, process: subprocess.Popen[str]):
        #: Its address.
        self.url = url
        #: An admin key.
        self.key = key
        #: The process.
        self.process = process

    def client(self) -> Client:
        """A client with the admin key."""
        return Client(self.url, self.key)

    def async_client(self) -> AsyncClient:
        """The same for asyncio."""
        return AsyncClient(self.url, self.key)


def program() -> str:
    """The program ``palestra``: of ``PALESTRA_BINARY``, else beside this Python, else on the path."""
    named = os.environ.get("PALESTRA_BINARY")
    beside = os.path.join(sysconfig.get_path("scripts"), "palestra")
    found = named or (beside if os.access(beside, os.X_OK) else shutil.which("palestra"))
    if not found or not os.path.exists(found):
        raise PalestraError(f"the program `palestra` was not found ({named or 'beside Python, or on PATH'}): install it, or set PALESTRA_BINARY")
    return found


@contextlib.contextmanager
def server(*arguments: str, data: str | None = None) -> Iterator[Server]:
    """Starts a server on a free port of this machine, and ends it.

    :param arguments: more arguments of ``palestra serve``.
    :param data: folder of its data; where left out, a temporary one that goes with the server.
    """
    with contextlib.ExitStack() as stack:
        folder = data or stack.enter_context(tempfile.TemporaryDirectory(prefix="palestra-"))
        key = secrets.token_urlsafe(24)
        environment = {**os.environ, "PALESTRA_ADMIN_KEY": key}
        log = stack.enter_context(open(os.path.join(folder, "server.log"), "w+", encoding="utf-8"))
        command = [program(), "serve", "--listen", "127.0.0.1:0", "--data", folder, *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment, text=True)
        stack.callback(_end, process)
        yield Server(_ready(process, log.name), key, process)


def _ready(process: subprocess.Popen[str], log: str) -> str:
    """Waits for the line that says where the server listens."""
    assert process.stdout is not None
    watchdog = threading.Timer(READY_MAX_S, process.kill)
    watchdog.start()
    try:
        for line in process.stdout:
            if line.startswith("ready"):
                # What is printed later must not fill the pipe.
                threading.Thread(target=_drain, args=(process.stdout,), daemon=True).start()
                return next(word for word in line.split() if word.startswith("http"))
    finally:
        watchdog.cancel()
    with open(log, encoding="utf-8", errors="replace") as file:
        raise PalestraError(f"the server did not become ready (exit code {process.wait()}): {file.read()[-2000:]}")


def _drain(output: IO[str]) -> None:
    with output:
        output.read()


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(END_MAX_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
