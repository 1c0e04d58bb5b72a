"""Starts the service and talks to it."""
import http.client
import json
import socket
import subprocess
import sys
import time

import pytest


@pytest.fixture
def ask():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    service = subprocess.Popen([sys.executable, "/app/service.py", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(method, path, body=None):
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        link.request(method, path, body)
        answer = link.getresponse()
        data = answer.read()
        link.close()
        return answer.status, data

    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            time.sleep(0.05)
    yield ask
    service.kill()
    service.wait()


def test_health_and_unknown(ask):
    assert ask("GET", "/health") == (200, b"ok")
    assert ask("GET", "/jobs")[0] == 404
    assert ask("GET", "/jobs/1")[0] == 404
    assert ask("POST", "/jobs/1/finish")[0] == 404


def test_jobs(ask):
    for wrong in ("", "{", "[]", '{"name": 3}', "{}"):
        assert ask("POST", "/jobs", wrong)[0] == 400
    for number, name in enumerate(["first", "zwölf"], 1):
        status, body = ask("POST", "/jobs", json.dumps({"name": name}))
        assert (status, json.loads(body)) == (201, {"id": number})
    status, body = ask("GET", "/jobs/2")
    assert (status, json.loads(body)) == (200, {"id": 2, "name": "zwölf", "state": "waiting"})
    status, body = ask("POST", "/jobs/2/finish")
    assert (status, json.loads(body)["state"]) == (200, "finished")
    assert ask("POST", "/jobs/2/finish")[0] == 409
    assert json.loads(ask("GET", "/jobs/2")[1])["state"] == "finished"
    assert json.loads(ask("GET", "/jobs/1")[1])["state"] == "waiting"
