import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { after, before, test } from "node:test";
import { ApiError, Client, PalestraError, UnexpectedAnswerError, UnreachableError } from "palestra";
import { Proxy, cutAtRandom, randomFrom } from "./proxy.ts";
import { json, lost, problem, scripted } from "./scripted.ts";
import { KEY, Server, freePort } from "./server.ts";

let server: Server;
let client: Client;
before(async () => {
  server = await Server.start();
  client = server.client();
});
after(() => server[Symbol.asyncDispose]());

test("environments, tasks, episodes and trajectories are read with their types", async () => {
  const listed = await client.request("get", "/v1/environments", { query: { family: "bench" } });
  assert(listed.data.some(({ name }) => name === "bench/counter"));
  const path = { family: "bench", name: "counter@1" };
  const environment = await client.request("get", "/v1/environments/{family}/{name}", { path });
  assert.equal(environment.tools.length, 1);
  const query = { split: "train", limit: 3, shuffle: 7 };
  const tasks = await client.request("get", "/v1/environments/{family}/{name}/tasks", { path, query });
  assert.equal(tasks.data.length, 3);
  const task = { id: tasks.data[0]!.id };
  const opened = await client.request("post", "/v1/sessions", { body: { environment: "bench/counter", task } });
  assert("id" in opened);
  await client.request("post", "/v1/sessions/{id}/verify", { path: { id: opened.id } });
  const episodes = await client.request("get", "/v1/episodes", { query: { session: opened.id } });
  assert.deepEqual(episodes.data.map(({ id }) => id), [opened.episode]);
  const episode = { path: { id: opened.episode } };
  const trajectory = await client.request("get", "/v1/episodes/{id}/trajectory", episode);
  assert(!(trajectory instanceof Response) && trajectory.episode.id === opened.episode);
  const lines = await client.request("get", "/v1/episodes/{id}/trajectory", { ...episode, query: { format: "jsonl" } });
  assert(lines instanceof Response);
  assert((await lines.text()).includes(opened.episode));
});

test("an environment is published from JSON and from lines", async () => {
  const rows = [{ prompt: "2+2?", answer: "4" }];
  const definition = { name: "dataset/sums", verifier: "number" } as const;
  const body = { environment: definition, rows };
  assert.equal((await client.request("post", "/v1/environments", { body })).environment.name, "dataset/sums");
  const lines = { body: rows.map((row) => JSON.stringify(row)).join("\n"), contentType: "application/jsonl" } as const;
  const query = { name: "dataset/lines", verifier: "number" } as const;
  const published = await client.request("post", "/v1/environments", { query, ...lines });
  assert.equal(published.environment.name, "dataset/lines");
  const path = { family: "dataset", name: "lines" };
  assert.equal(await client.request("delete", "/v1/environments/{family}/{name}", { path }), undefined);
});

test("a job with an idempotency key is queued once", async () => {
  const spec = { policy: { from: "builtin:random" }, environments: [{ name: "bench/counter" }], episodes: 1 };
  const queue = () => client.request("post", "/v1/jobs", { body: { kind: "evaluate", spec }, idempotencyKey: "one job" });
  const [once, twice] = [await queue(), await queue()];
  assert.equal(once.id, twice.id);
  assert.equal((await client.request("post", "/v1/jobs/{id}/cancel", { path: { id: once.id } })).state, "cancelled");
});

test("a file is uploaded as a form", async () => {
  const body = new FormData();
  body.set("purpose", "fine-tune");
  body.set("file", new Blob(['{"messages":[]}\n']), "lines.jsonl");
  const file = await client.request("post", "/v1/files", { body, contentType: "multipart/form-data" });
  const content = await client.request("get", "/v1/files/{id}/content", { path: { id: file.id } });
  assert.equal(await content.text(), '{"messages":[]}\n');
});

test("a refusal has its status, code, detail and faults", async () => {
  const refused = client.request("post", "/v1/sessions", { body: { environment: "bench/counter", limits: { steps: 0 } } });
  const error = await refused.then(() => undefined, (error: unknown) => error);
  assert(error instanceof ApiError);
  assert.deepEqual([error.status, error.code, error.problem.errors?.[0]?.field], [422, "invalid", "limits.steps"]);
  assert(error.message.startsWith("invalid (422): ") && error.message.includes(error.detail));
});

test("a GET is repeated over connections that are cut at random", async () => {
  await using proxy = await Proxy.start(server.port);
  proxy.policy = cutAtRandom(randomFrom(7), 0, 6_000);
  const cut = new Client({ url: proxy.url, key: KEY });
  for (let call = 0; call < 20; call += 1) {
    const { data } = await cut.request("get", "/v1/environments", { query: { family: "bench" } });
    assert(data.length > 0);
  }
  assert(proxy.cuts > 3, `${proxy.cuts} cuts`);
});

test("a GET is repeated when the server asks to wait, no sooner than it asks", async () => {
  const busy = json(429, { code: "too_many_requests", status: 429, detail: "wait" }, { "retry-after": "1" });
  await using script = await scripted(busy, problem(503, "draining"), lost, json(200, { tenant: "t", scopes: [] }));
  const began = performance.now();
  assert.equal((await script.client.request("get", "/v1/whoami")).tenant, "t");
  assert.equal(script.requests.length, 4);
  assert(performance.now() - began >= 1_000);
});

test("a POST is repeated with its key, and without one it is not", async () => {
  await using script = await scripted(lost, json(201, { id: "ses_1" }), lost, lost);
  const options = { body: { environment: "bench/counter" } };
  const opened = await script.client.request("post", "/v1/sessions", { ...options, idempotencyKey: "a key" });
  assert.deepEqual(opened, { id: "ses_1" });
  assert.deepEqual(script.requests.map(({ headers }) => headers["idempotency-key"]), ["a key", "a key"]);
  await assert.rejects(script.client.request("post", "/v1/sessions", options), UnreachableError);
  assert.equal(script.requests.length, 3);
});

test("what no wait helps against is not repeated", async () => {
  await using script = await scripted(problem(503, "policy_cold"), problem(404, "not_found"));
  for (const code of ["policy_cold", "not_found"]) {
    await assert.rejects(script.client.request("get", "/v1/whoami"), (error: ApiError) => error.code === code);
  }
  assert.equal(script.requests.length, 2);
});

test("a server that stays away is given up, and a signal ends the waits", async () => {
  const url = `http://127.0.0.1:${await freePort()}`;
  const away = new Client({ url, giveUpMs: 100 });
  await assert.rejects(away.request("get", "/healthz"), /UnreachableError: .*ECONNREFUSED/);
  const signal = AbortSignal.timeout(50);
  await assert.rejects(new Client({ url }).request("get", "/healthz", { signal }), { name: "TimeoutError" });
});

test("a signal ends a request that is not repeated", async () => {
  await using script = await scripted(() => {});
  const options = { body: { environment: "bench/counter" }, signal: AbortSignal.timeout(50) };
  await assert.rejects(script.client.request("post", "/v1/sessions", options), { name: "TimeoutError" });
});

test("an answer of something else is quoted and cut", async () => {
  const page = (_: IncomingMessage, response: ServerResponse) => void response.writeHead(404).end("x".repeat(10_000));
  await using script = await scripted(page);
  await assert.rejects(script.client.request("get", "/v1/whoami"), (error) => {
    return error instanceof UnexpectedAnswerError && error.status === 404 && error.message.length < 400;
  });
});

test("addresses keep a prefix and escape their parts", async () => {
  await using script = await scripted(json(200, { data: [] }));
  const prefixed = new Client({ url: `${script.client.url.href}below/` });
  await prefixed.request("get", "/v1/jobs/{id}/artifacts", { path: { id: "a/b c" } });
  await prefixed.request("get", "/v1/environments", { query: { q: "a&b", limit: 2 } });
  assert.deepEqual(script.requests.map(({ url }) => url), [
    "/below/v1/jobs/a%2Fb%20c/artifacts",
    "/below/v1/environments?q=a%26b&limit=2",
  ]);
});

test("address and key come from the environment, and what cannot be used is refused", async () => {
  const { PALESTRA_URL, PALESTRA_API_KEY } = process.env;
  try {
    Object.assign(process.env, { PALESTRA_URL: server.url, PALESTRA_API_KEY: KEY });
    assert.deepEqual((await new Client().request("get", "/v1/whoami")).tenant, "default");
    delete process.env["PALESTRA_URL"];
    assert.throws(() => new Client(), /PALESTRA_URL/);
  } finally {
    for (const [name, value] of Object.entries({ PALESTRA_URL, PALESTRA_API_KEY })) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
  for (const url of ["", "localhost:7070", "ftp://localhost", "http://"]) {
    assert.throws(() => new Client({ url }), PalestraError);
  }
  for (const key of ["", "a\nb"]) assert.throws(() => new Client({ url: server.url, key }), /PALESTRA_API_KEY/);
});
