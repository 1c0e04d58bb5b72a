-- Policies that were registered from a checkpoint: after how many updates. One of each; what a training leaves at its end has no step.

ALTER TABLE policies ADD COLUMN step BIGINT CHECK (step >= 0);
CREATE UNIQUE INDEX policies_by_step ON policies (job, step);
