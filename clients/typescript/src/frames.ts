/** Frames without an answer, which have to survive a connection. */

import { InterruptedError, tooLarge } from "./errors.js";

/** Most bytes that one UTF-16 code unit takes in UTF-8. */
const BYTES_PER_UNIT_MAX = 3;

/** A frame on its way to its answer. */
interface Frame {
  id: number;
  /** The frame as JSON, made anew whenever it is sent. */
  text: () => string;
  /** True where sending it again is harmless. */
  repeatable: boolean;
  resolve: (answer: unknown) => void;
  reject: (error: unknown) => void;
}

/** Frames by the order in which they were made: those that wait to be sent, and those that wait for their answers. */
export class Frames {
  readonly #inFlightMax: number;
  readonly #queued = new Set<Frame>();
  readonly #unanswered = new Map<number, Frame>();
  #bytesMax: number;
  #lastId = 0;
  #end: { error: unknown } | undefined;

  constructor(inFlightMax: number, bytesMax: number) {
    this.#inFlightMax = inFlightMax;
    this.#bytesMax = bytesMax;
  }

  /**
   * Queues a frame; the promise settles with its answer. Fields that are given as a function are read whenever it is sent.
   *
   * @throws {ApiError} `too_large` when it has more bytes than the server reads.
   */
  add(op: string, fields: object | (() => object), repeatable: boolean): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#end) throw this.#end.error;
      const id = (this.#lastId += 1);
      const encode = (fields: object) => JSON.stringify({ id, op, ...fields });
      let text: () => string;
      if (typeof fields === "function") {
        text = () => encode(fields());
      } else {
        // Encoded once: what the caller changes later is not sent.
        const encoded = encode(fields);
        const bytes = utf8Bytes(encoded, this.#bytesMax);
        if (bytes > this.#bytesMax) throw tooLarge(bytes, this.#bytesMax);
        text = () => encoded;
      }
      this.#queued.add({ id, text, repeatable, resolve, reject });
    });
  }

  /** Hands queued frames to `send`, in order, as long as fewer than `inFlightMax` have no answer. */
  flush(send: (text: string) => void): void {
    for (const frame of this.#queued) {
      if (this.#unanswered.size >= this.#inFlightMax) return;
      this.#queued.delete(frame);
      // Kept before it is sent: the end of the connection may come at any moment.
      this.#unanswered.set(frame.id, frame);
      send(frame.text());
    }
  }

  /** Takes the frame that is answered out; undefined where it was answered before. */
  take(id: number): Pick<Frame, "resolve" | "reject"> | undefined {
    const frame = this.#unanswered.get(id);
    this.#unanswered.delete(id);
    return frame;
  }

  /** Prepares the next connection: frames without an answer go back to the head of the queue, or fail if they might act twice. */
  requeue(): void {
    const later = [...this.#queued];
    this.#queued.clear();
    for (const frame of this.#unanswered.values()) {
      if (frame.repeatable) this.#queued.add(frame);
      else frame.reject(new InterruptedError());
    }
    this.#unanswered.clear();
    for (const frame of later) this.#queued.add(frame);
  }

  /** Learns a smaller bound: larger frames fail, those in the queue and those to come. */
  bound(bytesMax: number): void {
    this.#bytesMax = bytesMax;
    for (const frame of this.#queued) {
      const bytes = utf8Bytes(frame.text(), bytesMax);
      if (bytes <= bytesMax) continue;
      this.#queued.delete(frame);
      frame.reject(tooLarge(bytes, bytesMax));
    }
  }

  /** Fails every frame, and those to come. */
  end(error: unknown): void {
    this.#end ??= { error };
    for (const frame of [...this.#unanswered.values(), ...this.#queued]) frame.reject(this.#end.error);
    this.#unanswered.clear();
    this.#queued.clear();
  }
}

/** Bytes of a text in UTF-8; a text that is short enough in any case is not counted. */
function utf8Bytes(text: string, bytesMax: number): number {
  return text.length * BYTES_PER_UNIT_MAX <= bytesMax ? text.length : new TextEncoder().encode(text).length;
}
