-- A table to try Rivet on: 1,000 rows in ten days, and one row without a day.
CREATE TABLE events (id int PRIMARY KEY, created_at timestamptz, note text);
INSERT INTO events
SELECT n, timestamptz '2023-01-01 00:00:00Z' + (n - 1) * interval '864 seconds', 'event ' || n
FROM generate_series(1, 1000) n;
INSERT INTO events VALUES (1001, NULL, 'without a day');
