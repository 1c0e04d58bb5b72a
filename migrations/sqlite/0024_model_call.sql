-- Model calls of sessions, one row each, written when they end. Request, response and token ids are JSON.

CREATE TABLE model_calls (
    id TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    session TEXT NOT NULL,
    episode TEXT NOT NULL,
    seq INTEGER NOT NULL CHECK (seq >= 0),
    kind TEXT NOT NULL CHECK (kind IN ('chat_completions', 'responses', 'messages', 'generate_content')),
    upstream TEXT NOT NULL,
    model TEXT NOT NULL,
    policy_version TEXT,
    outcome TEXT NOT NULL CHECK (outcome IN ('completed', 'failed', 'cancelled')),
    status INTEGER NOT NULL,
    error TEXT,
    finish_reason TEXT,
    streamed BOOLEAN NOT NULL CHECK (streamed IN (0, 1)),
    begun_at INTEGER NOT NULL,
    first_us INTEGER,
    duration_us INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost REAL NOT NULL,
    request TEXT NOT NULL,
    response TEXT,
    prompt_token_ids TEXT,
    completion_token_ids TEXT,
    logprobs TEXT
);

CREATE INDEX model_calls_by_episode ON model_calls (episode, id);
CREATE INDEX model_calls_by_session ON model_calls (session, id);
CREATE INDEX model_calls_by_upstream ON model_calls (tenant, upstream, begun_at);
