"""The pages of MiniWoB++ from the package of its authors: they load, say what they ask for, and are solved through the server."""

import collections
import concurrent.futures
import glob
import io
import json
import os
import random
import re
import subprocess
import sys
import tarfile
import tempfile

from harness import Server, expect, main, not_tried

PACKAGE = "miniwob==1.1.0"
INSTALL_TIMEOUT_S = 120
# Sessions that are played at once.
AT_ONCE = 4
# Pages that are solved, of those that have a solution here. The short form publishes no others.
SOLVED_MIN = 15
# Pages that cannot be played here, in all.
LEFT_OUT_MAX = 10
# Draws and clicks of a random policy, and the share of its episodes that may pass.
RANDOM_SEEDS, RANDOM_CLICKS, RANDOM_PASSED_MAX = 3, 5, 0.2
# The part of the window that the pages take, in pixels.
SIZE = 160, 210
SEEDS = 2


def fill(selector, text):
    return f"fill('css={selector}', {text!r})"


def click(selector):
    return f"click('css={selector}')"


def named(role, name):
    return f"click({f'role={role}[name=' + chr(34) + name + chr(34) + '][nth=0]'!r})"


SUBMIT = click("#subbtn")


def quoted(asked):
    return re.findall(r'"([^"]*)"', asked)


def enter(asked, _):
    return [fill("#tt", quoted(asked)[0]), SUBMIT]


def password(asked, _):
    return [fill("#password", quoted(asked)[0]), fill("#verify", quoted(asked)[0]), SUBMIT]


def login(asked, _):
    user, word = quoted(asked)
    return [fill("#username", user), fill("#password", word), SUBMIT]


def options(asked, _):
    wanted = re.match(r"Select (.*) and click Submit", asked).group(1)
    return [named("radio", wanted), SUBMIT]


def checkboxes(asked, _):
    wanted = re.match(r"Select (.*) and click Submit", asked).group(1)
    return [*(named("checkbox", word) for word in wanted.split(", ") if wanted != "nothing"), SUBMIT]


def choose(asked, _):
    wanted = re.match(r"Select (.*) from the list", asked).group(1)
    return [f"select_option('css=#options', {wanted!r})", SUBMIT]


def spinner(asked, _):
    return [fill("#spinner", re.search(r"-?\d+", asked).group()), SUBMIT]


def date(asked, _):
    month, day, year = re.search(r"(\d+)/(\d+)/(\d+)", asked).groups()
    return [fill("#tt", f"{year}-{month:0>2}-{day:0>2}"), SUBMIT]


def time(asked, _):
    hour, minute, half = re.search(r"(\d+):(\d+) ?([AP]M)", asked).groups()
    return [fill("#tt", f"{int(hour) % 12 + (12 if half == 'PM' else 0):02}:{minute}"), SUBMIT]


def tab(asked, _):
    return [click(f"a[href=\"#tabs-{re.search(r'#([0-9])', asked).group(1)}\"]")]


def arithmetic(_, seen):
    left, sign, right = re.search(r"(\d+) ?([-+x×]) ?(\d+) ?=", seen).groups()
    left, right = int(left), int(right)
    return [fill("#math-answer", str({"+": left + right, "-": left - right}.get(sign, left * right))), SUBMIT]


def focus(asked, _):
    return [click(f"#tt{re.search(r'([0-9])(st|nd|rd)', asked).group(1)}")]


# By page: actions from what it asks for and from its tree.
SOLUTIONS = {
    "click-test": lambda asked, seen: [SUBMIT],
    "click-test-2": lambda asked, seen: [SUBMIT],
    "click-button": lambda asked, seen: [named("button", quoted(asked)[0])],
    "click-button-sequence": lambda asked, seen: [SUBMIT, click("#subbtn2")],
    "click-checkboxes": checkboxes,
    "click-collapsible": lambda asked, seen: [click("#area h3"), SUBMIT],
    "click-dialog": lambda asked, seen: [click(".ui-dialog-titlebar-close")],
    "click-link": lambda asked, seen: [f"click({'text=' + quoted(asked)[0]!r})"],
    "click-option": options,
    "click-tab": tab,
    "choose-list": choose,
    "enter-date": date,
    "enter-password": password,
    "enter-text": enter,
    "enter-text-dynamic": enter,
    "enter-time": time,
    "focus-text": lambda asked, seen: [click("#tt")],
    "focus-text-2": focus,
    "login-user": login,
    "simple-arithmetic": arithmetic,
    "use-spinner": spinner,
}


def folder(into):
    """The folder of the package's pages; none where it cannot be had."""
    if os.environ.get("PALESTRA_MINIWOB"):
        return os.environ["PALESTRA_MINIWOB"]
    # Without what it depends on: its pages need none of that.
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", into, PACKAGE]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=INSTALL_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return None
    return into if done.returncode == 0 else None


def archive(root, names):
    """The pages of these names with all that they share, as a tar archive; all pages without names."""
    [core] = glob.glob(os.path.join(root, "**", "core", "core.js"), recursive=True)
    top = os.path.dirname(os.path.dirname(core))
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as packed:
        for part in ["core", "common"]:
            packed.add(os.path.join(top, part), part)
        for path in sorted(glob.glob(os.path.join(top, "miniwob", "*.html"))):
            name = os.path.basename(path)
            if not names or name.removesuffix(".html") in names:
                packed.add(path, f"miniwob/{name}")
    return buffer.getvalue()


class Player:
    """Plays tasks of the published pages."""

    def __init__(self, server, first):
        self.server, self.first = server, first

    def opened(self, api, page, draw):
        """A session on a draw of a page: its address, what the page asks for, and what is seen of it."""
        task = {"split": "train", "seed": self.first[page] + draw * len(self.first)}
        session = api.post("/v1/sessions", {"environment": "web/miniwob", "task": task, "seed": 1})
        expect(session["task"]["template"] == page, f"the seed of {page} draws {session['task']['template']}")
        text = session["messages"][-1]["content"]
        return f"/v1/sessions/{session['id']}", text.split("\n", 1)[0], text

    def solve(self, page, draw):
        """Why a draw of a page is not solved; none where it is."""
        api = self.server.api()
        session, asked, seen = self.opened(api, page, draw)
        try:
            step = None
            for action in SOLUTIONS[page](asked, seen):
                step = api.post(f"{session}/step", {"action": {"text": action}})
                error = step["observation"]["data"]["error"]
                if error:
                    return f"{page} {asked!r}: {action}: {error}"
                if step["terminated"]:
                    break
            if not (step and step["terminated"] and step["verdict"]["score"] == 1.0):
                return f"{page} {asked!r}: {step and step.get('verdict')}"
            return None
        except (AttributeError, IndexError, ValueError) as error:
            return f"{page} {asked!r} has another form than its solution: {error}: {seen[:800]}"
        finally:
            api.call("DELETE", session)

    def guess(self, page, draw):
        """The score of clicking anywhere on a page."""
        api, rng = self.server.api(), random.Random(f"{page} {draw}")
        session, asked, _ = self.opened(api, page, draw)
        try:
            expect(asked, f"{page} does not say what it asks for")
            for _ in range(RANDOM_CLICKS):
                text = f"mouse_click({rng.randrange(SIZE[0])}, {rng.randrange(50, SIZE[1])})"
                step = api.post(f"{session}/step", {"action": {"text": text}})
                if step["terminated"]:
                    return step["verdict"]["score"]
            return 0.0
        finally:
            api.call("DELETE", session)

    def all(self, play, pages, draws):
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            asked = [(page, draw) for page in pages for draw in range(draws)]
            return asked, list(pool.map(lambda one: play(*one), asked))


def publish(api, packed):
    path = "/v1/environments?name=web/miniwob&trust_unproven=true"
    status, _, text = api.raw("POST", path, packed, {"content-type": "application/x-tar"})
    expect(status == 201, f"publishing answered {status}: {text[:2000].decode('utf-8', 'replace')}")
    return api.get("/v1/environments/web/miniwob"), json.loads(text)["notes"]


def run(short):
    with tempfile.TemporaryDirectory(prefix="palestra-miniwob-") as into:
        found = folder(into)
        if not found:
            not_tried("the pages of MiniWoB++", f"{PACKAGE} from the package index, or PALESTRA_MINIWOB")
            return "not tried"
        packed = archive(found, set(SOLUTIONS) if short else None)
    with Server("--sandbox", "local", "--browser-sessions-max", "8") as server:
        api = server.api()
        environment, notes = publish(api, packed)
        left_out = [note for note in notes if note.startswith("left out")]
        for note in left_out:
            print(note)
        expect(len(left_out) <= LEFT_OUT_MAX, f"{len(left_out)} pages cannot be played")
        count = environment["templates"]
        first = {}
        for task in api.get(f"/v1/environments/web/miniwob/tasks?split=train&limit={count}")["data"]:
            first[task["template"]] = task["index"]
        expect(len(first) == count, f"{len(first)} pages are drawn of {count}")
        player = Player(server, first)
        asked, faults = player.all(player.solve, [page for page in SOLUTIONS if page in first], 1 if short else SEEDS)
        for fault in filter(None, faults):
            print(fault)
        solved = collections.Counter(page for (page, _), fault in zip(asked, faults) if not fault)
        expect(len(solved) >= SOLVED_MIN, f"{len(solved)} pages are solved")
        figures = f"{count} pages, {len(left_out)} left out; {len(solved)} of {len(SOLUTIONS)} solved"
        if short:
            return figures
        guessed, scores = player.all(player.guess, sorted(first), RANDOM_SEEDS)
        share = sum(scores) / len(scores)
        lucky = sorted({page for (page, _), score in zip(guessed, scores) if score})
        print(f"clicks anywhere pass on {lucky}")
        expect(share <= RANDOM_PASSED_MAX, f"clicks anywhere pass {share:.3f} of {len(scores)} episodes")
        return f"{figures}; clicks anywhere pass {share:.3f} of {len(scores)} episodes"


if __name__ == "__main__":
    main(run)
