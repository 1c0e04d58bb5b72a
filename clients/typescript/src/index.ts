// Programs that compile with an older library get the types of `using` all the same.
/// <reference lib="esnext.disposable" preserve="true" />

/** Client of Palestra: reinforcement-learning environments over HTTP and one reconnecting WebSocket. */

export { Client, type ClientOptions } from "./client.js";
export {
  ApiError,
  ClosedError,
  GaveUpError,
  InterruptedError,
  PalestraError,
  UnexpectedAnswerError,
  UnreachableError,
} from "./errors.js";
export type { AnswerOf, CommonOptions, Method, OperationOf, PathsOf, RequestOptions } from "./request-types.js";
export { Run, type RunOptions } from "./run.js";
export type { components, paths } from "./schema.js";
export { type Outcome, Session, type SessionStep, type StepOptions } from "./session.js";
export { Stream, type StreamOptions } from "./stream.js";
export type { Operations } from "./stream-operations.js";
export type * from "./types.js";
