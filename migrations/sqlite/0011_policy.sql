-- Policies: what jobs registered. Their files share contents with the artefacts that they were made from, and outlive them.

CREATE TABLE policies (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    job TEXT NOT NULL,
    parent TEXT,
    architecture TEXT NOT NULL,
    environments TEXT NOT NULL,
    metrics TEXT NOT NULL,
    created_at INTEGER NOT NULL
);

CREATE UNIQUE INDEX policies_by_tenant ON policies (tenant, id);
CREATE INDEX policies_by_job ON policies (job);

CREATE TABLE policy_files (
    policy TEXT NOT NULL,
    name TEXT NOT NULL,
    tenant TEXT NOT NULL,
    digest TEXT NOT NULL,
    size_bytes INTEGER NOT NULL CHECK (size_bytes >= 0),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (policy, name)
) WITHOUT ROWID;

CREATE INDEX policy_files_by_tenant ON policy_files (tenant, digest, size_bytes);
CREATE INDEX policy_files_by_digest ON policy_files (digest);
