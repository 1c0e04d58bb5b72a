-- Model calls of sessions, one row each, written when they end. Request, response and token ids are JSON.

CREATE TABLE model_calls (
    id TEXT COLLATE "C" PRIMARY KEY,
    tenant TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    episode TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL CHECK (seq >= 0),
    kind TEXT NOT NULL CHECK (kind IN ('chat_completions', 'responses', 'messages', 'generate_content')),
    upstream TEXT COLLATE "C" NOT NULL,
    model TEXT NOT NULL,
    policy_version TEXT,
    outcome TEXT NOT NULL CHECK (outcome IN ('completed', 'failed', 'cancelled')),
    status BIGINT NOT NULL,
    error TEXT,
    finish_reason TEXT,
    streamed BOOLEAN NOT NULL,
    begun_at BIGINT NOT NULL,
    first_us BIGINT,
    duration_us BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cost DOUBLE PRECISION NOT NULL,
    request TEXT NOT NULL,
    response TEXT,
    prompt_token_ids TEXT,
    completion_token_ids TEXT,
    logprobs TEXT
);

CREATE INDEX model_calls_by_episode ON model_calls (episode, id);
CREATE INDEX model_calls_by_session ON model_calls (session, id);
CREATE INDEX model_calls_by_upstream ON model_calls (tenant, upstream, begun_at);
