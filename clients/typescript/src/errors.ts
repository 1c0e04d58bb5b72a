/** Why a call did not bring its answer. */

import type { Code, Problem } from "./types.js";

/** Characters of an answer that are quoted where it is no problem document. */
const EXCERPT_CHARACTERS_MAX = 200;

/** The base of all errors of this package. */
export class PalestraError extends Error {
  override readonly name: string = "PalestraError";
}

/** The server refused, and says why. */
export class ApiError extends PalestraError {
  override readonly name = "ApiError";
  /** The problem document (RFC 9457), with the fields that belong to its code, such as `expected` of `step_ahead`. */
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(`${problem.code} (${problem.status}): ${describe(problem)}`);
    this.problem = problem;
  }

  /** HTTP status, such as 409. */
  get status(): number {
    return this.problem.status;
  }

  /** Stable code, such as `step_conflict`. */
  get code(): Code {
    return this.problem.code;
  }

  /** The reason this time, and what to do about it. */
  get detail(): string {
    return this.problem.detail;
  }
}

/** The answer has a form that no Palestra server gives: something else answered. */
export class UnexpectedAnswerError extends PalestraError {
  override readonly name = "UnexpectedAnswerError";
  /** HTTP status; 101 for a message of the stream. */
  readonly status: number;

  constructor(status: number, excerpt: string) {
    const quoted = excerpt.slice(0, EXCERPT_CHARACTERS_MAX);
    super(`the answer (status ${status}) is none of a Palestra server, check the address: ${quoted}`);
    this.status = status;
  }
}

/** The server could not be reached, or the connection broke before the whole answer came. */
export class UnreachableError extends PalestraError {
  override readonly name = "UnreachableError";

  constructor(reason: string) {
    super(`the server cannot be reached, check that it runs and its address: ${reason}`);
  }
}

/** The connection broke while a frame had no answer that must not be sent twice. It may have acted. */
export class InterruptedError extends PalestraError {
  override readonly name = "InterruptedError";

  constructor() {
    super("the connection broke, and this frame is not safe to send again: give a step its `seq`");
  }
}

/** No connection could be kept for as long as the stream was told to try. */
export class GaveUpError extends PalestraError {
  override readonly name = "GaveUpError";
  /** The time that it was tried, in milliseconds. */
  readonly elapsedMs: number;

  constructor(elapsedMs: number, last: string) {
    const seconds = (elapsedMs / 1_000).toFixed(1);
    super(`no connection came about within ${seconds} s, check that the server runs and its address: ${last}`);
    this.elapsedMs = elapsedMs;
  }
}

/** The stream was closed by its owner. */
export class ClosedError extends PalestraError {
  override readonly name = "ClosedError";

  constructor() {
    super("the stream is closed: open another one");
  }
}

/** The refusal of a frame of `bytes` that is not sent, since the server reads at most `bytesMax` and would close the stream. */
export function tooLarge(bytes: number, bytesMax: number): ApiError {
  const detail =
    `a frame of ${bytes} bytes is larger than the ${bytesMax} that the server reads: send less, ` +
    "or start it with a larger --body-bytes-max";
  const title = "What was sent is too large.";
  return new ApiError({ type: "/problems/too_large", title, status: 413, code: "too_large", detail });
}

/** The detail of a problem, and every fault that the detail does not name already, in one line. */
function describe(problem: Problem): string {
  let text = problem.detail;
  for (const { line, field, detail } of problem.errors ?? []) {
    const fault = `${line == null ? "" : `line ${line}: `}${field == null ? "" : `${field}: `}${detail}`;
    if (!text.includes(fault)) text += `; ${fault}`;
  }
  return text;
}

/** The error that the body of an answer without success describes. */
export function errorOf(status: number, body: string): ApiError | UnexpectedAnswerError {
  try {
    const problem: unknown = JSON.parse(body);
    if (isProblem(problem)) return new ApiError(problem);
  } catch {
    // What is not JSON is quoted.
  }
  return new UnexpectedAnswerError(status, body);
}

function isProblem(value: unknown): value is Problem {
  const problem = value as Partial<Problem> | null;
  return typeof problem?.code === "string" && typeof problem.detail === "string" && typeof problem.status === "number";
}

/** An error with what caused it: the text of `fetch` leaves out the reason, such as a refused connection. */
export function causes(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // A name with several addresses fails with an error for each, and no text of its own.
  const text = error.message || (error as { code?: string }).code || error.name;
  return error.cause === undefined ? text : `${text}: ${causes(error.cause)}`;
}
