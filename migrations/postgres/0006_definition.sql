-- Published definitions and their task rows. Rows lie under the digest of their content, apart from the definition: they are
-- written in many short transactions, so that publishing does not hold up steps, and the definition row makes them visible.

CREATE TABLE definitions (
    tenant TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL CHECK (version >= 1),
    digest TEXT NOT NULL,
    definition TEXT NOT NULL,
    splits TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, name, version)
);

CREATE TABLE task_rows (
    digest TEXT COLLATE "C" NOT NULL,
    split TEXT COLLATE "C" NOT NULL,
    position BIGINT NOT NULL CHECK (position >= 0),
    content TEXT NOT NULL,
    PRIMARY KEY (digest, split, position)
);
