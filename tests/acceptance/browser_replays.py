"""An episode that was recorded in a browser: its replay is a page that needs nothing else, and Playwright's own viewer opens its trace."""

import functools
import http.server
import os
import shutil
import subprocess
import tempfile
import threading

import playwright
from browsergym_peer import chromium
from harness import ADMIN_KEY, Server, binary, expect, main
from playwright.sync_api import sync_playwright

TASK = {"split": "train", "seed": 3}
ACTIONS = [
    "click('role=link[name=\"Orders\"]')",
    "click('99999')",
    "go_back()",
    "screenshot(marks=True)",
    "send_msg_to_user('<script>document.title = \"taken\"</script></script><b>')",
]
VIEWER = os.path.join(os.path.dirname(playwright.__file__), "driver", "package", "lib", "vite", "traceViewer")


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Files of a folder, without a log."""

    def log_message(self, *_):
        pass


def play(api):
    """Plays and answers the episode."""
    body = {"environment": "app/shop", "task": TASK, "config": {"surface": "browser", "record": True}}
    session = api.post("/v1/sessions", body)
    for action in ACTIONS:
        api.post(f"/v1/sessions/{session['id']}/step", {"action": {"text": action}})
    api.delete(f"/v1/sessions/{session['id']}")
    return session["episode"]


def saved(server, episode, option, path):
    """Saves a recording by the command line."""
    command = [binary(), "replay", episode, option, path]
    told = {**os.environ, "PALESTRA_URL": server.url, "PALESTRA_API_KEY": ADMIN_KEY}
    done = subprocess.run(command, capture_output=True, text=True, env=told)
    expect(done.returncode == 0, f"palestra replay {option}: {done.stderr}")
    expect(f"{os.path.getsize(path)} bytes" in done.stdout, f"it said {done.stdout}")


def look_at_replay(browser, path):
    """Every step has its picture, and nothing is loaded from anywhere."""
    context = browser.new_context(offline=True)
    page, faults = context.new_page(), []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.goto(f"file://{path}")
    steps = page.locator("nav button")
    expected = ["The beginning", *ACTIONS]
    expect(steps.count() == len(expected), f"{steps.count()} steps are listed")
    for number, action in enumerate(expected):
        steps.nth(number).click()
        expect(action in page.locator("#step").inner_text(), f"step {number} is {page.locator('#step').inner_text()}")
        width = page.locator("#view img").evaluate("async (image) => { await image.decode(); return image.naturalWidth; }")
        expect(width == 1280, f"the picture of step {number} is {width} pixels wide")
    page.keyboard.press("ArrowUp")
    expect("screenshot" in page.locator("#step").inner_text(), "the arrow leads to no other step")
    steps.nth(1).click()
    expect("http://shop.test/orders" in page.locator("#view table").inner_text(), "the request is not listed")
    expect(page.title().startswith("Replay of epi_"), f"the title is {page.title()}: a text of the episode became a script")
    expect(not faults, f"the replay has faults: {faults}")
    context.close()


def look_at_trace(browser, folder):
    """Playwright's viewer lists the actions, with what they led to, and shows the pictures."""
    served = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=served.serve_forever, daemon=True).start()
    try:
        base = f"http://127.0.0.1:{served.server_port}"
        page = browser.new_page()
        page.goto(f"{base}/index.html?trace={base}/trace.zip")
        page.wait_for_selector(".action-title")
        titles = page.locator(".action-title").all_inner_texts()
        expect(len(titles) == len(ACTIONS), f"the viewer lists {titles}")
        expect("Orders" in titles[0], f"the first action is {titles[0]}")
        page.locator(".action-title").nth(0).click()
        page.get_by_text("Before", exact=True).click()
        shown = page.frame_locator("iframe.snapshot-visible").locator("img").first
        expect(shown.get_attribute("src").startswith("data:image/"), "there is no page before the first action")
        page.locator(".action-title").nth(1).click()
        page.get_by_text("Errors", exact=True).first.click()
        page.wait_for_selector("text=there is no element")
        page.get_by_text("Network", exact=True).first.click()
        page.wait_for_selector("text=orders")
        frames = page.locator(".film-strip-frame")
        expect(frames.count() > 0, "the viewer shows no pictures over time")
        shown = page.frame_locator("iframe.snapshot-visible").locator("img").first
        width = shown.evaluate("async (image) => { await image.decode(); return image.naturalWidth; }")
        expect(width == 1280, f"the page in the viewer is {width} pixels wide")
        page.close()
        return len(titles)
    finally:
        served.shutdown()


def run(_short):
    with tempfile.TemporaryDirectory() as folder, Server("--sandbox", "local", "--chromium", chromium()) as server:
        episode = play(server.api())
        viewer = os.path.join(folder, "viewer")
        shutil.copytree(VIEWER, viewer)
        replay, trace = os.path.join(folder, "replay.html"), os.path.join(viewer, "trace.zip")
        saved(server, episode, "--html", replay)
        saved(server, episode, "--trace", trace)
        with sync_playwright() as running:
            browser = running.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
            look_at_replay(browser, replay)
            listed = look_at_trace(browser, viewer)
            browser.close()
        sizes = f"replay {os.path.getsize(replay) >> 10} KiB, trace {os.path.getsize(trace) >> 10} KiB"
    return f"{listed} steps with their pictures in a page that stands alone, and in Playwright's viewer; {sizes}"


if __name__ == "__main__":
    main(run)
