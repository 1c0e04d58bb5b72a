"""Kills under browsers: of Chromium, of a page's process, of the server. Others go on, sessions of a server come back with their
pages, what was lost is never a score, and nothing is left behind."""

import os
import signal

from harness import Server, expect, main
from sandbox_kills import alive, command_of, descendants, groups, mounts, until

ENVIRONMENT = "app/mail"
PROCESSES = 3
WARM = 1
# Where programs leave files that outlive them.
SHARED = ("/tmp", "/dev/shm")


def act(api, session, action):
    return api.post(f"/v1/sessions/{session['id']}/step", {"action": {"text": action}})


def open_sessions(api, count):
    """Sessions, each with a text of its own in the search box of its page."""
    sessions = []
    for index in range(count):
        task = {"split": "train", "seed": index}
        session = api.post("/v1/sessions", {"environment": ENVIRONMENT, "task": task, "config": {"surface": "browser"}})
        answer = act(api, session, f"fill('css=[type=search]', 'word{index}')")
        expect(f"word{index}" in answer["observation"]["text"], f"the page of session {index} does not show its text")
        sessions.append(session)
    return sessions


def is_as_it_was(api, session, index):
    text = act(api, session, "noop(0)")["observation"]["text"]
    return f"word{index}" in text


def words(pid):
    """A command by its words; Chromium's processes write theirs as one."""
    return " ".join(command_of(pid)).split()


def chromiums(server):
    """The first process of each Chromium below a server, and its pages' processes."""
    found = {}
    for pid, _ in descendants(server.process.pid):
        command = words(pid)
        if "--remote-debugging-pipe" in command and not any(word.startswith("--type=") for word in command):
            found[pid] = [child for child, _ in descendants(pid) if "--type=renderer" in words(child)]
    return found


def started(count):
    most = -(-count // PROCESSES)
    arguments = ["--browsers-max", str(PROCESSES), "--browser-sessions-max", str(most), "--browser-warm", str(WARM)]
    return Server("--sandbox", "local", *arguments)


def kill_chromium(count):
    """One Chromium dies: its sessions are no samples, all others go on, and the pool heals."""
    with started(count) as server:
        api = server.api()
        sessions = open_sessions(api, count)
        first = chromiums(server)
        expect(len(first) == PROCESSES, f"{len(first)} processes of Chromium for {count} sessions")
        os.kill(next(iter(first)), signal.SIGKILL)
        lost = 0
        for index, session in enumerate(sessions):
            answer = act(api, session, "noop(0)")
            if answer["stop_reason"] == "infra_error":
                verdict = api.post(f"/v1/sessions/{session['id']}/verify", {})
                expect(verdict["status"] == "infra_error" and verdict["score"] is None, f"a lost episode is {verdict['status']}")
                lost += 1
            else:
                expect(f"word{index}" in answer["observation"]["text"], f"session {index} changed when another's browser died")
        expect(lost == -(-count // PROCESSES), f"{lost} of {count} sessions were lost with one of {PROCESSES} processes")
        for session in sessions:
            api.delete(f"/v1/sessions/{session['id']}")
        again = open_sessions(api, count)
        expect(len(chromiums(server)) == PROCESSES, "the pool did not heal")
        for session in again:
            api.delete(f"/v1/sessions/{session['id']}")

        def at_its_floor():
            return all(len(pages) <= 2 * (WARM + 1) for pages in chromiums(server).values())

        until("the pool is back at its floor", at_its_floor)
        return lost


def kill_page(count):
    """The process of one page dies: its session says so and loads the page again, all others go on."""
    with started(count) as server:
        api = server.api()
        sessions = open_sessions(api, count)
        pages = [page for pages in chromiums(server).values() for page in pages]
        crashed = set()
        for page in pages:
            if crashed:
                break
            os.kill(page, signal.SIGKILL)
            for index, session in enumerate(sessions):
                answer = act(api, session, "noop(0)")
                expect(answer["stop_reason"] is None, f"session {index} ended with the page of one")
                if "crashed" in (answer["observation"]["data"]["error"] or ""):
                    crashed.add(index)
                else:
                    expect(f"word{index}" in answer["observation"]["text"], f"session {index} changed when a page of another died")
        expect(len(crashed) == 1, f"{len(crashed)} sessions noticed that one page died")
        answer = act(api, sessions[crashed.pop()], "reload()")
        expect("searchbox" in answer["observation"]["text"], "a page that crashed cannot be loaded again")


def kill_server(count):
    """The server dies: its browsers die with it, and its sessions come back with their pages."""
    before = {folder: set(os.listdir(folder)) for folder in SHARED}
    with started(count) as server:
        first = server.process.pid
        sessions = open_sessions(server.api(), count)
        below = descendants(first)
        expect(len(below) > count, f"{len(below)} processes for {count} sessions")
        server.kill()
        until("browsers die with their server", lambda: not alive(below))
        expect(not mounts(server.data), f"mounts are left: {mounts(server.data)}")
        server.start()
        api = server.api()
        until("control groups are swept", lambda: not groups(first))
        for index, session in enumerate(sessions):
            expect(is_as_it_was(api, session, index), f"session {index} came back with another page")
        for session in sessions:
            api.delete(f"/v1/sessions/{session['id']}")
        second, below = server.process.pid, descendants(server.process.pid)
        server.terminate()
        until("a server that stopped leaves no process", lambda: not alive(below))
        until("a server that stopped leaves no control group", lambda: not groups(second))
    for folder, names in before.items():
        left = [name for name in set(os.listdir(folder)) - names if "hromium" in name]
        expect(not left, f"left in {folder}: {left}")


def run(short):
    count = 6 if short else 30
    lost = kill_chromium(count)
    kill_page(count)
    kill_server(count)
    return f"{lost} of {count} sessions were lost with their Chromium, one page with its process, none with the server; nothing was left behind"


if __name__ == "__main__":
    main(run)
