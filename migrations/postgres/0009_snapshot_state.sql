-- The state that a snapshot goes on from, by its digest, where running the actions again does not lead there: files of a sandbox.

ALTER TABLE snapshots ADD COLUMN state TEXT;
