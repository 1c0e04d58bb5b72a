-- Answers of creating calls, kept so that a repeated call acts once. Stored in the transaction of their effect.

CREATE TABLE answers (
    tenant TEXT COLLATE "C" NOT NULL,
    operation TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    request TEXT NOT NULL,
    answer TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (tenant, operation, key)
);

CREATE INDEX answers_by_age ON answers (at);
