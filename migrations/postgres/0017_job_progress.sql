-- Attempts count until the job makes progress: how many began since then, and the most that any attempt has done.

ALTER TABLE jobs ADD COLUMN attempts_without_progress BIGINT NOT NULL DEFAULT 0 CHECK (attempts_without_progress >= 0);
ALTER TABLE jobs ADD COLUMN furthest BIGINT NOT NULL DEFAULT 0 CHECK (furthest >= 0);
UPDATE jobs SET attempts_without_progress = attempts;
