"""100,000 live sessions created, stepped, forked and reaped: memory returns, and counts return to zero."""

import contextlib
import threading
import time

from harness import Api, Server, expect, main, new_id

LIVE_METRIC = "palestra_sessions_live"
FORKS_PER_PARENT = 100
LEASE_MS = 5_000
PATIENCE_S = 300
# A general-purpose allocator keeps some pages; more than this share of the growth left over is a leak.
LEFT_OVER_MAX = 0.35
SECOND_PEAK_MAX = 1.2


@contextlib.contextmanager
def renewed(server, run):
    """Keeps the lease of a run as a trainer does, beside the calls of the block."""
    done = threading.Event()

    def beat():
        api = Api(server.port)
        while not done.wait(LEASE_MS / 5_000):
            api.post(f"/v1/runs/{run}/heartbeat", None)

    heart = threading.Thread(target=beat)
    heart.start()
    try:
        yield
    finally:
        done.set()
        heart.join()


def cycle(server, api, sessions):
    """One wave; answers (RSS at the peak in MB, seconds of each phase)."""
    run = api.post("/v1/runs", {"id": new_id("run_"), "lease_ms": LEASE_MS})["id"]
    with renewed(server, run):
        ids, peak, times = wave(server, api, run, sessions)
    # Nobody renews the lease any more: the reaper ends the run.
    began = time.monotonic()
    while (live := api.metric(LIVE_METRIC)) > 0:
        expect(time.monotonic() - began < PATIENCE_S, f"{live:.0f} sessions are still live")
        time.sleep(0.25)
    for session in (ids[0], ids[-1]):
        expect(api.get(f"/v1/sessions/{session}")["state"] == "closed", f"{session} is not closed")
    return peak, (*times, time.monotonic() - began)


def wave(server, api, run, sessions):
    """Opens, steps and forks; answers the ids, the RSS in MB, and the seconds of each phase."""
    began = time.monotonic()
    forks = sessions // 10
    item = {"environment": "bench/counter", "task": {"split": "train", "index": 0}, "run": run}
    opened = api.batch("create", [item] * (sessions - forks))
    created = time.monotonic()
    ids = [session["id"] for session in opened]
    api.batch("step", [{"session": session, "seq": 1, "action": {"text": "1"}} for session in ids])
    stepped = time.monotonic()
    for parent in ids[: forks // FORKS_PER_PARENT]:
        copies = api.post(f"/v1/sessions/{parent}/fork", {"count": FORKS_PER_PARENT})["data"]
        ids += [copy["id"] for copy in copies]
    forked = time.monotonic()
    live = api.metric(LIVE_METRIC)
    expect(live == sessions, f"{live:.0f} sessions are live, not {sessions}")
    peak = server.rss_mb()
    return ids, peak, (created - began, stepped - created, forked - stepped)


def run(short):
    """Two waves: the second shows that the first one's memory is used again."""
    sessions = 2_000 if short else 100_000
    with Server("--sessions-max", "200000") as server:
        api = server.api()
        cycle(server, api, 1_000)
        before = server.rss_mb()
        first, times = cycle(server, api, sessions)
        after = server.rss_mb()
        second, _ = cycle(server, api, sessions)
        end = server.rss_mb()
    grown = max(first - before, 1)
    # A small wave drowns in the noise of the process itself.
    if not short:
        expect(end - before < LEFT_OVER_MAX * grown, f"RSS {before:.0f} MB before, {first:.0f} at the peak, {end:.0f} after")
        expect(second < SECOND_PEAK_MAX * first, f"the second peak is {second:.0f} MB, the first {first:.0f} MB")
    phases = ", ".join(f"{name} {value:.1f} s" for name, value in zip(("created", "stepped", "forked", "reaped"), times))
    return (
        f"{sessions} live sessions: {phases}; RSS {before:.0f} MB before, {first:.0f} at the peak, {after:.0f} after, "
        f"second wave {second:.0f} and {end:.0f}; live count 0"
    )


if __name__ == "__main__":
    main(run)
