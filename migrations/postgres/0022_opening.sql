-- The first observation of an episode, where it names contents such as pictures: no step tells it.

CREATE TABLE openings (
    episode TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    observation TEXT NOT NULL
);
