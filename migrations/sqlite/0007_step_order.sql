-- Steps by number, and only then by episode. A commit holds the steps of many episodes that advance together: by episode each of
-- them lies on another page of the index, and every page that a commit changes is written whole.

CREATE TABLE steps_by_seq (
    episode TEXT NOT NULL,
    seq INTEGER NOT NULL CHECK (seq >= 1),
    action TEXT,
    answer TEXT NOT NULL,
    meta TEXT,
    reward REAL,
    terminated BOOLEAN NOT NULL CHECK (terminated IN (0, 1)),
    truncated BOOLEAN NOT NULL CHECK (truncated IN (0, 1)),
    interrupted BOOLEAN NOT NULL CHECK (interrupted IN (0, 1)),
    at INTEGER NOT NULL,
    PRIMARY KEY (seq, episode)
);

-- While it is empty: makes the table of statistics without a look at any row.
ANALYZE steps_by_seq;

INSERT INTO steps_by_seq SELECT * FROM steps ORDER BY rowid;

DROP TABLE steps;

ALTER TABLE steps_by_seq RENAME TO steps;

-- With these, a query that names an episode alone looks it up under each number instead of reading the whole table.
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('steps', 'sqlite_autoindex_steps_1', '1000000 1000 1');
