CREATE TABLE duck (id INTEGER PRIMARY KEY, name TEXT NOT NULL, weight INTEGER, ringed DATE NOT NULL);
INSERT INTO duck VALUES
    (1, 'Ada', 900, '2019-01-14'),
    (2, 'Bo', 1200, '2019-03-02'),
    (3, 'Cy', NULL, '2019-05-20'),
    (4, 'Di', 1500, '2019-06-01'),
    (5, 'Ed', 1100, '2019-06-09');
