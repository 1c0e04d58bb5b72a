/** Types of the HTTP calls, derived from the generated `paths`: what each takes, and what it answers. */

import type { paths } from "./schema.js";

/** A method of HTTP in the spelling of the API document. */
export type Method = "get" | "put" | "post" | "delete";

/** The paths that have method `M`, such as `/v1/environments/{family}/{name}`. */
export type PathsOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, object> ? P : never;
}[keyof paths];

/** The operation behind a method and a path. */
export type OperationOf<M extends Method, P extends PathsOf<M>> = paths[P][M];

type Json = "application/json";

type BodyOf<Content> =
  | (Json extends keyof Content ? { body: Content[Json]; contentType?: undefined } : never)
  | (Exclude<keyof Content, Json> extends never ? never : { body: BodyInit; contentType: Exclude<keyof Content, Json> });

// Conditions stand in brackets, so that the compiler does not try each path by itself while it reads a call.
type BodyOption<O> = [O] extends [{ requestBody: { content: infer Content } }]
  ? BodyOf<Content>
  : [O] extends [{ requestBody?: { content: infer Content } }]
    ? unknown extends Content
      ? { body?: undefined; contentType?: undefined }
      : BodyOf<Content> | { body?: undefined; contentType?: undefined }
    : never;

type PathOption<O> = [O] extends [{ parameters: { path: infer Path } }] ? { path: Path } : { path?: undefined };

type QueryOption<O> = [O] extends [{ parameters: { query: infer Query } }]
  ? { query: Query }
  : [O] extends [{ parameters: { query?: infer Query } }]
    ? { query?: NonNullable<Query> }
    : never;

/** Options that every request has. */
export interface CommonOptions {
  /** Further headers, such as `Last-Event-ID`. */
  headers?: Record<string, string>;
  /**
   * Text of your choice (1 to 255 visible ASCII characters), sent as `Idempotency-Key`: the request acts once, so that it is
   * repeated when its answer is lost. Jobs, sessions, forks, resets, snapshots and restores take one.
   */
  idempotencyKey?: string;
  /** True if the request is safe to repeat though it is no GET and has no key, such as a creation with an `id` of your choice. */
  repeatable?: boolean;
  /** Ends the request, and the waits between its repetitions. */
  signal?: AbortSignal;
}

/**
 * What an operation takes: `path` and `query` parameters, and a `body`, which is sent as JSON. Where `contentType` names another
 * type that the operation reads, `body` is sent as it is.
 */
export type RequestOptions<O> = PathOption<O> & QueryOption<O> & BodyOption<O> & CommonOptions;

/** The options as arguments, which may be left out where none is required. */
export type RequestArguments<O> = {} extends RequestOptions<O> ? [options?: RequestOptions<O>] : [options: RequestOptions<O>];

type Success = 200 | 201 | 202 | 204;

type ContentOf<Answer> = Answer extends { content: infer Content }
  ? (Json extends keyof Content ? Content[Json] : never) | (Exclude<keyof Content, Json> extends never ? never : Response)
  : undefined;

/**
 * What an operation answers: the value of a JSON body, undefined where there is no body, and otherwise the `Response`, to be read
 * as text, bytes or a stream.
 */
export type AnswerOf<O> = O extends { responses: infer Responses } ? ContentOf<Responses[keyof Responses & Success]> : never;
