-- Contents that observations name by their digest, such as pictures of pages: stored with the step that names them.

CREATE TABLE blobs (
    episode TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    media_type TEXT NOT NULL,
    bytes BYTEA NOT NULL,
    PRIMARY KEY (episode, digest)
);
