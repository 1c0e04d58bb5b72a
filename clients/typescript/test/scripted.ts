/** An HTTP server that answers what the test tells it. */

import { once } from "node:events";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Client } from "palestra";
import { KEY } from "./server.ts";

/** A server whose n-th request gets the n-th answer, and further ones the last. */
export async function scripted(...answers: ((request: IncomingMessage, response: ServerResponse) => void)[]) {
  const requests: IncomingMessage[] = [];
  const listener = createServer((request, response) => {
    requests.push(request);
    answers[Math.min(requests.length, answers.length) - 1]!(request, response);
  }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  const close = async () => {
    listener.closeAllConnections();
    listener.close();
  };
  return { requests, client: new Client({ url, key: KEY, giveUpMs: 5_000 }), [Symbol.asyncDispose]: close };
}

/** Answers a status and JSON. */
export const json = (status: number, body: object, headers = {}) => (_: IncomingMessage, response: ServerResponse) => {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
};
/** Answers a problem document. */
export const problem = (status: number, code: string) => json(status, { type: "", title: "", status, code, detail: "why" });
/** Ends the connection without an answer. */
export const lost = (request: IncomingMessage) => request.socket.destroy();
