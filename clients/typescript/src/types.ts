/** Names for the schemas of the API document that callers of this package meet. Fields keep their names on the wire. */

import type { components } from "./schema.js";

type Schemas = components["schemas"];

/** What a step does: plain text, a tool call, several tool calls, or an OpenAI assistant message. */
export type Action = Schemas["Action"];
/** Stable code of an error. */
export type Code = Schemas["Code"];
/** What opens one session, or `count` sessions of one task. */
export type CreateSession = Schemas["CreateSession"];
/** The answer to a creation: one session, or a list where `count` was given. */
export type Created = Schemas["Created"];
/** Something that happened in a session. */
export type SessionEvent = Schemas["Event"];
/** What ends an episode from outside. */
export type Finish = Schemas["Finish"];
/** The answer to ending an episode from outside. */
export type Finished = Schemas["Finished"];
/** Why a caller ends an episode. */
export type FinishReason = Schemas["FinishReason"];
/** What copies a session. */
export type Fork = Schemas["Fork"];
/** What an agent sees: `text` is always there and enough to act on. */
export type Observation = Schemas["Observation"];
/** The size that observations are cut to, and the blocks that are wanted. */
export type Observe = Schemas["Observe"];
/** A session with an episode that just began, or goes on from a point. */
export type Opened = Schemas["Opened"];
/** The answer to a request that waited for a verdict in vain. */
export type Pending = Schemas["Pending"];
/** An error document (RFC 9457). */
export type Problem = Schemas["Problem"];
/** What begins a new episode in a session. */
export type Reset = Schemas["Reset"];
/** What continues from a snapshot in a new episode. */
export type Restore = Schemas["Restore"];
/** A run as the server describes it. */
export type RunInfo = Schemas["Run"];
/** A session as the server describes it. */
export type SessionInfo = Schemas["Session"];
/** A named point of an episode. */
export type Snapshot = Schemas["Snapshot"];
/** One step of the acting side. */
export type Step = Schemas["Step"];
/** One step of a batch, with its session. */
export type StepItem = Schemas["StepItem"];
/** The answer of a step. */
export type Stepped = Schemas["Stepped"];
/** What names a point of the current episode. */
export type TakeSnapshot = Schemas["TakeSnapshot"];
/** The judgement of one episode by one verifier version. */
export type Verdict = Schemas["Verdict"];
/** What asks for a verdict. */
export type Verify = Schemas["Verify"];
