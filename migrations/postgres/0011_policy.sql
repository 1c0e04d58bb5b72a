-- Policies: what jobs registered. Their files share contents with the artefacts that they were made from, and outlive them.

CREATE TABLE policies (
    id TEXT COLLATE "C" PRIMARY KEY,
    tenant TEXT COLLATE "C" NOT NULL,
    job TEXT COLLATE "C" NOT NULL,
    parent TEXT,
    architecture TEXT NOT NULL,
    environments TEXT NOT NULL,
    metrics TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE UNIQUE INDEX policies_by_tenant ON policies (tenant, id);
CREATE INDEX policies_by_job ON policies (job);

CREATE TABLE policy_files (
    policy TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    size_bytes BIGINT NOT NULL CHECK (size_bytes >= 0),
    created_at BIGINT NOT NULL,
    PRIMARY KEY (policy, name)
);

CREATE INDEX policy_files_by_tenant ON policy_files (tenant, digest, size_bytes);
CREATE INDEX policy_files_by_digest ON policy_files (digest);
