import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { KEY, Server } from "./server.ts";

const FOLDER = join(import.meta.dirname, "..");

test("the programs of the README run and print what they say", async () => {
  const text = await readFile(join(FOLDER, "README.md"), "utf8");
  const programs = [...text.matchAll(/```js\n(.*?)```/gs)].map(([, program]) => program!);
  assert(programs.length >= 2);
  await using server = await Server.start();
  const env = { ...process.env, PALESTRA_URL: server.url, PALESTRA_API_KEY: KEY };
  for (const program of programs) {
    const expected = [...program.matchAll(/\/\/ prints: (.*)/g)].map(([, line]) => line);
    const arguments_ = ["--input-type=module", "--eval", program];
    const { stdout } = await promisify(execFile)(process.execPath, arguments_, { env, cwd: FOLDER });
    assert.deepEqual(stdout.trim().split("\n"), expected);
  }
});
