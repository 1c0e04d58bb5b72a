import assert from "node:assert/strict";
import { test } from "node:test";
import { Backoff } from "../dist/backoff.js";

const OPTIONS = { backoffMs: 100, backoffMaxMs: 1_000, giveUpMs: 60_000 };

test("waits double up to the cap", () => {
  const backoff = new Backoff(OPTIONS, 0);
  for (const full of [100, 200, 400, 800, 1_000, 1_000]) {
    const wait = backoff.failed(0)!;
    assert(wait >= full / 2 && wait <= full, `${wait} of ${full}`);
  }
});

test("it gives up after the limit unless there was progress", () => {
  const backoff = new Backoff(OPTIONS, 0);
  assert(backoff.failed(59_990)! <= 10);
  backoff.lost(59_990, 59_980, true);
  assert.notEqual(backoff.failed(100_000), undefined);
  backoff.lost(100_000, 99_000, false);
  assert.equal(backoff.failed(59_990 + 60_000), undefined);
});

test("a connection that held for five seconds counts as a success", () => {
  const backoff = new Backoff(OPTIONS, 0);
  backoff.lost(59_000, 54_000, false);
  assert.equal(backoff.elapsed(60_000), 1_000);
});
