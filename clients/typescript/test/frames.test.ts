import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, ClosedError, InterruptedError } from "palestra";
import { Frames } from "../dist/frames.js";

/** The ids of the frames that are sent now. */
function flushed(frames: Frames): number[] {
  const ids: number[] = [];
  frames.flush((text) => ids.push(JSON.parse(text).id));
  return ids;
}

test("frames beyond the limit wait for answers", async () => {
  const frames = new Frames(2, 1_000);
  const answers = [1, 2, 3].map((seq) => frames.add("step", { seq }, true));
  assert.deepEqual(flushed(frames), [1, 2]);
  frames.take(1)!.resolve("first");
  assert.deepEqual(flushed(frames), [3]);
  assert.equal(await answers[0], "first");
  assert.equal(frames.take(1), undefined);
});

test("unanswered frames are sent again before those that were never sent", async () => {
  const frames = new Frames(3, 1_000);
  for (let seq = 1; seq <= 5; seq += 1) void frames.add("step", { seq }, true);
  assert.deepEqual(flushed(frames), [1, 2, 3]);
  frames.take(2)!.resolve(undefined);
  frames.requeue();
  void frames.add("step", { seq: 6 }, true);
  assert.deepEqual(flushed(frames), [1, 3, 4]);
});

test("a frame that might act twice fails once it was sent, and only then", async () => {
  const frames = new Frames(1, 1_000);
  const [sent, queued] = [frames.add("step", {}, false), frames.add("step", {}, false)];
  assert.deepEqual(flushed(frames), [1]);
  frames.requeue();
  await assert.rejects(sent, InterruptedError);
  assert.deepEqual(flushed(frames), [2]);
  frames.take(2)!.resolve("acted");
  assert.equal(await queued, "acted");
});

test("a frame larger than the server reads is refused, counted in bytes of UTF-8", async () => {
  const frames = new Frames(1, 60);
  await assert.rejects(frames.add("step", { text: "é".repeat(30) }, true), /too_large.*frame of 9\d bytes.*the 60 /);
  void frames.add("step", { text: "e".repeat(20) }, true);
  assert.deepEqual(flushed(frames), [2]);
});

test("a smaller bound fails the frames beyond it and leaves the others", async () => {
  const frames = new Frames(2, 1_000);
  const large = frames.add("step", { text: "a".repeat(500) }, true);
  void frames.add("step", { text: "a" }, true);
  flushed(frames);
  frames.requeue();
  frames.bound(200);
  await assert.rejects(large, (error) => error instanceof ApiError && error.code === "too_large");
  assert.deepEqual(flushed(frames), [2]);
});

test("what is changed after a call is not sent", () => {
  const frames = new Frames(1, 1_000);
  const fields = { seq: 1 };
  void frames.add("step", fields, true);
  fields.seq = 2;
  let text = "";
  frames.flush((sent) => (text = sent));
  assert.equal(JSON.parse(text).seq, 1);
});

test("the end fails sent, queued and later frames", async () => {
  const frames = new Frames(1, 1_000);
  const [sent, queued] = [frames.add("step", {}, true), frames.add("step", {}, true)];
  flushed(frames);
  frames.end(new ClosedError());
  frames.end(new Error("a second end"));
  for (const answer of [sent, queued, frames.add("step", {}, true)]) await assert.rejects(answer, ClosedError);
});
