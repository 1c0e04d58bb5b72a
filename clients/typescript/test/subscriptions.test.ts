import assert from "node:assert/strict";
import { test } from "node:test";
import type { SessionEvent } from "palestra";
import { Subscriptions } from "../dist/subscriptions.js";

const EVENTS_MAX = 4_096;

/** A frame that a subscription sent, whose answer the test gives. */
interface Sent {
  op: string;
  fields: () => { session: string; after?: string };
  answer: () => void;
}

function event(id: number): SessionEvent {
  return { id: String(id), session: "ses_1", type: "closed", reason: "deleted", ...({ type: "step" } as object) };
}

/** Subscriptions, and the frames that they sent. */
function opened(): { subscriptions: Subscriptions; sent: Sent[] } {
  const sent: Sent[] = [];
  const subscriptions = new Subscriptions((op, fields) => {
    return new Promise((resolve) => sent.push({ op, fields: fields as Sent["fields"], answer: () => resolve({}) }));
  });
  return { subscriptions, sent };
}

/** Lets everything run that waits for nothing but promises. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

test("events that overtake the confirmation move the point at which a new connection goes on", async () => {
  const { subscriptions, sent } = opened();
  const events = subscriptions.read("ses_1", "1");
  const first = events.next();
  await settled();
  assert.equal(sent[0]!.fields().after, "1");
  subscriptions.receive(event(2));
  assert.equal((await first).value?.id, "2");
  // The frame has no answer, so the stream itself keeps it: a second one would bring every event twice.
  subscriptions.renew();
  assert.equal(sent.length, 1);
  assert.equal(sent[0]!.fields().after, "2");
  sent[0]!.answer();
  await settled();
  subscriptions.renew();
  assert.deepEqual([sent.length, sent[1]!.op, sent[1]!.fields().after], [2, "subscribe", "2"]);
});

test("a reader that is slow gets every event in order", async () => {
  const { subscriptions, sent } = opened();
  const events = subscriptions.read("ses_1", undefined);
  const first = events.next();
  await settled();
  sent[0]!.answer();
  // The last ten find no room.
  for (let id = 1; id <= EVENTS_MAX + 10; id += 1) subscriptions.receive(event(id));
  assert.equal((await first).value?.id, "1");
  for (let id = 2; id <= EVENTS_MAX; id += 1) assert.equal((await events.next()).value?.id, String(id));
  const next = events.next();
  await settled();
  assert.equal(sent[1]!.op, "unsubscribe");
  subscriptions.receive(event(EVENTS_MAX + 11));
  sent[1]!.answer();
  await settled();
  assert.deepEqual([sent[2]!.op, sent[2]!.fields().after], ["subscribe", String(EVENTS_MAX)]);
  subscriptions.receive(event(EVENTS_MAX + 1));
  assert.equal((await next).value?.id, String(EVENTS_MAX + 1));
});

test("the events of a session have one reader", async () => {
  const { subscriptions, sent } = opened();
  const events = subscriptions.read("ses_1", undefined);
  void events.next();
  await settled();
  await assert.rejects(subscriptions.read("ses_1", undefined).next(), /ses_1 are read already/);
  subscriptions.receive(event(1));
  await settled();
  await events.return();
  const second = subscriptions.read("ses_1", undefined).next();
  await settled();
  sent[1]!.answer();
  await settled();
  subscriptions.receive(event(1));
  assert.equal((await second).value?.id, "1");
});
