import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Action, ApiError, Client, ClosedError, GaveUpError, InterruptedError, Session, type Stream } from "palestra";
import { KEY, Server, freePort } from "./server.ts";
import { Proxy, cutAtRandom, passAll, randomFrom } from "./proxy.ts";

const QUICK = { backoffMs: 1, backoffMaxMs: 20 };
const COUNTER = { environment: "bench/counter" };
const NO_SESSION = `ses_${"0".repeat(32)}`;

let server: Server;
before(async () => {
  server = await Server.start();
});
after(() => server[Symbol.asyncDispose]());

const add = (amount: number): Action => ({ tool: "add", arguments: { amount } });
const clientOf = (proxy: Proxy): Client => new Client({ url: proxy.url, key: KEY });
const coded = (code: string) => (error: unknown) => error instanceof ApiError && error.code === code;

/** The count that an answer shows. */
function count({ observation }: { observation: { data?: unknown } }): number {
  return (observation.data as { count: number }).count;
}

/** Takes `steps` steps that each add 1. An answer that was lost, or a step that acted twice, shows in the count. */
async function play(session: Session, steps: number): Promise<void> {
  for (let seq = 1; seq <= steps; seq += 1) {
    const stepped = await session.step(add(1));
    assert.deepEqual([stepped.seq, count(stepped)], [seq, seq]);
  }
}

/** The numbers and counts of the steps that the server stored. */
async function stored(session: Session): Promise<[number, number][]> {
  const path = { id: session.episode };
  const trajectory = await server.client().request("get", "/v1/episodes/{id}/trajectory", { path });
  assert(!(trajectory instanceof Response));
  return trajectory.steps.map((step) => [step.seq, count(step.answer)]);
}

/** The rows from 1 to `steps`. */
const ramp = (steps: number): [number, number][] => Array.from({ length: steps }, (_, row) => [row + 1, row + 1]);

/** Cuts the connection when the next answer comes, before any of it is passed on. */
function cutNextAnswer(proxy: Proxy): void {
  proxy.policy = (_, direction, bytes) => {
    if (direction === "sent") return bytes;
    proxy.policy = passAll;
    return 0;
  };
}

for (const seed of [1, 2, 3]) {
  test(`no step of many sessions is lost or repeated over connections that are cut at random, seed ${seed}`, async () => {
    const [sessions, steps] = [16, 25];
    await using proxy = await Proxy.start(server.port);
    proxy.policy = cutAtRandom(randomFrom(seed), 1_000, 20_000);
    await using run = await server.client().run({ leaseMs: 60_000 });
    using stream = await clientOf(proxy).stream(QUICK);
    const opened = await Promise.all(
      Array.from({ length: sessions }, () => stream.open({ ...COUNTER, run: run.id })),
    );
    await Promise.all(opened.map((session) => play(session, steps)));
    for (const session of opened) assert.deepEqual(await stored(session), ramp(steps));
    const listed = await server.client().request("get", "/v1/sessions", { query: { run: run.id, limit: 1_000 } });
    assert.equal(listed.data.length, sessions);
    assert(proxy.cuts > 10 && stream.reconnects > 10, `${proxy.cuts} cuts, ${stream.reconnects} reconnects`);
  });
}

test("pipelined steps of one session stay in order over cut connections", async () => {
  const steps = 60;
  await using proxy = await Proxy.start(server.port);
  using stream = await clientOf(proxy).stream(QUICK);
  const session = await stream.open(COUNTER);
  // With 60 frames to send again, a connection has to bring some answers behind them.
  proxy.policy = cutAtRandom(randomFrom(4), 14_000, 20_000);
  proxy.connections[0]!.cut();
  const stepped = await Promise.all(ramp(steps).map(() => session.step(add(1))));
  assert.deepEqual(stepped.map((step) => [step.seq, count(step)]), ramp(steps));
  assert.deepEqual(await stored(session), ramp(steps));
  assert(stream.reconnects > 1, `${stream.reconnects} reconnects`);
});

test("creations, forks, snapshots and restores act once over cut connections", async () => {
  const families = 8;
  await using proxy = await Proxy.start(server.port);
  proxy.policy = cutAtRandom(randomFrom(5), 1_000, 12_000);
  await using run = await server.client().run({ leaseMs: 60_000 });
  using stream = await clientOf(proxy).stream(QUICK);
  const live = async (): Promise<void> => {
    const session = await stream.open({ ...COUNTER, run: run.id });
    await play(session, 2);
    const snapshot = await session.snapshot("two");
    const [fork] = await session.fork();
    assert.equal(count(await fork!.step(add(10))), 12);
    await session.reset();
    await play(session, 1);
    await session.restore(snapshot.id);
    assert.equal(count(await session.step(add(5))), 7);
    assert.equal((await session.verify()).status, "scored");
    const path = { id: session.id };
    const info = await server.client().request("get", "/v1/sessions/{id}", { path });
    assert("episodes" in info && info.episodes === 3);
    assert.equal((await server.client().request("get", "/v1/sessions/{id}/snapshots", { path })).data.length, 1);
    assert.equal((await session.close()).state, "closed");
  };
  await Promise.all(Array.from({ length: families }, live));
  const listed = await server.client().request("get", "/v1/sessions", { query: { run: run.id, limit: 1_000 } });
  assert.equal(listed.data.length, 2 * families);
  assert(stream.reconnects > 5, `${stream.reconnects} reconnects`);
});

test("a step without seq whose answer is lost fails as interrupted, and acted once", async () => {
  await using proxy = await Proxy.start(server.port);
  using stream = await clientOf(proxy).stream(QUICK);
  const session = await stream.open(COUNTER);
  cutNextAnswer(proxy);
  await assert.rejects(stream.call("step", { session: session.id, action: add(1) }), InterruptedError);
  // It was taken all the same: the same step with its number gets the stored answer, over the next connection.
  assert.equal(count(await stream.call("step", { session: session.id, seq: 1, action: add(1) })), 1);
  const batch = { items: [{ session: session.id, action: add(1) }] };
  cutNextAnswer(proxy);
  await assert.rejects(stream.call("steps", batch), InterruptedError);
  const next = await stream.call("step", { session: session.id, seq: 3, action: add(1) });
  assert.equal(count(next), 3);
});

for (const signal of ["SIGTERM", "SIGKILL"] as const) {
  test(`a stream outlives a server that is ended by ${signal}`, async () => {
    using stream = await server.client().stream(QUICK);
    const sessions = await Promise.all(Array.from({ length: 4 }, () => stream.open(COUNTER)));
    await Promise.all(sessions.map((session) => play(session, 5)));
    const later = sessions.map((session) => session.step(add(1)));
    await server.stop(signal);
    later.push(...sessions.map((session) => session.step(add(1))));
    await server.start();
    assert.deepEqual((await Promise.all(later)).map(count), [6, 6, 6, 6, 7, 7, 7, 7]);
    assert(stream.reconnects > 0);
  });
}

test("a connection that falls silent is replaced", async () => {
  await using proxy = await Proxy.start(server.port);
  using stream = await clientOf(proxy).stream({ ...QUICK, silenceMaxMs: 100 });
  const session = await stream.open(COUNTER);
  const silent = proxy.connections[0];
  proxy.policy = (connection, _, bytes) => (connection === silent ? "hold" : bytes);
  assert.equal(count(await session.step(add(1))), 1);
  assert.equal(stream.reconnects, 1);
});

test("a silent connection that answers when it is asked is kept", async () => {
  await using proxy = await Proxy.start(server.port);
  using stream = await clientOf(proxy).stream({ ...QUICK, silenceMaxMs: 100 });
  const session = await stream.open(COUNTER);
  const [connection] = proxy.connections;
  // More than one time of silence: five answers to the questions of the stream.
  const silent = new Promise<void>((resolve) => {
    let answers = 0;
    proxy.policy = (_, direction, bytes) => {
      if (direction === "answered" && (answers += 1) === 5) resolve();
      return bytes;
    };
  });
  await silent;
  assert.equal(count(await session.step(add(1))), 1);
  assert.deepEqual([stream.reconnects, proxy.connections[0]], [0, connection]);
});

test("a server that stays away is given up", async () => {
  const url = `http://127.0.0.1:${await freePort()}`;
  await assert.rejects(new Client({ url, key: KEY }).stream({ ...QUICK, giveUpMs: 50 }), (error: Error) => {
    return error instanceof GaveUpError && /ECONNREFUSED/.test(error.message);
  });
});

test("a connection that brings nothing counts as a failure", async () => {
  await using proxy = await Proxy.start(server.port);
  using stream = await clientOf(proxy).stream({ ...QUICK, giveUpMs: 200 });
  // The answer to the opening passes, and nothing behind it.
  proxy.policy = (connection, direction, bytes) => (direction === "answered" && connection.answered > 0 ? 0 : bytes);
  await assert.rejects(stream.open(COUNTER), GaveUpError);
  assert(proxy.connections.length > 2);
  await assert.rejects(stream.open(COUNTER), GaveUpError);
});

test("a wrong key fails at once, in the words of the server", { timeout: 30_000 }, async () => {
  const client = new Client({ url: server.url, key: "pk_wrong" });
  const words = await client.request("get", "/v1/whoami").catch((error: ApiError) => error.detail);
  await assert.rejects(client.stream(), (error) => {
    return error instanceof ApiError && error.status === 401 && error.code === "unauthorized" && error.detail === words;
  });
});

test("a key that no subprotocol can carry is refused", async () => {
  await assert.rejects(new Client({ url: server.url, key: "a/key" }).stream(), /POST \/v1\/keys/);
});

test("a refusal reaches its own frame, and no other", async () => {
  using stream = await server.client().stream();
  const wrong = stream.call("step", { session: NO_SESSION, seq: 1, action: add(1) });
  const right = stream.open(COUNTER);
  await assert.rejects(wrong, coded("not_found"));
  assert.equal((await right).seq, 0);
});

test("a frame that is larger than any server reads is refused before it is sent", async () => {
  await using proxy = await Proxy.start(server.port);
  using stream = await clientOf(proxy).stream();
  const session = await stream.open(COUNTER);
  const large = session.step({ text: "a".repeat(16 * 1024 * 1024) });
  await assert.rejects(large, coded("too_large"));
  assert(proxy.connections[0]!.sent < 10_000);
  assert.equal(count(await session.step(add(1))), 1);
  assert.equal(stream.reconnects, 0);
});

test("a frame that this server does not read fails alone, and the next is refused before it is sent", async () => {
  using stream: Stream = await server.client().stream(QUICK);
  const [large, other] = [await stream.open(COUNTER), await stream.open(COUNTER)];
  const refused = large.step({ text: "a".repeat(2 * 1024 * 1024) });
  const kept = other.step(add(1));
  await assert.rejects(refused, coded("too_large"));
  assert.equal(count(await kept), 1);
  const reconnects = stream.reconnects;
  await assert.rejects(large.step({ text: "a".repeat(2 * 1024 * 1024) }), coded("too_large"));
  assert.equal(count(await large.step(add(1))), 1);
  assert.equal(stream.reconnects, reconnects);
});

test("a closed stream fails what waits, and leaves its sessions open", async () => {
  const stream = await server.client().stream();
  const session = await stream.open(COUNTER);
  const waiting = session.step(add(1));
  stream.close();
  await assert.rejects(waiting, ClosedError);
  await assert.rejects(stream.open(COUNTER), ClosedError);
  using other = await server.client().stream();
  const again = new Session(other, session.opened);
  assert.equal(count(await again.step(add(1))), 1);
});

test("a stream can be closed while it looks for its server", async () => {
  await using proxy = await Proxy.start(server.port);
  const stream = await clientOf(proxy).stream({ backoffMs: 60_000, backoffMaxMs: 60_000 });
  const session = await stream.open(COUNTER);
  cutNextAnswer(proxy);
  const waiting = session.step(add(1));
  await proxy.close();
  stream.close();
  await assert.rejects(waiting, ClosedError);
});

test("events go on over cut connections, each once and in order", async () => {
  const steps = 20;
  await using proxy = await Proxy.start(server.port);
  proxy.policy = cutAtRandom(randomFrom(6), 1_000, 8_000);
  using stream = await clientOf(proxy).stream(QUICK);
  const session = await stream.open(COUNTER);
  const read = (async () => {
    const seen: (string | number)[] = [];
    for await (const event of session.events()) seen.push(event.type === "step" ? event.step.seq : event.type);
    return seen;
  })();
  await play(session, steps);
  await session.verify();
  await session.close();
  assert.deepEqual(await read, ["episode", ...ramp(steps).map(([seq]) => seq), "verdict", "closed"]);
  assert(stream.reconnects > 2, `${stream.reconnects} reconnects`);
});

test("events can be read from a point on, and no longer than wanted", async () => {
  using stream = await server.client().stream();
  const session = await stream.open(COUNTER);
  await play(session, 3);
  const ids: string[] = [];
  for await (const event of session.events()) {
    ids.push(event.id);
    if (ids.length === 2) break;
  }
  const next = await session.events(ids[1]!).next();
  assert(next.value?.type === "step" && next.value.step.seq === 2);
  await assert.rejects(stream.events(NO_SESSION).next(), coded("not_found"));
});
