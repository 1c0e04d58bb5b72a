/**
 * The stream: one WebSocket for many sessions, with pipelined requests, that survives lost connections.
 *
 * Every frame that has no answer yet is kept and sent again, in order, after a reconnect. Nothing acts twice by that: steps carry
 * `seq`, creating frames carry a `key`, and the other frames say the same thing however often they are said.
 */

import { Backoff, pause } from "./backoff.js";
import { type Ending, type Endpoint, converse } from "./connection.js";
import { ApiError, ClosedError, GaveUpError, UnexpectedAnswerError } from "./errors.js";
import { Frames } from "./frames.js";
import { newKey } from "./identity.js";
import type { Operations } from "./stream-operations.js";
import { type Outcome, Session, type SessionStep } from "./session.js";
import { Subscriptions } from "./subscriptions.js";
import type { CreateSession, Opened, Problem, SessionEvent } from "./types.js";

/** The largest frame that a stream sends where nothing else is known, in bytes. */
const FRAME_BYTES_MAX = 16 * 1024 * 1024;
/** Operations that would act again without a key. */
const KEYED_OPERATIONS: ReadonlySet<string> = new Set(["create", "reset", "fork", "snapshot", "restore"]);

/** Options of a stream. */
export interface StreamOptions {
  /** Most frames without an answer; further ones wait. 1,024 where left out. */
  inFlightMax?: number;
  /** The wait before the first reconnect, in milliseconds; doubled by every further failure. 50 where left out. */
  backoffMs?: number;
  /** The longest wait between two reconnects, in milliseconds. 5,000 where left out. */
  backoffMaxMs?: number;
  /** Time without any success after which every open request fails, in milliseconds. 120,000 where left out. */
  giveUpMs?: number;
  /** Time that a silent connection counts as alive, in milliseconds. 60,000 where left out. */
  silenceMaxMs?: number;
  /**
   * Bytes of the largest frame that is sent: the server's `--body-bytes-max`, where you know it. 16 MiB where left out, until the
   * server tells that it reads less.
   */
  frameBytesMax?: number;
}

const DEFAULTS: Required<StreamOptions> = {
  inFlightMax: 1_024,
  backoffMs: 50,
  backoffMaxMs: 5_000,
  giveUpMs: 120_000,
  silenceMaxMs: 60_000,
  frameBytesMax: FRAME_BYTES_MAX,
};

/** A message that arrives: an answer or an event. */
interface Incoming {
  id?: number | null;
  ok?: unknown;
  error?: Problem;
  event?: SessionEvent;
}

/** A connection to `/v1/stream` that reconnects by itself. Opened by `Client.stream`. */
export class Stream implements Disposable {
  readonly #endpoint: Endpoint;
  readonly #options: Required<StreamOptions>;
  readonly #backoff: Backoff;
  readonly #frames: Frames;
  readonly #subscriptions: Subscriptions;
  readonly #closing = new AbortController();
  /** The connection; undefined while there is none. */
  #socket: WebSocket | undefined;
  #reconnects = 0;
  /** True if the present connection brought an answer or an event. */
  #progress = false;

  private constructor(endpoint: Endpoint, options: StreamOptions) {
    this.#endpoint = endpoint;
    this.#options = { ...DEFAULTS, ...options };
    this.#backoff = new Backoff(this.#options, performance.now());
    this.#frames = new Frames(this.#options.inFlightMax, this.#options.frameBytesMax);
    this.#subscriptions = new Subscriptions((op, fields) => this.#send(op, fields, true));
  }

  /** @internal */
  static async connect(endpoint: Endpoint, options: StreamOptions): Promise<Stream> {
    const stream = new Stream(endpoint, options);
    const socket = await stream.#connect();
    void stream.#drive(socket);
    return stream;
  }

  /** Number of times that the connection was lost and made again. */
  get reconnects(): number {
    return this.#reconnects;
  }

  /**
   * Sends one frame, and answers what the server answers, over as many reconnects as it takes. Frames leave in the order of these
   * calls. Operations that create something carry a key of their own, so that they act once.
   *
   * @throws {ApiError} when the server refused; `too_large` when the frame has more bytes than the server reads.
   * @throws {InterruptedError} when a step without `seq` was lost with its connection. It may have acted.
   * @throws {GaveUpError} when the server could not be reached for `giveUpMs`.
   * @throws {ClosedError} when the stream is closed.
   */
  call<Op extends keyof Operations>(op: Op, fields: Operations[Op]["fields"]): Promise<Operations[Op]["answer"]> {
    const keyed = KEYED_OPERATIONS.has(op) ? { ...fields, key: newKey() } : fields;
    return this.#send(op, keyed, isRepeatable(op, fields));
  }

  /**
   * Opens a session, exactly once.
   *
   * @throws as `call`.
   */
  async open(request: Omit<CreateSession, "count">): Promise<Session> {
    return new Session(this, (await this.call("create", request)) as Opened);
  }

  /**
   * Opens `count` sessions of one task with a common group, exactly once.
   *
   * @throws as `call`.
   */
  async openGroup(request: Omit<CreateSession, "id"> & { count: number }): Promise<Session[]> {
    const { data } = (await this.call("create", request)) as { data: Opened[] };
    return data.map((opened) => new Session(this, opened));
  }

  /**
   * Takes up to 1,024 steps in one frame. Outcomes stand in the order of the steps; one that fails fails no other. Steps of one
   * session run in order, sessions run in parallel.
   *
   * @throws as `call`, when the frame as a whole failed.
   */
  steps(steps: readonly SessionStep[]): Promise<Outcome[]> {
    return Session.stepAll(this, steps);
  }

  /**
   * Yields the events of a session behind the event with the id `after`, from the beginning where left out, until the session is
   * closed or the caller stops reading. It goes on after a reconnect without gaps.
   *
   * @throws as `call`; also when the events of the session are read already.
   */
  events(session: string, after?: string): AsyncGenerator<SessionEvent, void, undefined> {
    return this.#subscriptions.read(session, after);
  }

  /** Closes the stream. Sessions stay open; calls without an answer fail with `ClosedError`. */
  close(): void {
    this.#end(new ClosedError());
  }

  /** As `close`. */
  [Symbol.dispose](): void {
    this.close();
  }

  #send<Answer>(op: string, fields: object | (() => object), repeatable: boolean): Promise<Answer> {
    const answer = this.#frames.add(op, fields, repeatable);
    this.#flush();
    return answer as Promise<Answer>;
  }

  #flush(): void {
    const socket = this.#socket;
    if (socket) this.#frames.flush((text) => socket.send(text));
  }

  /** Runs until the stream is closed, or no connection can be made any more. */
  async #drive(socket: WebSocket): Promise<void> {
    try {
      for (;;) {
        const { reason, frameBytesMax } = await this.#converse(socket);
        this.#frames.requeue();
        this.#subscriptions.renew();
        if (frameBytesMax !== undefined) this.#frames.bound(frameBytesMax);
        await this.#wait(reason);
        socket = await this.#connect();
        this.#reconnects += 1;
      }
    } catch (error) {
      this.#end(error);
    }
  }

  async #converse(socket: WebSocket): Promise<Ending> {
    const madeAt = performance.now();
    this.#progress = false;
    this.#socket = socket;
    this.#flush();
    try {
      return await converse(socket, (text) => this.#receive(text), this.#options.silenceMaxMs, this.#closing.signal);
    } finally {
      this.#socket = undefined;
      this.#backoff.lost(performance.now(), madeAt, this.#progress);
    }
  }

  /** Tries until a connection comes about. */
  async #connect(): Promise<WebSocket> {
    for (;;) {
      const opening = await this.#endpoint.open(this.#closing.signal);
      if ("socket" in opening) return opening.socket;
      await this.#wait(opening.passing);
    }
  }

  async #wait(reason: string): Promise<void> {
    const now = performance.now();
    const waitMs = this.#backoff.failed(now);
    if (waitMs === undefined) throw new GaveUpError(this.#backoff.elapsed(now), reason);
    await pause(waitMs, this.#closing.signal);
  }

  /** Takes a message from the server; answers an ending where the connection is of no more use. */
  #receive(text: string): Ending | undefined {
    const { id, ok, error, event } = parse(text);
    if (event) {
      this.#subscriptions.receive(event);
    } else if (error?.code === "draining") {
      // The frame stays unanswered, and belongs to the next connection.
      return { reason: "the server is shutting down" };
    } else if (typeof id !== "number") {
      throw new UnexpectedAnswerError(101, error?.detail ?? text);
    } else {
      const frame = this.#frames.take(id);
      if (error) frame?.reject(new ApiError(error));
      else frame?.resolve(ok);
      this.#flush();
    }
    this.#progress = true;
    return undefined;
  }

  #end(error: unknown): void {
    this.#frames.end(error);
    this.#subscriptions.end(error);
    this.#closing.abort(error);
  }
}

/** Tells whether sending a frame twice is harmless. A step without `seq` means "whatever is next": it would act twice. */
function isRepeatable(op: string, fields: object): boolean {
  const { seq, items } = fields as { seq?: number | null; items?: { seq?: number | null }[] };
  if (op === "step") return seq != null;
  return op !== "steps" || (items ?? []).every((item) => item.seq != null);
}

function parse(text: string): Incoming {
  try {
    const incoming: unknown = JSON.parse(text);
    if (typeof incoming === "object" && incoming !== null) return incoming;
  } catch {
    // What is not JSON is quoted.
  }
  throw new UnexpectedAnswerError(101, text);
}
