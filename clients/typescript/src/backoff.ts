/** The wait before the next attempt, and the time to give up. */

/** A connection that held this long counts as a success even when nothing was answered over it, in milliseconds. */
const STABLE_MS = 5_000;

/** Limits of repeated attempts. */
export interface BackoffOptions {
  /** The wait before the second attempt, in milliseconds; doubled by every further failure. */
  backoffMs: number;
  /** The longest wait between two attempts, in milliseconds. */
  backoffMaxMs: number;
  /** Time without any success after which no further attempt is made, in milliseconds. */
  giveUpMs: number;
}

/** Counts failures in a row. Times are in milliseconds of any one clock. */
export class Backoff {
  readonly #options: BackoffOptions;
  #failures = 0;
  #since: number;

  constructor(options: BackoffOptions, now: number) {
    this.#options = options;
    this.#since = now;
  }

  /**
   * Notes how a connection ended that was made at `madeAt`. Only one that brought something ends the row of failures, so that a
   * frame which kills every connection cannot keep a stream busy for ever.
   */
  lost(now: number, madeAt: number, progress: boolean): void {
    if (progress || now - madeAt >= STABLE_MS) {
      this.#failures = 0;
      this.#since = now;
    }
  }

  /** The time since the last success, in milliseconds. */
  elapsed(now: number): number {
    return now - this.#since;
  }

  /**
   * Notes a failure. Answers the wait in milliseconds: a random part, at least half, of base · 2^failures up to its cap;
   * undefined when it is time to give up.
   */
  failed(now: number): number | undefined {
    const { backoffMs, backoffMaxMs, giveUpMs } = this.#options;
    const left = giveUpMs - this.elapsed(now);
    if (left <= 0) return undefined;
    const full = Math.min(backoffMs * 2 ** this.#failures, backoffMaxMs);
    this.#failures += 1;
    return Math.min(full / 2 + (Math.random() * full) / 2, left);
  }
}

/** Waits. Rejects with the signal's reason as soon as it is aborted. */
export function pause(waitMs: number, signal: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abandon = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abandon);
      resolve();
    }, waitMs);
    signal?.addEventListener("abort", abandon, { once: true });
  });
}
