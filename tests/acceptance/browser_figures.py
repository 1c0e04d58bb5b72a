"""Sessions in Palestra's browser beside Playwright with BrowserGym's tree of the same page: openings, steps, pictures, forks, memory, how many
at once."""

import collections
import glob
import json
import os
import re
import statistics
import threading
import time

from browsergym_peer import VIEWPORT, Sites, chromium, page_of, tree_of
from harness import Server, binary, expect, main

APP = "shop"
TASK = {"split": "train", "seed": 3}
HOST = f"http://{APP}.test"
LIMITS = {"steps": 1_000_000}
ROUNDS_LONG, ROUNDS_SHORT = 15, 2
STEPS_A_ROUND = 4
# Live sessions whose memory is looked at, and those that step at once.
CROWDS_LONG, CROWDS_SHORT = [1, 10, 20], [1, 2]
STEPPING_LONG, STEPPING_SHORT = [1, 2, 5, 10, 20, 40, 60], [1, 2]
STEPPING_SECONDS_LONG, STEPPING_SECONDS_SHORT = 10, 2
OPEN_TARGET_MS, STEP_TARGET_MS, FORK_TARGET_MS = 120, 40, 300


def timed(work):
    began = time.perf_counter()
    found = work()
    return (time.perf_counter() - began) * 1_000, found


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def children(parent):
    """A process and all that come from it."""
    found, waiting = [], [parent]
    parents = collections.defaultdict(list)
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as file:
                words = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        parents[int(words[1])].append(int(path.split("/")[2]))
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += parents[one]
    return found


def memory_mb(parent):
    """Proportional and private memory of all Chromium processes below a process."""
    shares = collections.Counter()
    for process in children(parent):
        try:
            with open(f"/proc/{process}/cmdline") as file:
                if "chrom" not in file.read().split("\0")[0]:
                    continue
            with open(f"/proc/{process}/smaps_rollup") as file:
                for name, size in re.findall(r"^(Pss|Private_Clean|Private_Dirty):\s+(\d+) kB", file.read(), re.M):
                    shares["pss" if name == "Pss" else "private"] += int(size) / 1024
        except OSError:
            continue
    return {"pss": shares["pss"], "private": shares["private"]}


class Palestra:
    """Sessions over HTTP, one connection each."""

    def __init__(self, server):
        self.server = server
        self.process = server.process.pid

    def open(self):
        api = self.server.api()
        asked = {"environment": f"app/{APP}", "task": TASK, "config": {"surface": "browser"}, "limits": LIMITS}
        opened = api.post("/v1/sessions", asked)
        text = opened["observation"]["text"]
        expect("searchbox 'Search products'" in text, f"a session shows {text[:500]}")
        return api, opened["id"], re.search(r"\[(\d+)\] DisclosureTriangle 'More'", text).group(1)

    def step(self, session):
        api, name, bid = session
        answer = api.post(f"/v1/sessions/{name}/step", {"action": {"text": f"click('{bid}')"}})
        expect("DisclosureTriangle 'More', focused" in answer["observation"]["text"], f"a step shows {answer['observation']['text'][:500]}")

    def screenshot(self, session):
        api, name, _ = session
        answer = api.post(f"/v1/sessions/{name}/step", {"action": {"text": "screenshot()"}})
        expect(answer["observation"]["content"][0]["width"] == VIEWPORT["width"], f"a picture is {answer['observation']['content']}")

    def fork(self, session):
        """A copy of app and page, up to its first look."""
        api, name, bid = session
        copy = api.post(f"/v1/sessions/{name}/fork", {"count": 1})["data"][0]["id"]
        text = api.post(f"/v1/sessions/{copy}/step", {"action": {"text": "noop(0)"}})["observation"]["text"]
        expect("DisclosureTriangle 'More', focused" in text, f"a copy shows {text[:500]}")
        return api, copy, bid

    def close(self, session):
        session[0].delete(f"/v1/sessions/{session[1]}")


class Playwright:
    """Contexts of the same Chromium, and BrowserGym's tree after each click."""

    def __init__(self, sites):
        from playwright.sync_api import sync_playwright

        self.playwright = sync_playwright().start()
        self.playwright.selectors.set_test_id_attribute("bid")
        self.browser = self.playwright.chromium.launch(executable_path=chromium(), args=["--disable-gpu"])
        self.proxy = {"server": sites.url}
        self.process = os.getpid()

    def look(self, page):
        from browsergym.core.observation import _post_extract, _pre_extract, extract_merged_axtree

        _pre_extract(page)
        text, _ = tree_of(extract_merged_axtree(page))
        _post_extract(page)
        return text

    def open(self):
        context = self.browser.new_context(viewport=VIEWPORT, locale="en-US", timezone_id="UTC", proxy=self.proxy)
        page = context.new_page()
        page.goto(f"{HOST}/")
        text = self.look(page)
        expect("searchbox 'Search products'" in text, f"a page shows {text[:500]}")
        return context, page, re.search(r"\[(\d+)\] DisclosureTriangle 'More'", text).group(1)

    def step(self, session):
        _, page, bid = session
        page.get_by_test_id(bid).click(timeout=5_000)
        expect("DisclosureTriangle 'More', focused" in self.look(page), "a step shows something else")

    def screenshot(self, session):
        session[1].screenshot()

    def close(self, session):
        session[0].close()

    def end(self):
        self.browser.close()
        self.playwright.stop()


def compared(sides, rounds):
    """Openings, steps and pictures of all sides, in turn, and forks of those that have them."""
    times = {name: collections.defaultdict(list) for name in sides}
    for name, side in sides.items():
        side.close(side.open())
    for _ in range(rounds):
        for name, side in sides.items():
            # Contexts that are kept ready are made meanwhile.
            time.sleep(0.5)
            taken, session = timed(side.open)
            times[name]["open"].append(taken)
            side.step(session)
            times[name]["step"] += [timed(lambda: side.step(session))[0] for _ in range(STEPS_A_ROUND)]
            times[name]["screenshot"].append(timed(lambda: side.screenshot(session))[0])
            if hasattr(side, "fork"):
                taken, copy = timed(lambda: side.fork(session))
                times[name]["fork"].append(taken)
                side.close(copy)
            side.close(session)
    return times


def memory(sides, crowds):
    """Memory of the browsers with so many live sessions, one side after the other."""
    found = {name: {} for name in sides}
    for name, side in sides.items():
        live = []
        for count in crowds:
            while len(live) < count:
                live.append(side.open())
            time.sleep(1)
            found[name][count] = memory_mb(side.process)
        for session in live:
            side.close(session)
    return found


def stepping(side, counts, seconds):
    """Steps a second of so many live sessions, each of which steps as soon as it is answered."""
    found, live = {}, []
    for count in counts:
        while len(live) < count:
            live.append(side.open())
        end, taken = time.monotonic() + seconds, []

        def work(session):
            while time.monotonic() < end:
                taken.append(timed(lambda: side.step(session))[0])

        workers = [threading.Thread(target=work, args=(session,)) for session in live]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        expect(len(taken) >= count, f"only {len(taken)} steps of {count} sessions in {seconds} s")
        found[count] = {"steps_per_s": len(taken) / seconds, "p50_ms": quantile(taken, 0.5), "p95_ms": quantile(taken, 0.95)}
        print(json.dumps({"live": count, **found[count]}), flush=True)
    for session in live:
        side.close(session)
    return found


def table(times, held, live):
    """The figures as tables."""
    rows = ["| | p50 ms | p95 ms | n |", "| --- | --- | --- | --- |"]
    for what in ("open", "step", "screenshot", "fork"):
        for name, found in times.items():
            values = found[what]
            if not values:
                continue
            rows.append(f"| {what}, {name} | {quantile(values, 0.5):.0f} | {quantile(values, 0.95):.0f} | {len(values)} |")
    rows += ["", "| live sessions | browser | PSS MB | private MB | private MB a session |", "| --- | --- | --- | --- | --- |"]
    for name, found in held.items():
        for count, one in found.items():
            rows.append(f"| {count} | {name} | {one['pss']:.0f} | {one['private']:.0f} | {one['private'] / count:.0f} |")
    rows += ["", "| live sessions | steps/s | p50 ms | p95 ms |", "| --- | --- | --- | --- |"]
    rows += [f"| {count} | {one['steps_per_s']:.1f} | {one['p50_ms']:.0f} | {one['p95_ms']:.0f} |" for count, one in live.items()]
    return "\n".join(rows)


def run(short):
    """The figures belong to the machine and to what else it does: none decides whether the line holds."""
    rounds = ROUNDS_SHORT if short else ROUNDS_LONG
    crowds = CROWDS_SHORT if short else CROWDS_LONG
    arguments = ["--sandbox", "local", "--chromium", chromium(), "--browsers-max", "4", "--browser-sessions-max", "20"]
    with Server(*arguments) as server:
        sites = Sites(server.port, keeps=True)
        sites.bases[f"{APP}.test"] = page_of(server.api(), APP, TASK)
        ours = Palestra(server)
        theirs = Playwright(sites)
        try:
            sides = {"Palestra": ours, "Playwright and BrowserGym": theirs}
            times = compared(sides, rounds)
            held = memory(sides, crowds)
        finally:
            theirs.end()
            sites.close()
        seconds = STEPPING_SECONDS_SHORT if short else STEPPING_SECONDS_LONG
        live = stepping(ours, STEPPING_SHORT if short else STEPPING_LONG, seconds)
    print(table(times, held, live))
    print(json.dumps({"binary": os.path.basename(binary()), "times": times, "memory": held, "stepping": live}))
    opened, stepped, forked = (statistics.median(times["Palestra"][what]) for what in ("open", "step", "fork"))
    most = max(live.items(), key=lambda one: one[1]["steps_per_s"])
    return (
        f"opening p50 {opened:.0f} ms (target {OPEN_TARGET_MS}), act and observe p50 {stepped:.0f} ms (target {STEP_TARGET_MS}), "
        f"fork p50 {forked:.0f} ms (target {FORK_TARGET_MS}), "
        f"up to {most[1]['steps_per_s']:.0f} steps/s with {most[0]} live sessions, {max(live)} live at once"
    )


if __name__ == "__main__":
    main(run)
