-- A run tells what it is meant to play, so that two runs can be compared and an interrupted one is known as such.

ALTER TABLE runs ADD COLUMN policy TEXT;
ALTER TABLE runs ADD COLUMN split TEXT;
ALTER TABLE runs ADD COLUMN seed BIGINT CHECK (seed >= 0);
ALTER TABLE runs ADD COLUMN episodes_planned BIGINT CHECK (episodes_planned >= 0);
