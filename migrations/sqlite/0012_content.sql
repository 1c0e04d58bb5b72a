-- Contents of artefacts and policies, where they are kept in the store. Pieces are written while they come, under a name of
-- their own; the row of the digest, written in the transaction that names it, makes them the content.

CREATE TABLE contents (
    digest TEXT PRIMARY KEY,
    pieces TEXT NOT NULL,
    size_bytes INTEGER NOT NULL CHECK (size_bytes >= 0),
    created_at INTEGER NOT NULL
);

CREATE INDEX contents_by_pieces ON contents (pieces);

CREATE TABLE content_pieces (
    pieces TEXT NOT NULL,
    position INTEGER NOT NULL CHECK (position >= 0),
    created_at INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (pieces, position)
);
