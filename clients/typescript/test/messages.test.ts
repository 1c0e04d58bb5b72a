/** Messages that a server seldom sends, from a socket that stands in for it. */

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { Client, ClosedError, type Stream, UnexpectedAnswerError } from "palestra";
import { KEY } from "./server.ts";

/** A socket that opens at once, and answers what the test tells it. */
class Socket {
  /** Every socket that was opened, the oldest first. */
  static opened: Socket[] = [];
  readonly sent: { id: number }[] = [];
  closed = false;
  onopen = () => {};
  onmessage: (message: { data: unknown }) => void = () => {};
  onclose: (event: { code: number; reason: string }) => void = () => {};

  constructor() {
    Socket.opened.push(this);
    queueMicrotask(() => this.onopen());
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }

  close(): void {
    this.closed = true;
  }
}

const client = new Client({ url: "http://127.0.0.1:1", key: KEY });
const SESSION = { session: "ses_1" };

/** A stream with one frame that waits for its answer. */
async function waiting(): Promise<{ stream: Stream; answer: Promise<unknown>; socket: Socket }> {
  const stream = await client.stream({ backoffMs: 1 });
  return { stream, answer: stream.call("close", SESSION), socket: Socket.opened[0]! };
}

beforeEach(() => {
  Socket.opened = [];
  globalThis.WebSocket = Socket as never;
});

test("a frame that a leaving server refuses belongs to the next connection", async () => {
  const { stream, answer, socket } = await waiting();
  const problem = { type: "", title: "", status: 503, code: "draining", detail: "" };
  socket.onmessage({ data: JSON.stringify({ id: 1, error: problem }) });
  assert(socket.closed);
  while (Socket.opened.length < 2 || Socket.opened[1]!.sent.length < 1) await new Promise(setImmediate);
  assert.deepEqual(Socket.opened[1]!.sent, socket.sent);
  Socket.opened[1]!.onmessage({ data: JSON.stringify({ id: 1, ok: { state: "closed" } }) });
  assert.deepEqual(await answer, { state: "closed" });
  stream.close();
});

for (const [what, data] of [
  ["text that is not JSON", "<html>"],
  ["JSON that is no message", "7"],
  ["an error of no frame", JSON.stringify({ id: null, error: { code: "invalid", detail: "no id" } })],
  ["bytes", new ArrayBuffer(1)],
] as const) {
  test(`${what} is none of a Palestra server, and ends the stream`, async () => {
    const { stream, answer, socket } = await waiting();
    socket.onmessage({ data });
    await assert.rejects(answer, UnexpectedAnswerError);
    await assert.rejects(stream.call("close", SESSION), UnexpectedAnswerError);
    assert(socket.closed);
    assert.equal(Socket.opened.length, 1);
  });
}

test("an answer that comes twice is taken once", async () => {
  const { stream, answer, socket } = await waiting();
  for (const state of ["closed", "open"]) socket.onmessage({ data: JSON.stringify({ id: 1, ok: { state } }) });
  assert.deepEqual(await answer, { state: "closed" });
  stream.close();
});

test("a stream that is closed closes its socket", async () => {
  const { stream, answer, socket } = await waiting();
  stream.close();
  await assert.rejects(answer, ClosedError);
  assert(socket.closed);
});

test("a stream that is closed while it opens another socket closes this one too", async () => {
  const { stream, answer, socket } = await waiting();
  const never = new Promise<Socket>((resolve) => {
    globalThis.WebSocket = class extends Socket {
      constructor() {
        super();
        Object.defineProperty(this, "onopen", { get: () => () => {}, set: () => resolve(this) });
      }
    } as never;
  });
  socket.onclose({ code: 1001, reason: "the server is shutting down" });
  const second = await never;
  stream.close();
  await assert.rejects(answer, ClosedError);
  await new Promise(setImmediate);
  assert(second.closed);
});

test("the credential goes as a subprotocol", async () => {
  const protocols: unknown[] = [];
  globalThis.WebSocket = class extends Socket {
    constructor(address: URL, asked: string[]) {
      super();
      protocols.push(address.href, ...asked);
    }
  } as never;
  (await client.stream()).close();
  assert.deepEqual(protocols, ["ws://127.0.0.1:1/v1/stream", "palestra.json", `bearer.${KEY}`]);
});
