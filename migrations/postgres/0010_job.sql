-- Jobs, the leases that workers hold on them, what happened, and the files that they left. What a job is to do lies apart
-- from where it stands, which changes with every heartbeat. A lease is held while its job runs under its fence.

CREATE TABLE jobs (
    id TEXT COLLATE "C" PRIMARY KEY,
    tenant TEXT COLLATE "C" NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('train', 'evaluate', 'collect', 'rescore', 'check', 'serve')),
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    priority BIGINT NOT NULL,
    device TEXT NOT NULL CHECK (device IN ('any', 'cpu', 'gpu')),
    memory_bytes BIGINT NOT NULL CHECK (memory_bytes >= 0),
    -- How many jobs have to succeed before this one begins.
    blocked BIGINT NOT NULL CHECK (blocked >= 0),
    attempts BIGINT NOT NULL CHECK (attempts >= 0),
    attempts_max BIGINT NOT NULL CHECK (attempts_max >= 1),
    fence BIGINT NOT NULL CHECK (fence >= 0),
    -- The number of the last event.
    events BIGINT NOT NULL CHECK (events >= 0),
    not_before BIGINT,
    lease_expires_at BIGINT,
    cancel_requested_at BIGINT,
    run TEXT,
    worker TEXT,
    progress TEXT,
    result TEXT,
    error TEXT,
    -- Failed after its last attempt.
    dead_letter BOOLEAN NOT NULL,
    -- Digest of the outcome that ended the last lease, so that saying it twice is the same as once.
    outcome TEXT,
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    ended_at BIGINT,
    CHECK ((state = 'running') = (lease_expires_at IS NOT NULL)),
    CHECK ((state IN ('succeeded', 'failed', 'cancelled')) = (ended_at IS NOT NULL))
);

CREATE UNIQUE INDEX jobs_by_tenant ON jobs (tenant, id);
CREATE INDEX jobs_queued ON jobs (tenant, priority DESC, created_at, id) WHERE state = 'queued';
CREATE INDEX jobs_running ON jobs (tenant) WHERE state = 'running';
CREATE INDEX jobs_over ON jobs (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE job_specs (
    job TEXT COLLATE "C" PRIMARY KEY,
    -- Digest of the whole request.
    request TEXT NOT NULL,
    spec TEXT NOT NULL,
    follows TEXT NOT NULL,
    metadata TEXT NOT NULL
);

CREATE TABLE job_needs (
    job TEXT COLLATE "C" NOT NULL,
    needs TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (job, needs)
);

CREATE INDEX job_needs_by_needed ON job_needs (needs);

CREATE TABLE job_events (
    job TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL CHECK (number >= 1),
    attempt BIGINT NOT NULL CHECK (attempt >= 0),
    at BIGINT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('state', 'progress', 'metric', 'log', 'artifact', 'checkpoint', 'policy')),
    data TEXT NOT NULL,
    PRIMARY KEY (job, number)
);

CREATE INDEX job_events_by_kind ON job_events (job, kind, number);

CREATE TABLE job_artifacts (
    job TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    size_bytes BIGINT NOT NULL CHECK (size_bytes >= 0),
    created_at BIGINT NOT NULL,
    PRIMARY KEY (job, name)
);

CREATE INDEX job_artifacts_by_tenant ON job_artifacts (tenant, digest, size_bytes);
CREATE INDEX job_artifacts_by_digest ON job_artifacts (digest);

-- Tenants in the order in which their jobs were last begun: numbers, because clocks go backwards.
CREATE TABLE job_turns (
    tenant TEXT COLLATE "C" PRIMARY KEY,
    served BIGINT NOT NULL
);
