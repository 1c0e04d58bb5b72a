-- Upstreams: model endpoints of tenants. Their keys are sealed: a stolen database opens none.

CREATE TABLE upstreams (
    tenant TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    definition TEXT NOT NULL,
    sealed_key BYTEA NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, name)
);
