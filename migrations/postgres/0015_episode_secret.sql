-- The key from which an episode's hidden values follow: flags, PINs, the places of reports. Until now they followed from the seed, which
-- callers choose and may know. The key itself is stored, and not what it could be made from again, so that a stored episode is judged
-- alike after the server's own secret was changed, and on every node. Episodes without a key began before and keep those of their seed.

ALTER TABLE episodes ADD COLUMN secret_key TEXT CHECK (length(secret_key) = 64);
