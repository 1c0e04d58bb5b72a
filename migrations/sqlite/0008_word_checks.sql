-- Lists of allowed words as comparisons. SQLite makes a temporary table of a list with more than two words for each row that it checks,
-- which was a third of what a creation cost here.

CREATE TABLE sessions_checked (
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
    closed_reason TEXT CHECK (
        closed_reason = 'deleted' OR closed_reason = 'expired' OR closed_reason = 'idle' OR
        closed_reason = 'run_ended' OR closed_reason = 'lost'
    ),
    record TEXT NOT NULL CHECK (record = 'group' OR record = 'sync' OR record = 'none'),
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

INSERT INTO sessions_checked SELECT * FROM sessions ORDER BY rowid;
DROP TABLE sessions;
ALTER TABLE sessions_checked RENAME TO sessions;

CREATE UNIQUE INDEX sessions_by_tenant ON sessions (tenant, id);
CREATE INDEX sessions_by_run ON sessions (run, id) WHERE run IS NOT NULL;
CREATE INDEX sessions_by_group ON sessions (group_id, id) WHERE group_id IS NOT NULL;
CREATE INDEX sessions_open ON sessions (node, expires_at) WHERE state = 'open';

CREATE TABLE episodes_checked (
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
    stop_reason TEXT CHECK (
        stop_reason = 'done' OR stop_reason = 'max_steps' OR stop_reason = 'max_calls' OR
        stop_reason = 'wall_limit' OR stop_reason = 'max_tokens' OR stop_reason = 'max_turns' OR
        stop_reason = 'gave_up' OR stop_reason = 'aborted' OR stop_reason = 'verified' OR stop_reason = 'left' OR
        stop_reason = 'infra_error' OR stop_reason = 'lease_expired' OR stop_reason = 'expired'
    ),
    status TEXT CHECK (
        status = 'scored' OR status = 'timeout' OR status = 'infra_error' OR status = 'verifier_error' OR
        status = 'invalid'
    ),
    score REAL CHECK (score >= 0 AND score <= 1),
    verdict TEXT,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    CHECK ((origin_episode IS NULL) = (origin_seq IS NULL)),
    CHECK ((status IS NULL) = (verdict IS NULL)),
    CHECK (score IS NULL OR status = 'scored')
);

INSERT INTO episodes_checked SELECT * FROM episodes ORDER BY rowid;
DROP TABLE episodes;
ALTER TABLE episodes_checked RENAME TO episodes;

CREATE UNIQUE INDEX episodes_by_tenant ON episodes (tenant, id);
CREATE UNIQUE INDEX episodes_by_session ON episodes (session, ordinal);
CREATE INDEX episodes_by_run ON episodes (run, id) WHERE run IS NOT NULL;
CREATE INDEX episodes_by_group ON episodes (group_id, id) WHERE group_id IS NOT NULL;

CREATE TABLE verdicts_checked (
    episode TEXT NOT NULL,
    verifier TEXT NOT NULL,
    verifier_version TEXT NOT NULL,
    tenant TEXT NOT NULL,
    session TEXT NOT NULL,
    status TEXT NOT NULL CHECK (
        status = 'scored' OR status = 'timeout' OR status = 'infra_error' OR status = 'verifier_error' OR
        status = 'invalid'
    ),
    score REAL CHECK (score >= 0 AND score <= 1),
    passed BOOLEAN NOT NULL CHECK (passed IN (0, 1)),
    trainable BOOLEAN NOT NULL CHECK (trainable IN (0, 1)),
    verdict TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (episode, verifier, verifier_version),
    CHECK (score IS NULL OR status = 'scored')
);

INSERT INTO verdicts_checked SELECT * FROM verdicts ORDER BY rowid;
DROP TABLE verdicts;
ALTER TABLE verdicts_checked RENAME TO verdicts;
