"""Pages of the shipped apps in a person's browser, at the width of a desk and of a phone: nothing is cut, nothing lies over another
thing, axe-core finds no fault, Back and reload work, and the task can be ended. The pictures are kept."""

import os
import tempfile

from axe_playwright_python.sync_playwright import Axe
from browsergym_peer import chromium
from harness import Server, expect, main
from playwright.sync_api import sync_playwright

APPS = ["bank", "calendar", "chat", "files", "helpdesk", "mail", "phone", "retail", "sheet", "shop", "travel", "workspace"]
SIZES = [(1280, 900), (390, 844)]
PAGES_LONG, PAGES_SHORT = 30, 1
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
# What is cut off, and which two controls lie over each other, in pixels.
FAULTS = """() => {
  const shown = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const name = (element) => element.tagName.toLowerCase() + ' ' + (element.innerText || element.getAttribute('aria-label') || '').slice(0, 40);
  const faults = [];
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide > 0) faults.push(`the page is ${wide} pixels wider than the window`);
  for (const element of document.querySelectorAll('main *, header *, nav *')) {
    const style = getComputedStyle(element);
    const hides = style.overflowX === 'hidden' && style.textOverflow !== 'ellipsis';
    if (hides && shown(element) && element.clientWidth > 1 && element.scrollWidth > element.clientWidth + 1) faults.push('cut: ' + name(element));
  }
  const controls = [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea')].filter(shown);
  // The part that shows: lines beyond those that a title may have are hidden.
  const part = (element) => {
    let { left, right, top, bottom } = element.getBoundingClientRect();
    for (let around = element.parentElement; around; around = around.parentElement) {
      if (getComputedStyle(around).overflowY === 'visible') continue;
      const box = around.getBoundingClientRect();
      [left, right, top, bottom] = [Math.max(left, box.left), Math.min(right, box.right), Math.max(top, box.top), Math.min(bottom, box.bottom)];
    }
    return { left, right, top, bottom };
  };
  const boxes = controls.map((element) => [element, part(element)]).filter(([, box]) => box.right - box.left > 1 && box.bottom - box.top > 1);
  for (let i = 0; i < boxes.length; i += 1) {
    for (let j = i + 1; j < boxes.length; j += 1) {
      const [[one, a], [other, b]] = [boxes[i], boxes[j]];
      if (one.contains(other) || other.contains(one)) continue;
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      const layered = (element) => element.closest('[popover], dialog, .skip, [style*=fixed]') || getComputedStyle(element.closest('header, nav') || element).position === 'sticky' || getComputedStyle(element.closest('header, nav') || element).position === 'fixed';
      if (across > 3 && down > 3 && !layered(one) && !layered(other)) faults.push(`${name(one)} lies over ${name(other)}`);
    }
  }
  return faults;
}"""


def addresses(page, base, most):
    """Addresses of an app's pages: home, those that the navigation names, and the first row of each."""
    page.goto(base)
    links = "[...document.querySelectorAll('nav a[href]')].map((link) => link.href)"
    # Home has an address with a slash at its end and one without.
    found = list({address.rstrip("/"): address for address in [page.url, *page.evaluate(links)]}.values())
    rows = []
    for address in found:
        page.goto(address)
        row = page.query_selector("main a.row-link, main table a[href], main ul a[href]")
        if row:
            rows.append(row.evaluate("(link) => link.href"))
        if len(found) + len(rows) >= most:
            break
    return list(dict.fromkeys([*found, *rows]))[:most]


def look(page, app, number, address, width, folder):
    """Faults of one page at one width."""
    page.goto(address)
    faults = page.evaluate(FAULTS)
    report = Axe().run(page, options=RULES)
    faults += [f"{fault['id']} ({fault['impact']}): {fault['nodes'][0]['html'][:120]}" for fault in report.response["violations"]]
    page.screenshot(path=os.path.join(folder, f"{app}-{number}-{width}.png"))
    return [f"{app} {address.rsplit('/page/', 1)[-1].partition('/')[2]} at {width}: {fault}" for fault in faults]


def walk(page, found):
    """Back and reload show the pages that one expects."""
    expect(len(found) > 1, f"there is one page alone: {found}")
    page.goto(found[0])
    page.goto(found[1])
    title = page.title()
    page.go_back()
    expect(page.url.rstrip("/") == found[0].rstrip("/"), f"Back leads to {page.url}")
    page.go_forward()
    page.reload()
    expect((page.url, page.title()) == (found[1], title), f"a reload shows {page.title()} at {page.url}")


def end(page, base):
    """Ends the task by the bar at the top."""
    page.goto(base)
    page.get_by_role("button", name="End the task").first.click()
    dialog = page.get_by_role("dialog", name="End the task")
    dialog.get_by_label("The task is").select_option("impossible")
    dialog.get_by_role("button", name="End the task").click()
    page.wait_for_selector("text=over")


def run(short):
    report = os.environ.get("PALESTRA_TEST_REPORT")
    folder = os.path.join(report, "pages") if report else tempfile.mkdtemp(prefix="palestra-pages-")
    os.makedirs(folder, exist_ok=True)
    looked, faults = 0, []
    with Server() as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        api = server.api()
        for place, app in enumerate(APPS):
            # In the short form every other app is seen on a desk, and the rest on a phone.
            sizes = [SIZES[place % len(SIZES)]] if short else SIZES
            # To open a page is a step, and many are opened before the task is ended.
            task, config = {"split": "train", "seed": 3}, {"surface": "gui"}
            body = {"environment": f"app/{app}", "task": task, "config": config, "limits": {"steps": 100_000}}
            session = api.post("/v1/sessions", body)
            base = server.url + session["page"]
            for width, height in sizes:
                page = browser.new_page(viewport={"width": width, "height": height})
                most = PAGES_SHORT if short else PAGES_LONG
                found = addresses(page, base, max(most, 2))
                for number, address in enumerate(found[:most]):
                    faults += look(page, app, number, address, width, folder)
                    looked += 1
                walk(page, found)
                page.close()
            page = browser.new_page()
            end(page, base)
            page.close()
            episode = api.get(f"/v1/episodes/{session['episode']}")
            expect(episode["terminated"], f"the task of {app} was not ended by its bar: {episode['state']}")
        browser.close()
    expect(not faults, f"{len(faults)} faults of pages:\n" + "\n".join(faults[:40]))
    return f"{looked} views of pages of {len(APPS)} apps without a fault; pictures in {folder}"


if __name__ == "__main__":
    main(run)
