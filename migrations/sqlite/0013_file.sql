-- Files that tenants uploaded for jobs to learn from, and those that a job left for its result. Their contents are kept as those of
-- artefacts are. Which files a job names is told apart, so that none is deleted under a job that still needs it.

CREATE TABLE files (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    purpose TEXT NOT NULL CHECK (purpose IN ('fine-tune', 'fine-tune-results', 'user_data')),
    digest TEXT NOT NULL,
    size_bytes INTEGER NOT NULL CHECK (size_bytes >= 0),
    created_at INTEGER NOT NULL,
    -- The job whose result it belongs to, with which it goes.
    job TEXT
);

CREATE UNIQUE INDEX files_by_tenant ON files (tenant, id);
CREATE INDEX files_by_content ON files (tenant, digest, size_bytes);
CREATE INDEX files_by_digest ON files (digest);
CREATE INDEX files_by_job ON files (job) WHERE job IS NOT NULL;

CREATE TABLE job_files (
    job TEXT NOT NULL,
    file TEXT NOT NULL,
    PRIMARY KEY (job, file)
) WITHOUT ROWID;

CREATE INDEX job_files_by_file ON job_files (file);
