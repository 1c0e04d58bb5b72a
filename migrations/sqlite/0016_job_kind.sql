-- Kinds of jobs are a list of the program, which alone writes this table: a new kind needs no migration. SQLite drops a check only with
-- its table, which is written anew here.

CREATE TABLE jobs_of_any_kind (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    priority INTEGER NOT NULL,
    device TEXT NOT NULL CHECK (device IN ('any', 'cpu', 'gpu')),
    memory_bytes INTEGER NOT NULL CHECK (memory_bytes >= 0),
    -- How many jobs have to succeed before this one begins.
    blocked INTEGER NOT NULL CHECK (blocked >= 0),
    attempts INTEGER NOT NULL CHECK (attempts >= 0),
    attempts_max INTEGER NOT NULL CHECK (attempts_max >= 1),
    fence INTEGER NOT NULL CHECK (fence >= 0),
    -- The number of the last event.
    events INTEGER NOT NULL CHECK (events >= 0),
    not_before INTEGER,
    lease_expires_at INTEGER,
    cancel_requested_at INTEGER,
    run TEXT,
    worker TEXT,
    progress TEXT,
    result TEXT,
    error TEXT,
    -- Failed after its last attempt.
    dead_letter INTEGER NOT NULL CHECK (dead_letter IN (0, 1)),
    -- Digest of the outcome that ended the last lease, so that saying it twice is the same as once.
    outcome TEXT,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER,
    -- The number of the last report under the last lease.
    reports INTEGER NOT NULL DEFAULT 0 CHECK (reports >= 0),
    CHECK ((state = 'running') = (lease_expires_at IS NOT NULL)),
    CHECK ((state IN ('succeeded', 'failed', 'cancelled')) = (ended_at IS NOT NULL))
);

INSERT INTO jobs_of_any_kind SELECT * FROM jobs ORDER BY rowid;
DROP TABLE jobs;
ALTER TABLE jobs_of_any_kind RENAME TO jobs;

CREATE UNIQUE INDEX jobs_by_tenant ON jobs (tenant, id);
CREATE INDEX jobs_queued ON jobs (tenant, priority DESC, created_at, id) WHERE state = 'queued';
CREATE INDEX jobs_running ON jobs (tenant) WHERE state = 'running';
CREATE INDEX jobs_over ON jobs (ended_at) WHERE ended_at IS NOT NULL;
