-- Contents of artefacts and policies, where they are kept in the store. Pieces are written while they come, under a name of
-- their own; the row of the digest, written in the transaction that names it, makes them the content.

CREATE TABLE contents (
    digest TEXT COLLATE "C" PRIMARY KEY,
    pieces TEXT COLLATE "C" NOT NULL,
    size_bytes BIGINT NOT NULL CHECK (size_bytes >= 0),
    created_at BIGINT NOT NULL
);

CREATE INDEX contents_by_pieces ON contents (pieces);

CREATE TABLE content_pieces (
    pieces TEXT COLLATE "C" NOT NULL,
    position BIGINT NOT NULL CHECK (position >= 0),
    created_at BIGINT NOT NULL,
    bytes BYTEA NOT NULL,
    PRIMARY KEY (pieces, position)
);
