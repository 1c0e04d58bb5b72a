CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT, created TEXT NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER NOT NULL REFERENCES customers, cents INTEGER NOT NULL);
INSERT INTO customers VALUES
  (1, 'Ava Lund', 'ava@example.com', '2025-03-01'), (2, 'A. Lund', ' AVA@example.com', '2025-01-15'), (3, 'Bo', NULL, '2025-02-02'),
  (4, 'Bo', NULL, '2025-02-03'), (5, 'Cy', 'Cy@Example.com', '2025-05-05'), (6, 'Cyrus', 'cy@example.com ', '2025-05-05'),
  (7, 'Dee', '  ', '2025-06-01'), (8, 'Ava', 'ava@example.com', '2025-09-09'), (9, 'Eli', ' Eli@example.com ', '2025-07-01'), (10, 'Dee', '', '2025-06-02');
INSERT INTO orders VALUES (1, 1, 500), (2, 2, 700), (3, 8, 100), (4, 3, 50), (5, 6, 900), (6, 9, 20), (7, 5, 1), (8, 10, 3);
