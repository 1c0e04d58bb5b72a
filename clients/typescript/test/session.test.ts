import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Action, ApiError, Client, Session, type Stream, type Verdict } from "palestra";
import { Server } from "./server.ts";

const COUNTER = { environment: "bench/counter" };

let server: Server;
let stream: Stream;
before(async () => {
  server = await Server.start();
  stream = await server.client().stream();
});
after(async () => {
  stream.close();
  await server[Symbol.asyncDispose]();
});

const add = (amount: number): Action => ({ tool: "add", arguments: { amount } });
const coded = (code: string) => (error: unknown) => error instanceof ApiError && error.code === code;
const count = ({ observation }: { observation: { data?: unknown } }) => (observation.data as { count: number }).count;

/** The number that a task of `bench/counter` asks for. */
const target = (session: Session) => Number(/exactly (\d+)/.exec(session.opened.observation.text)![1]);

test("an episode is played and judged", async () => {
  await using session = await stream.open({ ...COUNTER, task: { split: "train", seed: 7 } });
  assert.match(session.id, /^ses_[0-9a-f]{32}$/);
  const stepped = await session.step(add(target(session)), { meta: { tokens: [1, 2] }, observe: { state_hash: true } });
  assert.match(stepped.info.state_hash!, /^sha256:/);
  assert.equal((await session.verify({ probe: true })).score, 1);
  const verdict = await session.verify();
  assert.deepEqual([verdict.status, verdict.score, verdict.episode], ["scored", 1, session.episode]);
  await assert.rejects(session.step(add(1)), coded("episode_over"));
});

test("a session is closed at the end of its block", async () => {
  let id = "";
  {
    await using session = await stream.open(COUNTER);
    id = session.id;
  }
  const info = await server.client().request("get", "/v1/sessions/{id}", { path: { id } });
  assert.deepEqual([info.state, info.closed_reason], ["closed", "deleted"]);
});

test("an episode that is finished has a verdict, one that is aborted is no sample", async () => {
  const session = await stream.open(COUNTER);
  const finished = await session.finish("gave_up");
  assert.deepEqual([finished.truncated, finished.verdict?.status, finished.verdict?.score], [true, "scored", 0]);
  await session.reset();
  const aborted = await session.finish("aborted", "the policy broke");
  assert.deepEqual([aborted.verdict?.status, aborted.verdict?.detail?.includes("the policy broke")], ["invalid", true]);
});

test("a reset begins to count anew, and an older handle does not act in the new episode", async () => {
  const session = await stream.open(COUNTER);
  await session.step(add(1));
  const older = new Session(stream, session.opened);
  // The same step again has the same answer.
  assert.equal(count(await older.step(add(1))), 1);
  const [episode, opened] = [session.episode, await session.reset()];
  assert.notEqual(session.episode, episode);
  assert.deepEqual([session.seq, session.opened], [0, opened]);
  await assert.rejects(older.step(add(1)), coded("wrong_episode"));
  await assert.rejects(older.finish("gave_up"), coded("wrong_episode"));
  assert.equal(count(await session.step(add(5))), 5);
});

test("numbers go on behind the last step that was taken when steps fail", async () => {
  const session = await stream.open(COUNTER);
  await session.step(add(1));
  const outcomes = await Promise.allSettled([session.step({} as Action), session.step(add(1)), session.step(add(1))]);
  const codes = outcomes.map((outcome) => outcome.status === "rejected" && (outcome.reason as ApiError).code);
  assert.deepEqual(codes, ["invalid", "step_ahead", "step_ahead"]);
  assert.deepEqual([session.seq, count(await session.step(add(1))), session.seq], [1, 2, 2]);
});

test("a fork goes on by itself, from now or from an earlier step", async () => {
  const session = await stream.open(COUNTER);
  await session.step(add(1));
  await session.step(add(10));
  const [one, two] = await session.fork({ count: 2, randomness: "split" });
  assert.deepEqual([one!.seq, one!.opened.parent], [2, session.id]);
  assert.deepEqual([count(await one!.step(add(100))), count(await two!.step(add(200)))], [111, 211]);
  const [early] = await session.fork({ at_seq: 1 });
  assert.equal(count(await early!.step(add(1_000))), 1_001);
  assert.equal(count(await session.step(add(1))), 12);
});

test("a snapshot is restored in a new episode, whose steps go on behind it", async () => {
  const session = await stream.open(COUNTER);
  await session.step(add(3));
  const snapshot = await session.snapshot("three");
  assert.deepEqual([snapshot.name, snapshot.seq], ["three", 1]);
  assert.equal((await session.snapshot()).name ?? null, null);
  await session.step(add(1));
  const episode = session.episode;
  await session.restore(snapshot.id);
  assert.notEqual(session.episode, episode);
  const stepped = await session.step(add(1));
  assert.deepEqual([stepped.seq, count(stepped)], [2, 4]);
  await assert.rejects(session.restore(`snap_${"0".repeat(32)}`), coded("not_found"));
});

test("a group plays one task", async () => {
  const group = await stream.openGroup({ ...COUNTER, count: 3 });
  assert.equal(group.length, 3);
  assert.equal(new Set(group.map((session) => session.id)).size, 3);
  for (const value of ["group", "task"] as const) {
    assert.equal(new Set(group.map((session) => JSON.stringify(session.opened[value]))).size, 1);
  }
});

test("a batch has an outcome for each step, in order, and a wrong step fails alone", async () => {
  const [one, two, three] = await stream.openGroup({ ...COUNTER, count: 3 });
  await two!.close();
  const outcomes = await stream.steps([
    { session: one!, action: add(1) },
    { session: two!, action: add(1) },
    { session: one!, action: add(1), meta: { second: true } },
    { session: three!, action: add(5) },
  ]);
  const seen = outcomes.map((outcome) => ("ok" in outcome ? count(outcome.ok) : outcome.error.code));
  assert.deepEqual(seen, [1, "session_over", 2, 5]);
  assert(outcomes[1] && "error" in outcomes[1] && outcomes[1].error instanceof ApiError);
  const again = await stream.steps([{ session: one!, action: add(1) }, { session: three!, action: add(1) }]);
  assert.deepEqual(again.map((outcome) => "ok" in outcome && outcome.ok.seq), [3, 2]);
  assert.deepEqual(await stream.steps([]), []);
});

test("the token of a session acts in this session alone", async () => {
  const session = await stream.open(COUNTER);
  using agent = await new Client({ url: server.url, key: session.opened.token! }).stream();
  const inside = new Session(agent, session.opened);
  assert.equal(count(await inside.step(add(2))), 2);
  await assert.rejects(inside.verify(), coded("forbidden"));
});

test("a verdict that takes longer than the server waits is asked for again", async () => {
  const verdict = { status: "scored", score: 1 } as Verdict;
  const answers: unknown[] = [{ episode: "epi_1" }, { episode: "epi_1" }, verdict];
  const asked: unknown[] = [];
  const carrier = { call: async (...frame: unknown[]) => (asked.push(frame), answers.shift()), events: stream.events };
  const opened = { id: "ses_1", episode: "epi_1", seq: 0 } as Session["opened"];
  const session = new Session(carrier as unknown as Stream, opened);
  assert.equal(await session.verify(), verdict);
  assert.deepEqual(asked, Array(3).fill(["verify", { session: "ses_1" }]));
});
