import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { Server } from "./server.ts";

const DIST = join(import.meta.dirname, "..", "dist");

/** Plays with the token of one session, as a page does, and tells what it saw. */
const PAGE = `<!doctype html><script type="module">
  import { Client, Session } from "/dist/index.js";
  const { url, opened } = await (await fetch("/opened")).json();
  const stream = await new Client({ url, key: opened.token }).stream();
  const session = new Session(stream, opened);
  const code = (error) => error.code ?? String(error);
  const seen = {
    count: (await session.step({ text: "3" })).observation.data.count,
    wrongKey: await new Client({ url, key: "pk_wrong" }).stream().catch(code),
    tooLarge: await session.step({ text: "a".repeat(2 ** 21) }).catch(code),
    after: (await session.step({ text: "4" })).observation.data.count,
    state: (await new Client({ url, key: opened.token }).request("get", "/v1/sessions/{id}", { path: opened })).state,
  };
  await fetch("/seen", { method: "POST", body: JSON.stringify(seen) });
</script>`;

function find(...names: string[]): string | undefined {
  return names.map((name) => execFileSync("sh", ["-c", `command -v ${name} || true`]).toString().trim()).find(Boolean);
}

test("a page in a browser plays with the token of a session", async () => {
  const chromium = find("chromium-headless-shell", "chromium");
  if (chromium === undefined) {
    console.log("not tried: browser: needs chromium");
    return;
  }
  const { promise: seen, resolve } = Promise.withResolvers<string>();
  let opened = "";
  const pages = createServer(async ({ url }, response) => {
    if (url?.startsWith("/dist/")) {
      response.setHeader("content-type", "text/javascript");
      response.end(await readFile(join(DIST, basename(url))));
    } else {
      response.setHeader("content-type", "text/html");
      response.end(url === "/opened" ? opened : PAGE);
    }
  });
  pages.prependListener("request", async (request) => request.url === "/seen" && resolve(await text(request)));
  pages.listen(0, "127.0.0.1");
  await once(pages, "listening");
  const origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  await using server = await Server.start("--cors-origins", origin);
  const session = await server.client().request("post", "/v1/sessions", { body: { environment: "bench/counter" } });
  opened = JSON.stringify({ url: server.url, opened: session });
  const profile = await mkdtemp(join(tmpdir(), "palestra-typescript-browser-"));
  const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", `--user-data-dir=${profile}`];
  // A group of its own: the program may be a script around the browser.
  const browser = spawn(chromium, [...flags, origin], { stdio: "ignore", detached: true });
  try {
    const expected = { count: 3, wrongKey: "unauthorized", tooLarge: "too_large", after: 7, state: "open" };
    assert.deepEqual(JSON.parse(await seen), expected);
  } finally {
    const ended = once(browser, "exit");
    process.kill(-browser.pid!, "SIGKILL");
    await ended;
    pages.close();
    pages.closeAllConnections();
    await rm(profile, { recursive: true, maxRetries: 5 });
  }
});
