"""Runs an application with uvicorn, one worker, on a free port, and prints `ready http://ADDRESS` once it answers."""

import socket

import uvicorn

# Seconds. Between its windows a caller says nothing, and nobody reads its socket.
SILENCE_MAX_S = 3600


class Announcing(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        host, port = sockets[0].getsockname()
        print(f"ready http://{host}:{port}", flush=True)


def serve(application):
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(2048)
    settings = {"timeout_keep_alive": SILENCE_MAX_S, "ws_ping_interval": None}
    Announcing(uvicorn.Config(application, log_level="warning", access_log=False, **settings)).run(sockets=[listener])
