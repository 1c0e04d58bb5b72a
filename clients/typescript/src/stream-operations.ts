/** Frames of the stream by operation: the fields that they hold, and their answers. */

import type {
  CreateSession,
  Created,
  Finish,
  Finished,
  Fork,
  Opened,
  Pending,
  Problem,
  Reset,
  Restore,
  SessionInfo,
  Snapshot,
  Step,
  StepItem,
  Stepped,
  TakeSnapshot,
  Verdict,
  Verify,
} from "./types.js";

interface OfSession {
  /** Id of the session. */
  session: string;
}

/** The operations of a stream. Each has the fields and the answer of the HTTP call of the same name. */
export interface Operations {
  create: { fields: CreateSession; answer: Created };
  reset: { fields: OfSession & Reset; answer: Opened };
  step: { fields: OfSession & Step; answer: Stepped };
  steps: { fields: { items: StepItem[] }; answer: { data: ({ ok: Stepped } | { error: Problem })[] } };
  finish: { fields: OfSession & Finish; answer: Finished };
  verify: { fields: OfSession & Verify; answer: Verdict | Pending };
  fork: { fields: OfSession & Fork; answer: { data: Opened[] } };
  snapshot: { fields: OfSession & TakeSnapshot; answer: Snapshot };
  restore: { fields: OfSession & Restore; answer: Opened };
  close: { fields: OfSession; answer: SessionInfo };
}
