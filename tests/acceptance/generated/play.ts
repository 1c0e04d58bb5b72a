// Plays one episode of `bench/counter` with generated types: node play.js URL KEY. Prints the verdict as JSON.

import createClient from "openapi-fetch";
import type { components, paths } from "./schema.d.ts";

declare const process: { argv: string[] };
const [url, key] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: url!, headers: { Authorization: `Bearer ${key}` } });

function expect(condition: unknown, seen: unknown): asserts condition {
  if (!condition) throw new Error(JSON.stringify(seen));
}

const listed = await client.GET("/v1/environments", { params: { query: { family: "bench" } } });
expect(listed.data?.data.some((row) => row.name === "bench/counter"), listed);

const path = { family: "bench", name: "counter" };
const counter = await client.GET("/v1/environments/{family}/{name}", { params: { path } });
expect(counter.data?.tools.length === 1, counter);

const created = await client.POST("/v1/sessions", { body: { environment: "bench/counter", record: "sync" } });
expect(created.data && "id" in created.data, created);
const opened = created.data;
const target = Number(/exactly (\d+)/.exec(JSON.stringify(opened.messages))?.[1]);

const take = (id: string, seq: number, amount: number) => {
  const action: components["schemas"]["Action"] = { tool: "add", arguments: { amount } };
  return client.POST("/v1/sessions/{id}/step", { params: { path: { id } }, body: { action, seq } });
};
for (const [index, amount] of [target - 1, 1].entries()) {
  const [once, again] = [await take(opened.id, index + 1, amount), await take(opened.id, index + 1, amount)];
  expect(once.data && JSON.stringify(once.data) === JSON.stringify(again.data), [once, again]);
}
const missing = await take(`ses_${"0".repeat(32)}`, 1, 1);
expect(missing.error?.code === "not_found", missing);

const finished = await client.POST("/v1/sessions/{id}/finish", { params: { path: { id: opened.id } }, body: { reason: "max_turns" } });
const stored = await client.GET("/v1/episodes/{id}", { params: { path: { id: opened.episode } } });
expect(stored.data?.verdict && JSON.stringify(stored.data.verdict) === JSON.stringify(finished.data?.verdict), stored);
console.log(JSON.stringify(stored.data.verdict));
