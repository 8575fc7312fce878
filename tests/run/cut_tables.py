"""Tables whose columns are hard to cut: sparse, skewed, extreme, negative, NULL, of every ordered type.

Of 360 rows, every twelfth has no `created_at`; the moments of a day lie a microsecond apart, each twice.
"""

from __future__ import annotations

ROWS = 360

_INDEXES = """
CREATE INDEX by_price ON events (price); CREATE INDEX by_amount ON events (amount);
CREATE INDEX by_at ON events (at, id); CREATE INDEX by_creation ON events (created_at, id);
CREATE INDEX by_day ON events (day, id); CREATE INDEX by_name ON events (tenant, name);
CREATE INDEX by_region ON events (region, missing);
"""

CREATE = {
    "postgres": r"""
CREATE TABLE events (
    id int PRIMARY KEY, created_at timestamp, day date NOT NULL, sparse bigint NOT NULL UNIQUE,
    skewed bigint UNIQUE, signed bigint UNIQUE, missing int UNIQUE, price numeric(12,2) NOT NULL,
    amount numeric, at timestamptz NOT NULL, name text NOT NULL UNIQUE, code bytea NOT NULL UNIQUE,
    uid uuid NOT NULL UNIQUE, ratio float8 NOT NULL UNIQUE, tenant int NOT NULL, region char(3));
INSERT INTO events SELECT i,
    CASE WHEN i % 12 > 0 THEN timestamp '2023-11-30 23:59:59.999990'
        + i / 2 * interval '1 microsecond' + i % 3 * interval '1 month' END,
    date '2024-02-27' + i % 4,
    i::bigint * i * i * i * 500000000,
    CASE WHEN i = 7 THEN 9223372036854775807 ELSE i END,
    CASE i WHEN 1 THEN -9223372036854775808 WHEN 2 THEN 9223372036854775807
        ELSE (i - 180) * 50000000000000000 END,
    CASE WHEN i % 5 > 0 THEN -i END,
    (i - 200) * 0.25,
    CASE WHEN i % 7 > 0 THEN (i - 200) * 12345678901234567.125 END,
    timestamptz '2024-03-30 22:00Z' + i / 2 * interval '1 microsecond',
    (ARRAY['É', 'e', 'Z', '\', '''', 'a b', '', 'ß'])[i % 8 + 1] || i,
    decode(lpad(to_hex(i * 40503 % 65536), 4, '0'), 'hex'),
    md5(i::text)::uuid, (i - 100) / 7.0::float8, i % 5,
    CASE WHEN i % 9 > 0 THEN 'r' || i % 7 END
FROM generate_series(1, 360) AS s(i);
"""
    + _INDEXES
    + "ANALYZE events",
    "mariadb": r"""
CREATE TABLE events (
    id int PRIMARY KEY, created_at datetime(6), day date NOT NULL, sparse bigint NOT NULL UNIQUE,
    skewed bigint unsigned UNIQUE, signed bigint UNIQUE, missing int UNIQUE, price decimal(12,2) NOT NULL,
    amount decimal(65,5), at timestamp(6) NOT NULL, name varchar(20) CHARACTER SET latin1 NOT NULL UNIQUE,
    code varbinary(9) NOT NULL UNIQUE, uid uuid NOT NULL UNIQUE, ratio double NOT NULL UNIQUE,
    tenant int NOT NULL, region char(3));
INSERT INTO events SELECT i,
    IF(i % 12 > 0, '2023-11-30 23:59:59.999990' + INTERVAL i DIV 2 MICROSECOND + INTERVAL i % 3 MONTH, NULL),
    '2024-02-27' + INTERVAL i % 4 DAY,
    i * i * i * i * 500000000,
    IF(i = 7, 18446744073709551615, i),
    CASE i WHEN 1 THEN -9223372036854775808 WHEN 2 THEN 9223372036854775807
        ELSE (CAST(i AS SIGNED) - 180) * 50000000000000000 END,
    IF(i % 5 > 0, -CAST(i AS SIGNED), NULL),
    (CAST(i AS SIGNED) - 200) * 0.25,
    IF(i % 7 > 0, (CAST(i AS SIGNED) - 200) * 12345678901234567.125, NULL),
    '2024-03-30 22:00:00' + INTERVAL i DIV 2 MICROSECOND,
    CONCAT(ELT(i % 8 + 1, 'É', 'e', 'Z', '\\', '''', 'a b', '', 'ß'), i),
    UNHEX(LPAD(HEX(i * 40503 % 65536), 4, '0')),
    CONCAT_WS('-', LEFT(MD5(i), 8), SUBSTR(MD5(i), 9, 4), CONCAT(4, SUBSTR(MD5(i), 14, 3)),
        CONCAT(8, SUBSTR(MD5(i), 18, 3)), RIGHT(MD5(i), 12)),
    (CAST(i AS SIGNED) - 100) / 7e0, i % 5,
    IF(i % 9 > 0, CONCAT('r', i % 7), NULL)
FROM (SELECT seq AS i FROM seq_1_to_360) AS s;
"""
    + _INDEXES,
    "sqlite": r"""
CREATE TABLE events (
    id INTEGER PRIMARY KEY, created_at TIMESTAMP, day DATE NOT NULL, sparse BIGINT NOT NULL UNIQUE,
    skewed BIGINT UNIQUE, signed BIGINT UNIQUE, missing INT UNIQUE, price DECIMAL(12,2) NOT NULL,
    amount DECIMAL(15,3), at TIMESTAMP NOT NULL, name TEXT NOT NULL UNIQUE, code BLOB NOT NULL UNIQUE,
    uid TEXT NOT NULL UNIQUE, ratio DOUBLE NOT NULL UNIQUE, tenant INT NOT NULL, region CHAR(3));
WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 360)
INSERT INTO events SELECT i,
    iif(i % 12 > 0,
        printf('%s.%06d', datetime('2023-11-30 23:59:59', (i % 3) || ' months'), 100 + i / 2), NULL),
    date('2024-02-27', (i % 4) || ' days'),
    i * i * i * i * 500000000,
    iif(i = 7, 9223372036854775807, i),
    CASE i WHEN 1 THEN -9223372036854775807 - 1 WHEN 2 THEN 9223372036854775807
        ELSE (i - 180) * 50000000000000000 END,
    iif(i % 5 > 0, -i, NULL),
    (i - 200) * 0.25,
    iif(i % 7 > 0, (i - 200) * 1234567.125, NULL),
    printf('2024-03-30T22:00:00.%06d', i / 2),
    CASE i % 8 WHEN 0 THEN 'É' WHEN 1 THEN 'e' WHEN 2 THEN 'Z' WHEN 3 THEN '\' WHEN 4 THEN ''''
        WHEN 5 THEN 'a b' WHEN 6 THEN '' ELSE 'ß' END || i,
    CAST(char(128 + i * 40503 % 50000) AS BLOB),
    printf('%08x-%s', i * 2654435761 % 4294967296, i),
    (i - 100) / 7.0, i % 5,
    iif(i % 9 > 0, 'r' || (i % 7), NULL)
FROM s;
"""
    + _INDEXES,
}
"""Makes the table `events`, by engine."""
