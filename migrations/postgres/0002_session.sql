-- Sessions and what happens in them. The tenant is in every table that is read by tenant, and the node in sessions, from the
-- first migration on, because both are hard to add later. There are no foreign keys: one recorder writes all of this in
-- order, and on PostgreSQL a foreign key would lock and rewrite the episode's row with every step.
-- Times are milliseconds since 1970 in UTC. JSON is TEXT because JSONB cannot hold an escaped NUL; cast it to search in it.
-- A rollout group's column is `group_id`, since GROUP is a word of SQL.

CREATE TABLE sessions (
    id TEXT COLLATE "C" PRIMARY KEY,
    tenant TEXT COLLATE "C" NOT NULL,
    node TEXT COLLATE "C" NOT NULL,
    environment TEXT NOT NULL,
    version BIGINT NOT NULL CHECK (version >= 0),
    digest TEXT NOT NULL,
    run TEXT COLLATE "C",
    group_id TEXT COLLATE "C",
    parent TEXT COLLATE "C",
    state TEXT NOT NULL CHECK (state IN ('open', 'closed')),
    closed_reason TEXT CHECK (closed_reason IN ('deleted', 'expired', 'idle', 'run_ended', 'lost')),
    record TEXT NOT NULL CHECK (record IN ('group', 'sync', 'none')),
    verify TEXT NOT NULL CHECK (verify IN ('on_end', 'manual')),
    limits TEXT NOT NULL,
    observe TEXT NOT NULL,
    config TEXT NOT NULL,
    metadata TEXT NOT NULL,
    episode TEXT COLLATE "C" NOT NULL,
    task TEXT NOT NULL,
    seed BIGINT NOT NULL CHECK (seed >= 0),
    episodes BIGINT NOT NULL CHECK (episodes >= 0),
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    closed_at BIGINT,
    CHECK ((state = 'closed') = (closed_at IS NOT NULL))
) WITH (fillfactor = 85);

CREATE UNIQUE INDEX sessions_by_tenant ON sessions (tenant, id);
CREATE INDEX sessions_by_run ON sessions (run, id) WHERE run IS NOT NULL;
CREATE INDEX sessions_by_group ON sessions (group_id, id) WHERE group_id IS NOT NULL;
CREATE INDEX sessions_open ON sessions (node, expires_at) WHERE state = 'open';

CREATE TABLE episodes (
    id TEXT COLLATE "C" PRIMARY KEY,
    session TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    ordinal BIGINT NOT NULL CHECK (ordinal >= 1),
    attempt BIGINT NOT NULL CHECK (attempt >= 1),
    environment TEXT NOT NULL,
    version BIGINT NOT NULL CHECK (version >= 0),
    digest TEXT NOT NULL,
    task TEXT NOT NULL,
    seed BIGINT NOT NULL CHECK (seed >= 0),
    config TEXT NOT NULL,
    origin_episode TEXT COLLATE "C",
    origin_seq BIGINT CHECK (origin_seq >= 0),
    salt BIGINT,
    run TEXT COLLATE "C",
    group_id TEXT COLLATE "C",
    state TEXT NOT NULL CHECK (state IN ('running', 'ended')),
    seq BIGINT CHECK (seq >= 0),
    terminated BOOLEAN NOT NULL,
    truncated BOOLEAN NOT NULL,
    stop_reason TEXT CHECK (stop_reason IN (
        'done', 'max_steps', 'max_calls', 'wall_limit', 'max_tokens', 'max_turns', 'gave_up', 'aborted', 'verified', 'left',
        'infra_error', 'lease_expired', 'expired'
    )),
    status TEXT CHECK (status IN ('scored', 'timeout', 'infra_error', 'verifier_error', 'invalid')),
    score DOUBLE PRECISION CHECK (score >= 0 AND score <= 1),
    verdict TEXT,
    started_at BIGINT NOT NULL,
    ended_at BIGINT,
    CHECK ((origin_episode IS NULL) = (origin_seq IS NULL)),
    CHECK ((status IS NULL) = (verdict IS NULL)),
    CHECK (score IS NULL OR status = 'scored')
) WITH (fillfactor = 85);

CREATE UNIQUE INDEX episodes_by_tenant ON episodes (tenant, id);
CREATE UNIQUE INDEX episodes_by_session ON episodes (session, ordinal);
CREATE INDEX episodes_by_run ON episodes (run, id) WHERE run IS NOT NULL;
CREATE INDEX episodes_by_group ON episodes (group_id, id) WHERE group_id IS NOT NULL;

CREATE TABLE steps (
    episode TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL CHECK (seq >= 1),
    action TEXT,
    answer TEXT NOT NULL,
    meta TEXT,
    reward DOUBLE PRECISION,
    terminated BOOLEAN NOT NULL,
    truncated BOOLEAN NOT NULL,
    interrupted BOOLEAN NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (episode, seq)
);

CREATE TABLE intents (
    episode TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL CHECK (seq >= 1),
    action TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (episode, seq)
);

CREATE TABLE verdicts (
    episode TEXT COLLATE "C" NOT NULL,
    verifier TEXT COLLATE "C" NOT NULL,
    verifier_version TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('scored', 'timeout', 'infra_error', 'verifier_error', 'invalid')),
    score DOUBLE PRECISION CHECK (score >= 0 AND score <= 1),
    passed BOOLEAN NOT NULL,
    trainable BOOLEAN NOT NULL,
    verdict TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (episode, verifier, verifier_version),
    CHECK (score IS NULL OR status = 'scored')
);

CREATE TABLE states (
    digest TEXT COLLATE "C" PRIMARY KEY,
    state TEXT NOT NULL
);

CREATE TABLE snapshots (
    id TEXT COLLATE "C" PRIMARY KEY,
    tenant TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    name TEXT,
    episode TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL CHECK (seq >= 0),
    at BIGINT NOT NULL
);

CREATE INDEX snapshots_by_session ON snapshots (session, id);
