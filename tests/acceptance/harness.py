"""What every acceptance program needs: a server as a child process, JSON over HTTP, and a stream that reconnects."""

import asyncio
import http.client
import itertools
import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid

ADMIN_KEY = "acceptance-admin-key-0123456789"
ROOT_SECRET = "acceptance-root-secret-0123456789abcdef0123456789abcdef"
READY_TIMEOUT_S = 60
CALL_TIMEOUT_S = 120
BATCH_ITEMS_MAX = 1024
FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Failed(Exception):
    """A line of the acceptance list does not hold."""


def expect(condition, message):
    if not condition:
        raise Failed(message)


def not_tried(name, needs):
    """Says that a part was left out; scripts/acceptance fails on each that it does not expect."""
    print(f"not tried: {name}: needs {needs}")


def binary():
    path = os.environ.get("PALESTRA_BINARY")
    expect(path and os.path.exists(path), "PALESTRA_BINARY must name the palestra program")
    return path


_ports = None


def free_port():
    """A port that nobody listens on: of the range that `PALESTRA_TEST_PORTS` gives to this program alone, where it does."""
    global _ports
    first, _, last = os.environ.get("PALESTRA_TEST_PORTS", "0-0").partition("-")
    if _ports is None:
        _ports = itertools.cycle(range(int(first), int(last) + 1))
    for port in itertools.islice(_ports, int(last) - int(first) + 1):
        with socket.socket() as probe:
            # What listened here before may have left connections that the kernel still waits for.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return probe.getsockname()[1]
    raise Failed(f"no port of {first}-{last} is free")


def new_id(prefix):
    """An id as the server makes them: a prefix and a UUIDv7."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds << 80) | (0x7 << 76) | (secrets.randbits(12) << 64) | (0b10 << 62) | secrets.randbits(62)
    return prefix + uuid.UUID(int=value).hex


# What servers logged at last, by address.
_logs = {}


class Server:
    """One server that can be killed and started again on the same port and data."""

    def __init__(self, *arguments, data=None, database_url=None, environment=None):
        self.own_data = data is None
        self.data = data or tempfile.mkdtemp(prefix="palestra-acceptance-")
        self.port = free_port()
        self.arguments = list(arguments)
        self.environment = {
            **os.environ,
            "PALESTRA_ADMIN_KEY": ADMIN_KEY,
            "PALESTRA_SECRET": ROOT_SECRET,
            "PALESTRA_LOG": "warn",
            # Programs that need workers ask for them.
            "PALESTRA_WORKERS": "none",
            **(environment or {}),
        }
        if database_url:
            self.environment["PALESTRA_DATABASE_URL"] = database_url
        self.process = None
        self.log = open(os.path.join(self.data, "acceptance.log"), "ab")

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        """Starts the server and answers how many seconds it took to be ready."""
        began = time.monotonic()
        command = [binary(), "serve", "--listen", f"127.0.0.1:{self.port}", "--data", self.data, *self.arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, env=self.environment, text=True)
        watchdog = threading.Timer(READY_TIMEOUT_S, self.process.kill)
        watchdog.start()
        try:
            for line in self.process.stdout:
                if line.startswith("ready"):
                    break
            else:
                self.process.wait()
                raise Failed(f"the server did not become ready (exit {self.process.returncode}): {self.log_tail()}")
        finally:
            watchdog.cancel()
        # What is printed later must not fill the pipe.
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        return time.monotonic() - began

    def log_tail(self):
        with open(self.log.name, "rb") as log:
            return log.read()[-2000:].decode("utf-8", "replace")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def terminate(self):
        """Ends the server as SIGTERM does; its data stays."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()

    def restart(self):
        self.terminate()
        return self.start()

    def stop(self):
        self.terminate()
        self.log.close()
        # Kept for `main`, which shows it where the line does not hold.
        _logs[self.url] = self.log_tail()
        if self.own_data:
            shutil.rmtree(self.data, ignore_errors=True)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def rss_mb(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)) / 1024

    def api(self, key=ADMIN_KEY):
        return Api(self.port, key)


class Api:
    """JSON calls over one kept connection. Not for several threads at once."""

    def __init__(self, port, key=ADMIN_KEY):
        self.port, self.key, self.connection = port, key, None

    def raw(self, method, path, body=None, headers=None):
        """Answers (status, headers, bytes). A broken kept connection is made anew once, unless the call might have acted."""
        headers = {"authorization": f"Bearer {self.key}", **(headers or {})}
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
            headers["content-type"] = "application/json"
        for attempt in (1, 2):
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=CALL_TIMEOUT_S)
                attempt = 2
            try:
                self.connection.request(method, path, body, headers)
                answer = self.connection.getresponse()
                return answer.status, answer.headers, answer.read()
            except (http.client.HTTPException, OSError):
                self.connection.close()
                self.connection = None
                if attempt == 2 or method != "GET":
                    raise

    def call(self, method, path, body=None, headers=None, status=None):
        """The JSON of an answer that has to be `status`, or any success."""
        found, _, text = self.raw(method, path, body, headers)
        good = found == status if status else 200 <= found < 300
        expect(good, f"{method} {path} answered {found}: {text[:500].decode('utf-8', 'replace')}")
        return json.loads(text) if text else None

    def get(self, path, **more):
        return self.call("GET", path, **more)

    def post(self, path, body, **more):
        return self.call("POST", path, body, **more)

    def delete(self, path, **more):
        return self.call("DELETE", path, **more)

    def batch(self, name, items, size=BATCH_ITEMS_MAX):
        """The `ok` of every item of a batch call, in order."""
        results = []
        for start in range(0, len(items), size):
            answer = self.post(f"/v1/sessions:{name}", {"items": items[start : start + size]})
            for offset, outcome in enumerate(answer["data"]):
                expect("ok" in outcome, f"item {start + offset} of sessions:{name}: {outcome.get('error')}")
                results.append(outcome["ok"])
        expect(len(results) == len(items), f"sessions:{name} answered {len(results)} of {len(items)} items")
        return results

    def metric(self, name):
        """The sum of a metric over its labels; 0 where it was never set."""
        _, _, text = self.raw("GET", "/metrics")
        values = re.findall(rf"^{name}(?:\{{[^}}]*\}})? ([0-9.eE+-]+)$", text.decode(), re.M)
        return sum(map(float, values))


class Refused(Exception):
    """The server answered a frame with a problem."""

    def __init__(self, problem):
        super().__init__(f"{problem.get('code')}: {problem.get('detail')}")
        self.problem = problem


# Problems that say "not now": the same frame may be sent again.
PASSING = {"draining", "not_recorded", "store_unavailable", "session_busy", "too_many_requests"}


class Stream:
    """A stream that reconnects for ever and sends unanswered frames again."""

    def __init__(self, port, key=ADMIN_KEY):
        self.port, self.key = port, key
        self.ids = itertools.count(1)
        self.waiting = {}
        self.socket = None
        self.task = None
        self.connected = asyncio.Event()

    async def __aenter__(self):
        self.task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_):
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def _run(self):
        import websockets

        while True:
            try:
                async with websockets.connect(
                    f"ws://127.0.0.1:{self.port}/v1/stream",
                    additional_headers={"authorization": f"Bearer {self.key}"},
                    subprotocols=["palestra.json"],
                    compression=None,
                    max_size=None,
                ) as socket:
                    for frame, _ in list(self.waiting.values()):
                        await socket.send(frame)
                    self.socket = socket
                    self.connected.set()
                    async for text in socket:
                        self._answer(json.loads(text))
            except (OSError, websockets.WebSocketException):
                pass
            self.connected.clear()
            self.socket = None
            await asyncio.sleep(0.02)

    def _answer(self, message):
        _, future = self.waiting.pop(message.get("id"), (None, None))
        if future and not future.done():
            future.set_result(message)

    async def call(self, op, session=None, **fields):
        import websockets

        while True:
            number = next(self.ids)
            body = {"id": number, "op": op, **fields}
            if session:
                body["session"] = session
            frame = json.dumps(body)
            future = asyncio.get_running_loop().create_future()
            self.waiting[number] = (frame, future)
            if self.socket is not None:
                try:
                    await self.socket.send(frame)
                except (OSError, websockets.WebSocketException):
                    pass  # kept, and sent again by the next connection
            message = await future
            if "ok" in message:
                return message["ok"]
            if message["error"]["code"] not in PASSING:
                raise Refused(message["error"])
            await asyncio.sleep(0.05)


def main(run):
    """Runs a program: its last line of output is JSON with the figures, and its exit status says whether the line holds."""
    import argparse

    parser = argparse.ArgumentParser(description=run.__doc__)
    parser.add_argument("--short", action="store_true", help="the form that runs with every change")
    arguments = parser.parse_args()
    try:
        figures = run(arguments.short)
    except (Failed, Refused) as failure:
        for url, tail in _logs.items():
            if tail:
                print(f"{url} logged at last:\n{tail}")
        disk = shutil.disk_usage(tempfile.gettempdir())
        print(f"{disk.free // 2**20} MiB of {tempfile.gettempdir()} are free")
        print(json.dumps({"result": "failed", "figures": str(failure)}))
        sys.exit(1)
    print(json.dumps({"result": "passed", "figures": figures}))
