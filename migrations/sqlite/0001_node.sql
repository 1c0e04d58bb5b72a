-- Who holds what: every commit checks that the process that makes it still holds its node, so that a process that was
-- taken for dead cannot write beside its successor. `marks` exists to be written: a durable write to it makes all earlier
-- commits durable.

CREATE TABLE nodes (
    id TEXT PRIMARY KEY,
    incarnation TEXT NOT NULL,
    beat_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE marks (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    written INTEGER NOT NULL
);

INSERT INTO marks (id, written) VALUES (1, 0);
