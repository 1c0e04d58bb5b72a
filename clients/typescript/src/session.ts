/** A session: one place to act in an environment, whose steps number themselves. */

import { ApiError } from "./errors.js";
import type { Stream } from "./stream.js";
import type {
  Action,
  Finished,
  FinishReason,
  Fork,
  Observe,
  Opened,
  Reset,
  SessionEvent,
  SessionInfo,
  Snapshot,
  StepItem,
  Stepped,
  Verdict,
} from "./types.js";

/** What a step holds beside its action. */
export interface StepOptions {
  /** The form of this observation; the session's own where left out. */
  observe?: Observe;
  /** Stored with the step (at most 64 KiB of JSON), and never shown to the environment. */
  meta?: unknown;
}

/** One step of a batch. */
export interface SessionStep extends StepOptions {
  /** The session that acts. */
  session: Session;
  /** What it does. */
  action: Action;
}

/** The outcome of one step of a batch. */
export type Outcome = { ok: Stepped } | { error: ApiError };

/** What carries a session's frames. */
type Carrier = Pick<Stream, "call" | "events">;

/** A session over a stream. Opened by `Stream.open`, or made of the answer that opened it elsewhere. */
export class Session implements AsyncDisposable {
  readonly #stream: Carrier;
  #opened: Opened;
  /** The last step of the present episode that was answered. */
  #seq: number;
  /** Number of steps that have no answer yet. */
  #underWay = 0;

  constructor(stream: Carrier, opened: Opened) {
    this.#stream = stream;
    this.#opened = opened;
    this.#seq = opened.seq;
  }

  /** Id of the session: `ses_` and 32 hexadecimal digits. */
  get id(): string {
    return this.#opened.id;
  }

  /** The answer that began the present episode: `task`, `messages`, `tools`, `observation`, `token` and more. */
  get opened(): Opened {
    return this.#opened;
  }

  /** Id of the present episode. */
  get episode(): string {
    return this.#opened.episode;
  }

  /** The last step that was answered; 0 at the beginning of an episode. */
  get seq(): number {
    return this.#seq;
  }

  /**
   * Takes a step. Steps may be pipelined: each has the number behind the one before, in the order of these calls. After a step
   * that failed, wait for those under way: the numbers then go on behind the last step that was taken.
   *
   * @throws {ApiError} `episode_over` when the episode has ended, `wrong_episode` when another client has begun a new one,
   * `session_busy` when more than 64 commands of the session wait.
   * @throws {GaveUpError} when the server could not be reached.
   */
  async step(action: Action, options: StepOptions = {}): Promise<Stepped> {
    const step = this.#next(action, options);
    try {
      return this.#took(await this.#stream.call("step", step));
    } finally {
      this.#underWay -= 1;
    }
  }

  /**
   * Begins a new episode: of the same task where the request names no other.
   *
   * @throws {ApiError} when the server refused.
   */
  async reset(request: Reset = {}): Promise<Opened> {
    return this.#begin(await this.#stream.call("reset", { session: this.id, ...request }));
  }

  /**
   * Ends the episode and judges it, unless the session was opened with `verify: "manual"`. The reason `aborted` makes it no
   * sample; `detail` then says why.
   *
   * @throws {ApiError} when the server refused.
   */
  finish(reason: FinishReason, detail?: string): Promise<Finished> {
    const cause = detail === undefined ? {} : { detail };
    return this.#stream.call("finish", { session: this.id, episode: this.episode, reason, ...cause });
  }

  /**
   * Judges the episode, after ending it if it is still running, and waits until the verdict is there. With `probe` it judges
   * without ending the episode.
   *
   * @throws {ApiError} when the server refused.
   */
  async verify(options: { probe?: boolean } = {}): Promise<Verdict> {
    for (;;) {
      const answer = await this.#stream.call("verify", { session: this.id, ...options });
      // A verifier that takes longer than the server waits is asked again: it judges once.
      if ("status" in answer) return answer;
    }
  }

  /**
   * Copies the session, once or `count` times: as it is now, or as it was after step `at_seq`.
   *
   * @throws {ApiError} `not_supported` when the environment cannot be copied there.
   */
  async fork(request: Fork = {}): Promise<Session[]> {
    const { data } = await this.#stream.call("fork", { session: this.id, ...request });
    return data.map((opened) => new Session(this.#stream, opened));
  }

  /**
   * Names the present point of the episode.
   *
   * @throws {ApiError} `not_supported` when the environment cannot keep it.
   */
  snapshot(name?: string): Promise<Snapshot> {
    return this.#stream.call("snapshot", { session: this.id, ...(name === undefined ? {} : { name }) });
  }

  /**
   * Begins a new episode at a snapshot of this session. Its steps go on behind the snapshot's `seq`.
   *
   * @throws {ApiError} `not_found` when there is no such snapshot.
   */
  async restore(snapshot: string): Promise<Opened> {
    return this.#begin(await this.#stream.call("restore", { session: this.id, snapshot }));
  }

  /**
   * Yields the events of the session behind the event with the id `after`, from the beginning where left out, until the session
   * is closed or the caller stops reading.
   *
   * @throws {ApiError} when the server refused.
   */
  events(after?: string): AsyncGenerator<SessionEvent, void, undefined> {
    return this.#stream.events(this.id, after);
  }

  /**
   * Closes the session; its record stays.
   *
   * @throws {ApiError} when the server refused.
   */
  close(): Promise<SessionInfo> {
    return this.#stream.call("close", { session: this.id });
  }

  /** As `close`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** @internal */
  static async stepAll(stream: Carrier, steps: readonly SessionStep[]): Promise<Outcome[]> {
    const items = steps.map(({ session, action, ...options }) => session.#next(action, options));
    try {
      const { data } = await stream.call("steps", { items });
      return data.map((outcome, place) =>
        "ok" in outcome ? { ok: steps[place]!.session.#took(outcome.ok) } : { error: new ApiError(outcome.error) },
      );
    } finally {
      for (const { session } of steps) session.#underWay -= 1;
    }
  }

  /** The next step, which counts as under way. Its episode guards against a step that arrives after a reset. */
  #next(action: Action, options: StepOptions): StepItem {
    this.#underWay += 1;
    return { session: this.id, seq: this.#seq + this.#underWay, episode: this.episode, action, ...options };
  }

  #took(stepped: Stepped): Stepped {
    this.#seq = stepped.seq;
    return stepped;
  }

  #begin(opened: Opened): Opened {
    this.#opened = opened;
    this.#seq = opened.seq;
    return opened;
  }
}
