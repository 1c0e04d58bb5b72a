-- API keys. The secret is not here, only its HMAC: a stolen database opens nothing.

CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    mac BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
);

CREATE UNIQUE INDEX keys_by_tenant ON keys (tenant, id);
