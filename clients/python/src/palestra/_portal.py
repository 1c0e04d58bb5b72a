"""An event loop in a thread of its own, for code that is not asynchronous."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from .errors import ClientClosed

T = TypeVar("T")


class Portal:
    """Runs coroutines for threads that wait for them."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="palestra", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Waits for a coroutine; an interrupt (``Ctrl+C``) cancels the wait for it."""
        if not self.is_open:
            coroutine.close()
            if os.getpid() != self._process:
                raise ClientClosed("this client was made before the process forked: make a client in each process")
            raise ClientClosed("the client is closed: make a new one")
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise ClientClosed("a blocking call within an event loop's own thread would wait for ever: use AsyncClient there")
        running = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return running.result()
        except concurrent.futures.CancelledError as error:
            raise ClientClosed("the client was closed meanwhile: make a new one") from error
        except BaseException:
            running.cancel()
            raise

    @property
    def is_open(self) -> bool:
        """True in the process that made it, until it is closed."""
        return os.getpid() == self._process and not self._loop.is_closed()

    def close(self) -> None:
        """Ends the thread."""
        if not self.is_open:
            return
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        """Cancels what still runs, such as the renewal of a lease."""
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self._loop.shutdown_asyncgens()
