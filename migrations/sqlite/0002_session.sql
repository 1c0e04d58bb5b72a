-- Sessions and what happens in them. The tenant is in every table that is read by tenant, and the node in sessions, from the
-- first migration on, because both are hard to add later. There are no foreign keys: one recorder writes all of this in
-- order, and on PostgreSQL a foreign key would lock and rewrite the episode's row with every step.
-- Times are milliseconds since 1970 in UTC. JSON is TEXT because JSONB cannot hold an escaped NUL; cast it to search in it.
-- A rollout group's column is `group_id`, since GROUP is a word of SQL.

CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    node TEXT NOT NULL,
    environment TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 0),
    digest TEXT NOT NULL,
    run TEXT,
    group_id TEXT,
    parent TEXT,
    state TEXT NOT NULL CHECK (state IN ('open', 'closed')),
    closed_reason TEXT CHECK (closed_reason IN ('deleted', 'expired', 'idle', 'run_ended', 'lost')),
    record TEXT NOT NULL CHECK (record IN ('group', 'sync', 'none')),
    verify TEXT NOT NULL CHECK (verify IN ('on_end', 'manual')),
    limits TEXT NOT NULL,
    observe TEXT NOT NULL,
    config TEXT NOT NULL,
    metadata TEXT NOT NULL,
    episode TEXT NOT NULL,
    task TEXT NOT NULL,
    seed INTEGER NOT NULL CHECK (seed >= 0),
    episodes INTEGER NOT NULL CHECK (episodes >= 0),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    closed_at INTEGER,
    CHECK ((state = 'closed') = (closed_at IS NOT NULL))
);

CREATE UNIQUE INDEX sessions_by_tenant ON sessions (tenant, id);
CREATE INDEX sessions_by_run ON sessions (run, id) WHERE run IS NOT NULL;
CREATE INDEX sessions_by_group ON sessions (group_id, id) WHERE group_id IS NOT NULL;
CREATE INDEX sessions_open ON sessions (node, expires_at) WHERE state = 'open';

CREATE TABLE episodes (
    id TEXT PRIMARY KEY,
    session TEXT NOT NULL,
    tenant TEXT NOT NULL,
    ordinal INTEGER NOT NULL CHECK (ordinal >= 1),
    attempt INTEGER NOT NULL CHECK (attempt >= 1),
    environment TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 0),
    digest TEXT NOT NULL,
    task TEXT NOT NULL,
    seed INTEGER NOT NULL CHECK (seed >= 0),
    config TEXT NOT NULL,
    origin_episode TEXT,
    origin_seq INTEGER CHECK (origin_seq >= 0),
    salt INTEGER,
    run TEXT,
    group_id TEXT,
    state TEXT NOT NULL CHECK (state IN ('running', 'ended')),
    seq INTEGER CHECK (seq >= 0),
    terminated BOOLEAN NOT NULL CHECK (terminated IN (0, 1)),
    truncated BOOLEAN NOT NULL CHECK (truncated IN (0, 1)),
    stop_reason TEXT CHECK (stop_reason IN (
        'done', 'max_steps', 'max_calls', 'wall_limit', 'max_tokens', 'max_turns', 'gave_up', 'aborted', 'verified', 'left',
        'infra_error', 'lease_expired', 'expired'
    )),
    status TEXT CHECK (status IN ('scored', 'timeout', 'infra_error', 'verifier_error', 'invalid')),
    score REAL CHECK (score >= 0 AND score <= 1),
    verdict TEXT,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    CHECK ((origin_episode IS NULL) = (origin_seq IS NULL)),
    CHECK ((status IS NULL) = (verdict IS NULL)),
    CHECK (score IS NULL OR status = 'scored')
);

CREATE UNIQUE INDEX episodes_by_tenant ON episodes (tenant, id);
CREATE UNIQUE INDEX episodes_by_session ON episodes (session, ordinal);
CREATE INDEX episodes_by_run ON episodes (run, id) WHERE run IS NOT NULL;
CREATE INDEX episodes_by_group ON episodes (group_id, id) WHERE group_id IS NOT NULL;

-- With rowids, so that a commit of many episodes' steps appends to a few pages instead of touching a page per episode.
CREATE TABLE steps (
    episode TEXT NOT NULL,
    seq INTEGER NOT NULL CHECK (seq >= 1),
    action TEXT,
    answer TEXT NOT NULL,
    meta TEXT,
    reward REAL,
    terminated BOOLEAN NOT NULL CHECK (terminated IN (0, 1)),
    truncated BOOLEAN NOT NULL CHECK (truncated IN (0, 1)),
    interrupted BOOLEAN NOT NULL CHECK (interrupted IN (0, 1)),
    at INTEGER NOT NULL,
    PRIMARY KEY (episode, seq)
);

CREATE TABLE intents (
    episode TEXT NOT NULL,
    seq INTEGER NOT NULL CHECK (seq >= 1),
    action TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (episode, seq)
) WITHOUT ROWID;

CREATE TABLE verdicts (
    episode TEXT NOT NULL,
    verifier TEXT NOT NULL,
    verifier_version TEXT NOT NULL,
    tenant TEXT NOT NULL,
    session TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('scored', 'timeout', 'infra_error', 'verifier_error', 'invalid')),
    score REAL CHECK (score >= 0 AND score <= 1),
    passed BOOLEAN NOT NULL CHECK (passed IN (0, 1)),
    trainable BOOLEAN NOT NULL CHECK (trainable IN (0, 1)),
    verdict TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (episode, verifier, verifier_version),
    CHECK (score IS NULL OR status = 'scored')
);

CREATE TABLE states (
    digest TEXT PRIMARY KEY,
    state TEXT NOT NULL
);

CREATE TABLE snapshots (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    session TEXT NOT NULL,
    name TEXT,
    episode TEXT NOT NULL,
    seq INTEGER NOT NULL CHECK (seq >= 0),
    at INTEGER NOT NULL
);

CREATE INDEX snapshots_by_session ON snapshots (session, id);
