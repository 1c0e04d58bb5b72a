-- SQLite writes its checks of words anew here. PostgreSQL compares with a list as with single words, so that nothing is to be done.
SELECT 1;
