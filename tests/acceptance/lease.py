"""A lease that expires closes its run's sessions as `invalid`, and nothing else."""

import time

from harness import Server, expect, main, new_id

LEASE_MS = 1_000
OTHER_LEASE_MS = 3_600_000
PATIENCE_S = 30
ENVIRONMENT = "bench/counter"


def open_session(api, **more):
    return api.post("/v1/sessions", {"environment": ENVIRONMENT, **more})


def run(short):
    """Opens sessions in a run that dies, in one that lives, and in none."""
    count = 5 if short else 200
    with Server() as server:
        api = server.api()
        dying = api.post("/v1/runs", {"id": new_id("run_"), "lease_ms": OTHER_LEASE_MS})["id"]
        living = api.post("/v1/runs", {"id": new_id("run_"), "lease_ms": OTHER_LEASE_MS})["id"]
        doomed = [open_session(api, run=dying) for _ in range(count)]
        judged = open_session(api, run=dying)
        verdict = api.post(f"/v1/sessions/{judged['id']}/verify", {})
        kept = [open_session(api, run=living) for _ in range(count)] + [open_session(api) for _ in range(count)]
        for session in doomed + kept:
            api.post(f"/v1/sessions/{session['id']}/step", {"seq": 1, "action": {"text": "1"}})
        # A run with a short lease of its own, so that nothing above has to hurry.
        short_lived = api.post("/v1/runs", {"id": new_id("run_"), "lease_ms": LEASE_MS})["id"]
        brief = [open_session(api, run=short_lived) for _ in range(count)]
        for session in brief:
            api.post(f"/v1/sessions/{session['id']}/step", {"seq": 1, "action": {"text": "1"}})
        began = time.monotonic()
        # Asking for the run itself would renew its lease.
        while any(api.get(f"/v1/sessions/{session['id']}")["state"] == "open" for session in brief):
            expect(time.monotonic() - began < PATIENCE_S, "sessions outlive the lease of their run")
            time.sleep(0.1)
        took = time.monotonic() - began
        state = api.get(f"/v1/runs/{short_lived}")["state"]
        expect(state == "expired", f"the run is {state}")
        api.delete(f"/v1/runs/{dying}")
        for session in brief + doomed:
            check_invalid(api, session)
        after = api.get(f"/v1/episodes/{judged['episode']}/verdicts")["data"]
        expect(after == [verdict], f"the verdict from before the end changed: {after}")
        for session in kept:
            expect(api.get(f"/v1/sessions/{session['id']}")["state"] == "open", f"{session['id']} was closed as well")
            api.post(f"/v1/sessions/{session['id']}/step", {"seq": 2, "action": {"text": "1"}})
    return f"{len(brief)} sessions closed as invalid {took:.1f} s after the last call, {len(kept)} others went on"


def check_invalid(api, session):
    found = api.get(f"/v1/sessions/{session['id']}")
    expect(found["closed_reason"] == "run_ended", f"{session['id']} was closed as {found['closed_reason']}")
    episode = api.get(f"/v1/episodes/{session['episode']}")
    status = (episode.get("verdict") or {}).get("status")
    expect(status == "invalid", f"{session['episode']} is {status}, not invalid")
    step = {"seq": 2, "action": {"text": "1"}}
    problem = api.post(f"/v1/sessions/{session['id']}/step", step, status=410)
    expect(problem["code"] == "session_over", f"a closed session answers {problem['code']}")


if __name__ == "__main__":
    main(run)
