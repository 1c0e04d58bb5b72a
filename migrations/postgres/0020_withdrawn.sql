-- A withdrawn version is neither listed nor chosen where no version is named. What names it goes on.

ALTER TABLE definitions ADD COLUMN withdrawn_at BIGINT;
