-- Who holds what: every commit checks that the process that makes it still holds its node, so that a process that was
-- taken for dead cannot write beside its successor. `marks` exists to be written: a durable write to it makes all earlier
-- commits durable.

CREATE TABLE nodes (
    id TEXT COLLATE "C" PRIMARY KEY,
    incarnation TEXT NOT NULL,
    beat_at BIGINT NOT NULL
);

CREATE TABLE marks (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    written BIGINT NOT NULL
);

INSERT INTO marks (id, written) VALUES (1, 0);
