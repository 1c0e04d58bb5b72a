-- Runs own sessions for as long as their lease is renewed. A caller chooses the id, so it is unique per tenant only.

CREATE TABLE runs (
    tenant TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('active', 'deleted', 'expired')),
    lease_ms BIGINT NOT NULL CHECK (lease_ms >= 0),
    lease_expires_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, id)
);

CREATE INDEX runs_active ON runs (id) WHERE state = 'active';
