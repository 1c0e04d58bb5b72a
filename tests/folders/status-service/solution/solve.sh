#!/bin/bash
cat > /app/service.py <<'END'
import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

jobs = []


class Handler(BaseHTTPRequestHandler):
    def answer(self, status, body=None):
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def job(self, form):
        found = re.fullmatch(form, self.path)
        number = int(found[1]) if found else 0
        return jobs[number - 1] if 0 < number <= len(jobs) else None

    def do_GET(self):
        job = self.job(r"/jobs/(\d+)")
        if self.path == "/health":
            self.answer(200, "ok")
        elif job:
            self.answer(200, job)
        else:
            self.answer(404)

    def do_POST(self):
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        job = self.job(r"/jobs/(\d+)/finish")
        if self.path == "/jobs":
            try:
                name = json.loads(data)["name"]
            except (ValueError, KeyError, TypeError):
                name = None
            if not isinstance(name, str):
                return self.answer(400)
            jobs.append({"id": len(jobs) + 1, "name": name, "state": "waiting"})
            self.answer(201, {"id": len(jobs)})
        elif not job:
            self.answer(404)
        elif job["state"] == "finished":
            self.answer(409)
        else:
            job["state"] = "finished"
            self.answer(200, job)


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
END
