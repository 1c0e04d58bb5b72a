-- Upstreams: model endpoints of tenants. Their keys are sealed: a stolen database opens none.

CREATE TABLE upstreams (
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    definition TEXT NOT NULL,
    sealed_key BLOB NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) WITHOUT ROWID;
