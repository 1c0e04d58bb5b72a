-- SQLite orders its steps anew here. PostgreSQL logs what changes in a page and not the page, so that its steps stay in order of
-- their episodes, and nothing is to be done.
SELECT 1;
