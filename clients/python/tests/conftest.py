"""One real server for all tests, and a proxy that cuts connections."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import palestra
import palestra.testing
import pytest


@pytest.fixture(scope="session")
def server() -> Iterator[palestra.testing.Server]:
    with palestra.testing.server("--sessions-max", "20000") as server:
        yield server


@pytest.fixture
def client(server: palestra.testing.Server) -> Iterator[palestra.Client]:
    with server.client() as client:
        yield client


class Proxy:
    """Passes bytes on to a server, and cuts each connection after a random count of them, in the middle of whatever is sent."""

    def __init__(self, url: str, cuts_max: int, bytes_max: int, seed: int):
        self.host, _, port = url.removeprefix("http://").partition(":")
        self.port = int(port)
        self.cuts, self.cuts_max = 0, cuts_max
        self.bytes_max = bytes_max
        self.random = random.Random(seed)
        self.url = ""
        self.connections: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections[writer] = asyncio.create_task(self.take(reader, writer))

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        left = self.random.randrange(self.bytes_max) if self.cuts < self.cuts_max else None
        upstream_reader, upstream_writer = await asyncio.open_connection(self.host, self.port)

        async def pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            nonlocal left
            try:
                while data := await source.read(4096):
                    if left is not None and len(data) > left:
                        sink.write(data[:left])
                        self.cuts += 1
                        return
                    left = None if left is None else left - len(data)
                    sink.write(data)
                    await sink.drain()
            except ConnectionError:
                return

        ways = [asyncio.create_task(pass_on(reader, upstream_writer)), asyncio.create_task(pass_on(upstream_reader, writer))]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        for sink in (writer, upstream_writer):
            sink.transport.abort()
        await asyncio.gather(*(sink.wait_closed() for sink in (writer, upstream_writer)), return_exceptions=True)


    async def listen(self, port: int) -> asyncio.Server:
        listener = await asyncio.start_server(self.accept, "127.0.0.1", port, reuse_address=True)
        self.url = "http://127.0.0.1:{}".format(listener.sockets[0].getsockname()[1])
        return listener

    async def close(self, listener: asyncio.Server) -> None:
        """Takes no connection any more, and cuts those that there are."""
        listener.close()
        for writer in self.connections:
            writer.transport.abort()
        await asyncio.gather(*self.connections.values())


@asynccontextmanager
async def cutting(url: str, cuts_max: int, bytes_max: int, seed: int = 1) -> AsyncIterator[Proxy]:
    """A proxy in front of a server that cuts the first connections."""
    proxy = Proxy(url, cuts_max, bytes_max, seed)
    listener = await proxy.listen(0)
    try:
        yield proxy
    finally:
        await proxy.close(listener)
