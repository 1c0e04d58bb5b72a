/** Events of sessions, which go on after a reconnect. */

import { PalestraError } from "./errors.js";
import type { SessionEvent } from "./types.js";

/** Events that are kept for a slow reader. Beyond them the subscription ends, and begins again where the reader is. */
const EVENTS_MAX = 4_096;

/** Sends a frame; the promise settles with its answer. */
type Send = (op: "subscribe" | "unsubscribe", fields: () => object) => Promise<unknown>;

/** The events of one session that were received and not read yet. */
class Subscription {
  readonly events: SessionEvent[] = [];
  /** Id of the last event that was received. */
  after: string | undefined;
  /** True once the server has confirmed it. Until then its frame has no answer, and is kept with the others. */
  confirmed = false;
  /** True when no further event is taken. */
  full = false;
  /** Settles once the server has confirmed that no event follows. */
  left: Promise<unknown> | undefined;
  failure: { error: unknown } | undefined;
  /** Wakes the reader. */
  wake = () => {};

  constructor(after: string | undefined) {
    this.after = after;
  }

  fail(error: unknown): void {
    this.failure ??= { error };
    this.wake();
  }
}

/** The subscriptions of a stream, by session. */
export class Subscriptions {
  readonly #send: Send;
  readonly #bySession = new Map<string, Subscription>();

  constructor(send: Send) {
    this.#send = send;
  }

  /** Yields the events of a session behind the event `after`, until the session is closed or the caller stops reading. */
  async *read(session: string, after: string | undefined): AsyncGenerator<SessionEvent, void, undefined> {
    for (;;) {
      const subscription = await this.#begin(session, after);
      try {
        for await (const event of received(subscription)) {
          after = event.id;
          yield event;
          if (event.type === "closed") return;
        }
      } finally {
        this.#leave(session, subscription);
      }
    }
  }

  /** Takes an event that the server sent. */
  receive(event: SessionEvent): void {
    const subscription = this.#bySession.get(event.session);
    if (subscription === undefined || subscription.full) return;
    subscription.events.push(event);
    subscription.after = event.id;
    subscription.full = subscription.events.length >= EVENTS_MAX;
    subscription.wake();
  }

  /** Subscribes again, after a connection was lost. */
  renew(): void {
    for (const [session, subscription] of this.#bySession) {
      if (subscription.confirmed) this.#subscribe(session, subscription);
    }
  }

  /** Fails every subscription. */
  end(error: unknown): void {
    for (const subscription of this.#bySession.values()) subscription.fail(error);
  }

  async #begin(session: string, after: string | undefined): Promise<Subscription> {
    // Events of the subscription before must not be taken for those of this one.
    await this.#bySession.get(session)?.left;
    if (this.#bySession.has(session)) {
      throw new PalestraError(`the events of ${session} are read already: read them in one place, or over another stream`);
    }
    const subscription = new Subscription(after);
    this.#bySession.set(session, subscription);
    this.#subscribe(session, subscription);
    return subscription;
  }

  #subscribe(session: string, subscription: Subscription): void {
    subscription.confirmed = false;
    const fields = () => ({ session, ...(subscription.after === undefined ? {} : { after: subscription.after }) });
    this.#send("subscribe", fields).then(
      () => (subscription.confirmed = true),
      (error: unknown) => subscription.fail(error),
    );
  }

  #leave(session: string, subscription: Subscription): void {
    const forget = () => this.#bySession.delete(session);
    // A stream that has ended has no subscriptions any more.
    subscription.left = this.#send("unsubscribe", () => ({ session })).then(forget, forget);
  }
}

/** Yields what a subscription receives, until it is full and read. */
async function* received(subscription: Subscription): AsyncGenerator<SessionEvent, void, undefined> {
  for (;;) {
    if (subscription.events.length > 0) {
      yield* subscription.events.splice(0);
      continue;
    }
    if (subscription.failure) throw subscription.failure.error;
    if (subscription.full) return;
    await new Promise<void>((resolve) => (subscription.wake = resolve));
  }
}
