/** One HTTP request and its answer, repeated where that is safe and may help. */

import { Backoff, type BackoffOptions, pause } from "./backoff.js";
import { ApiError, UnexpectedAnswerError, UnreachableError, causes, errorOf } from "./errors.js";
import type { Code } from "./types.js";

/** Statuses of answers that may pass. */
const PASSING_STATUSES = new Set([408, 429, 502, 503, 504]);
/** Codes of such statuses that no wait helps against. */
const LASTING_CODES = new Set<Code>(["unavailable", "policy_cold"]);
const MS_PER_SECOND = 1_000;

/** A failed attempt. */
interface Failure {
  error: ApiError | UnexpectedAnswerError | UnreachableError;
  /** What the server asks to wait, in milliseconds. */
  retryAfterMs: number;
}

/**
 * Sends a request until it is answered. One that is not `repeatable` is sent once; others again after lost connections and
 * answers that may pass, until `limits.giveUpMs` are over. Answers the value of a JSON body, undefined where there is no body,
 * and otherwise the `Response`.
 *
 * @throws {ApiError} when the server refused.
 * @throws {UnreachableError} when no whole answer came.
 */
export async function exchange(
  address: URL,
  request: RequestInit,
  repeatable: boolean,
  limits: BackoffOptions,
): Promise<unknown> {
  const backoff = new Backoff(limits, performance.now());
  for (;;) {
    const outcome = await attempt(address, request);
    if ("answer" in outcome) return outcome.answer;
    const waitMs = repeatable && mayPass(outcome.error) ? backoff.failed(performance.now()) : undefined;
    if (waitMs === undefined) throw outcome.error;
    await pause(Math.max(waitMs, outcome.retryAfterMs), request.signal ?? null);
  }
}

/** Tells whether the same request may succeed later: the server is away, stops, or has too much to do. */
export function mayPass(error: Failure["error"]): boolean {
  if (error instanceof UnreachableError) return true;
  return PASSING_STATUSES.has(error.status) && !(error instanceof ApiError && LASTING_CODES.has(error.code));
}

async function attempt(address: URL, request: RequestInit): Promise<{ answer: unknown } | Failure> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(address, request);
    if (response.status === 204) return { answer: undefined };
    if (response.ok && !isJson(response)) return { answer: response };
    text = await response.text();
  } catch (error) {
    request.signal?.throwIfAborted();
    return { error: new UnreachableError(causes(error)), retryAfterMs: 0 };
  }
  if (!response.ok) return { error: errorOf(response.status, text), retryAfterMs: retryAfterMs(response) };
  try {
    return { answer: JSON.parse(text) };
  } catch {
    return { error: new UnexpectedAnswerError(response.status, text), retryAfterMs: 0 };
  }
}

function isJson(response: Response): boolean {
  return /^application\/json *(;|$)/.test(response.headers.get("content-type") ?? "");
}

function retryAfterMs(response: Response): number {
  const seconds = Number(response.headers.get("retry-after"));
  return Number.isFinite(seconds) ? seconds * MS_PER_SECOND : 0;
}
