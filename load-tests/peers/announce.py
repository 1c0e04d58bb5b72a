"""Runs an application with uvicorn, one worker, on a free port, and prints `ready http://ADDRESS` once it answers."""

import socket

import uvicorn


class Announcing(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        host, port = sockets[0].getsockname()
        print(f"ready http://{host}:{port}", flush=True)


def serve(application):
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(2048)
    Announcing(uvicorn.Config(application, log_level="warning", access_log=False)).run(sockets=[listener])
