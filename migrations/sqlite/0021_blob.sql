-- Contents that observations name by their digest, such as pictures of pages: stored with the step that names them.

CREATE TABLE blobs (
    episode TEXT NOT NULL,
    digest TEXT NOT NULL,
    media_type TEXT NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (episode, digest)
);
