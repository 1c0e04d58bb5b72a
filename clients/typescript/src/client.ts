/** A server and the credential for it: HTTP calls, streams and runs. */

import { below, checkKey, parseAddress } from "./address.js";
import type { BackoffOptions } from "./backoff.js";
import { Endpoint } from "./connection.js";
import { exchange } from "./exchange.js";
import type { AnswerOf, CommonOptions, Method, OperationOf, PathsOf, RequestArguments } from "./request-types.js";
import { Run, type RunOptions } from "./run.js";
import { Stream, type StreamOptions } from "./stream.js";

/** The wait before a request is repeated for the first time, in milliseconds. */
const BACKOFF_MS = 50;
/** The longest wait between two repetitions that the server does not ask for, in milliseconds. */
const BACKOFF_MAX_MS = 5_000;
const GIVE_UP_MS = 30_000;

/** Where the server is, and who calls. */
export interface ClientOptions {
  /** Address of the server, such as `http://127.0.0.1:7070`. The variable PALESTRA_URL where left out. */
  url?: string;
  /** An API key or a session token. The variable PALESTRA_API_KEY where left out. */
  key?: string;
  /** Time without an answer after which a request is not repeated any more, in milliseconds; 30,000 where left out. */
  giveUpMs?: number;
}

/** What a request holds, whatever its operation. */
interface LooseOptions extends CommonOptions {
  path?: Record<string, unknown>;
  query?: Record<string, unknown>;
  body?: unknown;
  contentType?: string;
}

/** A Palestra server and the credential for it. */
export class Client {
  /** Address of the server. */
  readonly url: URL;
  readonly #key: string | undefined;
  readonly #limits: BackoffOptions;

  /** @throws {PalestraError} when the address or the key cannot be used. Nothing is sent yet. */
  constructor(options: ClientOptions = {}) {
    this.url = parseAddress(options.url ?? variable("PALESTRA_URL"));
    this.#key = checkKey(options.key ?? variable("PALESTRA_API_KEY"));
    this.#limits = { backoffMs: BACKOFF_MS, backoffMaxMs: BACKOFF_MAX_MS, giveUpMs: options.giveUpMs ?? GIVE_UP_MS };
  }

  /**
   * Makes one call of the API, such as `request("get", "/v1/episodes", { query: { limit: 10 } })`. The API document decides what
   * each path takes and answers: the value of a JSON body, undefined where there is no body, and otherwise the `Response`.
   *
   * A GET, and every request with `idempotencyKey` or `repeatable`, is repeated when the connection is lost or the server has
   * too much to do.
   *
   * @throws {ApiError} when the server refused.
   * @throws {UnreachableError} when no whole answer came.
   */
  async request<M extends Method, P extends PathsOf<M>>(
    method: M,
    path: P,
    ...[options]: RequestArguments<OperationOf<M, P>>
  ): Promise<AnswerOf<OperationOf<M, P>>> {
    const given: LooseOptions = (options ?? {}) as object;
    const headers = new Headers(given.headers);
    if (this.#key !== undefined) headers.set("authorization", `Bearer ${this.#key}`);
    if (given.idempotencyKey !== undefined) headers.set("idempotency-key", given.idempotencyKey);
    const request: RequestInit = { method: method.toUpperCase(), headers, signal: given.signal ?? null };
    if (given.body !== undefined) addBody(request, headers, given);
    const repeatable = method === "get" || given.idempotencyKey !== undefined || given.repeatable === true;
    const answer = await exchange(addressOf(this.url, path, given), request, repeatable, this.#limits);
    return answer as AnswerOf<OperationOf<M, P>>;
  }

  /**
   * Opens a stream: one WebSocket for many sessions. Resolves once it is connected.
   *
   * @throws {ApiError} when the server refuses the credential.
   * @throws {GaveUpError} when no connection came about in `giveUpMs`.
   */
  async stream(options: StreamOptions = {}): Promise<Stream> {
    return Stream.connect(new Endpoint(this.url, this.#key), options);
  }

  /**
   * Starts a run: its sessions end together, at the latest when its lease expires. Heartbeats renew the lease until the run is
   * closed.
   *
   * @throws {ApiError} when the server refuses, for example a lease of less than 1,000 ms.
   */
  async run(options: RunOptions): Promise<Run> {
    return Run.start(this, options);
  }
}

function variable(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name];
}

function addBody(request: RequestInit, headers: Headers, { body, contentType }: LooseOptions): void {
  request.body = contentType === undefined ? JSON.stringify(body) : (body as BodyInit);
  // The boundary of a form is known to `fetch` alone.
  if (contentType !== "multipart/form-data") headers.set("content-type", contentType ?? "application/json");
}

/** The address of a path below the server's own, with its parameters in place. */
function addressOf(base: URL, template: string, { path = {}, query = {} }: LooseOptions): URL {
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(path[name])));
  const address = below(base, filled);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) address.searchParams.set(name, String(value));
  }
  return address;
}
