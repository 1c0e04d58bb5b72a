import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { ApiError, Client, type Run } from "palestra";
import { Proxy } from "./proxy.ts";
import { json, lost, problem, scripted } from "./scripted.ts";
import { KEY, Server } from "./server.ts";

const COUNTER = { environment: "bench/counter" };
const LEASE_MS = 1_000;
/** Between two looks at what only time changes, in milliseconds. */
const LOOK_MS = 50;

let server: Server;
before(async () => {
  server = await Server.start();
});
after(() => server[Symbol.asyncDispose]());

/** The state of a run in the list of runs, which renews no lease. */
async function stateOf(run: Run): Promise<string> {
  const { data } = await server.client().request("get", "/v1/runs", { query: { limit: 1_000 } });
  return data.find(({ id }) => id === run.id)!.state;
}

test("heartbeats keep a run beyond its lease, and its end closes its sessions", async () => {
  await using proxy = await Proxy.start(server.port);
  const run = await new Client({ url: proxy.url, key: KEY }).run({ leaseMs: LEASE_MS });
  using stream = await server.client().stream();
  const session = await stream.open({ ...COUNTER, run: run.id });
  // Three heartbeats are in the time of one lease.
  await new Promise<void>((resolve) => {
    let beats = 0;
    proxy.policy = (_, direction, bytes) => {
      if (direction === "answered" && (beats += 1) === 7) resolve();
      return bytes;
    };
  });
  assert.equal(await stateOf(run), "active");
  await session.step({ text: "1" });
  assert.equal((await run.close()).state, "deleted");
  await assert.rejects(session.step({ text: "1" }), (error) => error instanceof ApiError && error.code === "session_over");
  const path = { id: session.episode };
  const episode = await server.client().request("get", "/v1/episodes/{id}", { path });
  assert.equal(episode.verdict?.status, "invalid");
  assert.equal(run.signal.aborted, false);
});

test("a run that somebody else ends says so", async () => {
  await using run = await server.client().run({ leaseMs: LEASE_MS });
  const lost = once(run.signal, "abort");
  await server.client().request("delete", "/v1/runs/{id}", { path: { id: run.id } });
  await lost;
  assert(run.signal.reason instanceof ApiError);
  assert.equal(run.signal.reason.code, "run_over");
});

test("a run whose heartbeats do not arrive expires, and says so when the server is back", async () => {
  await using proxy = await Proxy.start(server.port);
  await using run = await new Client({ url: proxy.url, key: KEY }).run({ leaseMs: LEASE_MS });
  const lost = once(run.signal, "abort");
  proxy.policy = () => 0;
  proxy.connections.forEach(({ cut }) => cut());
  while ((await stateOf(run)) === "active") await pause(LOOK_MS);
  assert.equal(await stateOf(run), "expired");
  assert.equal(run.signal.aborted, false);
  proxy.policy = (_, __, bytes) => bytes;
  await lost;
  assert.equal((run.signal.reason as ApiError).code, "run_over");
});

test("a lease that is too short is refused", async () => {
  await assert.rejects(server.client().run({ leaseMs: 1 }), /invalid \(422\).*lease_ms/);
});

test("a heartbeat that fails for the moment ends no run", async () => {
  const over = problem(409, "run_over");
  await using script = await scripted(json(201, {}), problem(500, "internal"), lost, problem(503, "draining"), over);
  const run = await script.client.run({ leaseMs: 30 });
  await once(run.signal, "abort");
  assert.equal((run.signal.reason as ApiError).code, "run_over");
  assert.deepEqual(script.requests.map(({ url }) => url), ["/v1/runs", ...Array(4).fill(`/v1/runs/${run.id}/heartbeat`)]);
});
