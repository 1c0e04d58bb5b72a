/** Runs: sessions that end together, kept alive by heartbeats. */

import { pause } from "./backoff.js";
import type { Client } from "./client.js";
import { ApiError } from "./errors.js";
import { mayPass } from "./exchange.js";
import { newId } from "./identity.js";
import type { RunInfo } from "./types.js";

/** Heartbeats in the time that a lease lasts without one. */
const BEATS_PER_LEASE = 3;

/** Options of a run. */
export interface RunOptions {
  /** Time that the run lives without a heartbeat, in milliseconds: 1,000 to 86,400,000. */
  leaseMs: number;
}

/** A run whose lease is renewed until it is closed. Started by `Client.run`. Sessions enter it by `run: run.id`. */
export class Run implements AsyncDisposable {
  /** Id of the run: `run_` and 32 hexadecimal digits. */
  readonly id: string;
  readonly #client: Client;
  readonly #pauseMs: number;
  readonly #lost = new AbortController();
  readonly #closing = new AbortController();

  private constructor(client: Client, id: string, leaseMs: number) {
    this.id = id;
    this.#client = client;
    this.#pauseMs = leaseMs / BEATS_PER_LEASE;
  }

  /** @internal */
  static async start(client: Client, { leaseMs }: RunOptions): Promise<Run> {
    const id = newId("run_");
    await client.request("post", "/v1/runs", { body: { id, lease_ms: leaseMs }, repeatable: true });
    const run = new Run(client, id, leaseMs);
    void run.#beat();
    return run;
  }

  /**
   * Aborted when the run ends before it is closed here: its lease expired while the server was away, or somebody ended it. The
   * reason is the server's refusal, an `ApiError`.
   */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /**
   * Ends the run and closes its sessions. The verdicts of episodes that are still running are `invalid`.
   *
   * @throws {ApiError} when the server refused.
   */
  async close(): Promise<RunInfo> {
    this.#closing.abort();
    return this.#client.request("delete", "/v1/runs/{id}", { path: { id: this.id }, repeatable: true });
  }

  /** As `close`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #beat(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        await pause(this.#pauseMs, signal);
        await this.#client.request("post", "/v1/runs/{id}/heartbeat", { path: { id: this.id }, repeatable: true, signal });
      } catch (error) {
        // A server that is away may come back within the lease; one that refuses has ended the run.
        if (error instanceof ApiError && error.status < 500 && !mayPass(error)) {
          this.#lost.abort(error);
          return;
        }
      }
    }
  }
}
