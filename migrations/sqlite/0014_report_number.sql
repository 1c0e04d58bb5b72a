-- The number of the last report under the last lease, so that sending one twice is the same as once.

ALTER TABLE jobs ADD COLUMN reports INTEGER NOT NULL DEFAULT 0 CHECK (reports >= 0);
