/** One connection of a stream: its opening, and messages in both directions until it breaks. */

import { below } from "./address.js";
import { PalestraError, UnexpectedAnswerError, causes, errorOf } from "./errors.js";

const SUBPROTOCOL = "palestra.json";
/** Subprotocols with this prefix carry the credential, since a WebSocket cannot set headers. */
const BEARER_PREFIX = "bearer.";
/** Time limit of one opening, in milliseconds. */
const OPEN_TIMEOUT_MS = 10_000;
/** Ticks of the clock in the time that a silent connection counts as alive. */
const TICKS_OF_SILENCE = 3;
/** The server answers this at once, whatever else it does, and nothing follows from it. No other frame has the id 0. */
const PROBE = JSON.stringify({ id: 0, op: "unsubscribe", session: `ses_${"0".repeat(32)}` });
/** Close code of a socket that sent a frame larger than the server reads (RFC 6455, section 7.4). */
const CLOSE_TOO_LARGE = 1009;

/** The outcome of one opening: a connected socket, or why it may work later. */
export type Opening = { socket: WebSocket } | { passing: string };

/** Address and credential of a stream. */
export class Endpoint {
  readonly #address: URL;
  readonly #whoami: URL;
  readonly #key: string | undefined;

  /** @throws {PalestraError} when the key cannot be sent as a subprotocol. */
  constructor(base: URL, key: string | undefined) {
    // The characters of a token (RFC 9110, section 5.6.2).
    if (key !== undefined && !/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(key)) {
      throw new PalestraError("the key holds characters that a WebSocket cannot send: use one that `POST /v1/keys` makes");
    }
    this.#address = below(base, "/v1/stream");
    this.#address.protocol = base.protocol === "https:" ? "wss:" : "ws:";
    this.#whoami = below(base, "/v1/whoami");
    this.#key = key;
  }

  /**
   * One attempt.
   *
   * @throws {PalestraError} when another attempt makes no sense.
   */
  async open(signal: AbortSignal): Promise<Opening> {
    const protocols = this.#key === undefined ? [SUBPROTOCOL] : [SUBPROTOCOL, BEARER_PREFIX + this.#key];
    const socket = new WebSocket(this.#address, protocols);
    const failure = await opened(socket, AbortSignal.any([signal, AbortSignal.timeout(OPEN_TIMEOUT_MS)]));
    if (failure === undefined) return { socket };
    socket.close();
    signal.throwIfAborted();
    return { passing: await this.#explain(failure) };
  }

  /** A WebSocket does not tell why it was refused: an HTTP request with the same credential does. */
  async #explain(failure: string): Promise<string> {
    const headers: HeadersInit = this.#key === undefined ? {} : { authorization: `Bearer ${this.#key}` };
    let answer: Response;
    let body: string;
    try {
      answer = await fetch(this.#whoami, { headers, signal: AbortSignal.timeout(OPEN_TIMEOUT_MS) });
      body = await answer.text();
    } catch (error) {
      return causes(error);
    }
    if (answer.ok) return failure;
    const error = errorOf(answer.status, body);
    if (answer.status >= 500 || answer.status === 408 || answer.status === 429) return error.message;
    throw error;
  }
}

/** Waits until a socket is open. Answers why it is not. */
function opened(socket: WebSocket, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    const late = () => resolve("the WebSocket did not open in time");
    signal.addEventListener("abort", late, { once: true });
    const settle = (failure?: string) => {
      signal.removeEventListener("abort", late);
      resolve(failure);
    };
    socket.onopen = () => settle();
    socket.onerror = socket.onclose = () => settle("the WebSocket was refused");
  });
}

/** How a connection ended. */
export interface Ending {
  /** Why, in words. */
  reason: string;
  /** Bytes of the largest frame that the server reads, where it told so because of a larger one. */
  frameBytesMax?: number;
}

/** What takes the messages of a connection. It answers an ending where nothing more can follow. */
export type Receiver = (text: string) => Ending | undefined;

/**
 * Hands messages to `receive` until the connection ends, and tells how it ended. A connection that is silent for `silenceMaxMs`,
 * though the server was asked for a sign of life, counts as lost. `closing` ends it.
 *
 * @throws {PalestraError} what `receive` throws, and when the other side does not speak as agreed.
 */
export function converse(
  socket: WebSocket,
  receive: Receiver,
  silenceMaxMs: number,
  closing: AbortSignal,
): Promise<Ending> {
  return new Promise((resolve, reject) => {
    let silentTicks = 0;
    const settle = (conclude: () => void) => {
      clearInterval(clock);
      closing.removeEventListener("abort", close);
      socket.onmessage = socket.onerror = socket.onclose = null;
      socket.close();
      conclude();
    };
    const end = (ending: Ending) => settle(() => resolve(ending));
    const close = () => end({ reason: "the stream was closed" });
    closing.addEventListener("abort", close, { once: true });
    // Ticks are counted, not time: browsers slow the clocks of pages that nobody looks at.
    const clock = setInterval(() => {
      silentTicks += 1;
      if (silentTicks > TICKS_OF_SILENCE) end({ reason: "the server fell silent" });
      else socket.send(PROBE);
    }, silenceMaxMs / TICKS_OF_SILENCE);
    socket.onmessage = ({ data }: MessageEvent<unknown>) => {
      silentTicks = 0;
      try {
        if (typeof data !== "string") throw new UnexpectedAnswerError(101, "a binary message");
        const ending = receive(data);
        if (ending !== undefined) end(ending);
      } catch (error) {
        settle(() => reject(error));
      }
    };
    socket.onerror = () => end({ reason: "the connection broke" });
    socket.onclose = ({ code, reason }) => end(endingOf(code, reason));
    if (closing.aborted) close();
  });
}

function endingOf(code: number, reason: string): Ending {
  const ending: Ending = { reason: `the server closed the stream: ${code} ${reason}` };
  const bytes = code === CLOSE_TOO_LARGE ? /\d+/.exec(reason)?.[0] : undefined;
  return bytes === undefined ? ending : { ...ending, frameBytesMax: Number(bytes) };
}
