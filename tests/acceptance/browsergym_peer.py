"""BrowserGym's own environment over the pages of an app, and the same app in Palestra's browser beside it."""

import http.client
import os
import re
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from harness import expect

# Debian's packages: those in the PATH are scripts around them, with settings of the machine.
PACKAGED = ["/usr/lib/chromium/chromium-headless-shell", "/usr/lib/chromium/chromium"]
NAMES = ["chrome-headless-shell", "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome"]
# The bar with the task, which pages have that are shown without a browser of ours.
TASK_BAR = re.compile(rb'<aside class="task.*?</aside>', re.S)
PASSED_ON = {"content-type", "location", "cache-control"}
VIEWPORT = {"width": 1280, "height": 720}


def chromium():
    """The program that both sides run: the one that PALESTRA_CHROMIUM names, or the first that the server would take."""
    named = [path for path in [os.environ.get("PALESTRA_CHROMIUM")] if path]
    found = named or [*filter(os.path.exists, PACKAGED), *filter(None, map(shutil.which, NAMES))]
    expect(found, "this machine has no Chromium: apt-get install chromium-headless-shell")
    return found[0]


class Sites:
    """A proxy through which a browser sees apps under their own names, as Palestra's browser does."""

    def __init__(self, port, keeps=False):
        self.port = port
        # With `keeps`, answers are given again without asking the app.
        self.keeps, self.kept = keeps, {}
        # By host: beginning of the address of the session that answers.
        self.bases = {}
        handler = type("Handler", (_Handler,), {"sites": self})
        self.server = _Quiet(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, method, url, headers, body):
        """Status, headers and body of the app's answer."""
        if not self.keeps or method != "GET":
            return self.ask(method, url, headers, body)
        if url not in self.kept:
            self.kept[url] = self.ask(method, url, headers, body)
        return self.kept[url]

    def ask(self, method, url, headers, body):
        """Asks the app, and answers as if it stood at the root of its host."""
        parts = urlsplit(url)
        base = self.bases.get(parts.hostname)
        if base is None or parts.port:
            return 404, {"content-type": "text/plain"}, b"there is no such host"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            path = base + parts.path + (f"?{parts.query}" if parts.query else "")
            sent = {name: value for name, value in headers.items() if name.lower() == "content-type"}
            connection.request(method, path, body, sent)
            found = connection.getresponse()
            text = found.read().replace(base.encode(), b"")
            kept = {name.lower(): value.replace(base, "") or "/" for name, value in found.getheaders()}
        finally:
            connection.close()
        return found.status, {name: kept[name] for name in PASSED_ON & set(kept)}, TASK_BAR.sub(b"", text)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A browser may go in the middle of an answer."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    sites = None

    def _answer(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0)) or None
        url = self.path if "://" in self.path else f"http://{self.headers['host']}{self.path}"
        status, headers, text = self.sites.answer(self.command, url, self.headers, body)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = _answer

    def log_message(self, *_):
        pass


class Messages:
    """The chat of BrowserGym without its window."""

    def __init__(self, **_):
        self.messages = []

    def add_message(self, role, msg):
        self.messages.append({"role": role, "message": msg})

    def close(self):
        pass


def gym(sites, action_set, delay=0.1):
    """BrowserGym's environment in the same Chromium, with its defaults but for its waits."""
    from browsergym.core import env as module
    from browsergym.core.task import AbstractBrowserTask

    module.Chat = Messages
    # Nobody looks at them, and tabs in the background are not drawn.
    module.extract_screenshot = lambda page: None

    class Task(AbstractBrowserTask):
        """Begins at a page."""

        def __init__(self, seed, start):
            super().__init__(seed)
            self.start = start

        def setup(self, page):
            page.goto(self.start)
            return "", {}

        def validate(self, page, chat_messages):
            return 0, False, "", {}

    return module.BrowserEnv(
        task_entrypoint=Task,
        task_kwargs={"start": "about:blank"},
        viewport=VIEWPORT,
        slow_mo=0,
        locale="en-US",
        timezone_id="UTC",
        pw_chromium_kwargs={"executable_path": chromium()},
        pw_context_kwargs={"proxy": {"server": sites.url}, "reduced_motion": "reduce"},
        action_mapping=action_set.to_python_code,
        pre_observation_delay=delay,
    )

def page_of(api, app, task):
    """Path under which a session shows the pages of an app."""
    asked = {"environment": f"app/{app}", "task": task, "config": {"surface": "gui"}, "limits": {"steps": 100_000}}
    return api.post("/v1/sessions", asked)["page"]


def tree_of(axtree):
    """BrowserGym's text of a tree with its defaults, and how many lines it has that the Chromium of its release did not tell:
    parts into which texts are broken on the screen."""
    from browsergym.utils.obs import IGNORED_AXTREE_ROLES, flatten_axtree_to_str

    text = flatten_axtree_to_str(axtree, ignored_roles=[*IGNORED_AXTREE_ROLES, "InlineTextBox"])
    return text, flatten_axtree_to_str(axtree).count("\n") - text.count("\n")
