-- API keys. The secret is not here, only its HMAC: a stolen database opens nothing.

CREATE TABLE keys (
    id TEXT COLLATE "C" PRIMARY KEY,
    tenant TEXT COLLATE "C" NOT NULL,
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    mac BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT
);

CREATE UNIQUE INDEX keys_by_tenant ON keys (tenant, id);
