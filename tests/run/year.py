"""A table of 300,000 rows of 12 mixed columns over the leap year 2024, made and rendered by each server.

The server renders every value as text without commas: whole numbers for moments, hexadecimal digits for text
and bytes. DuckDB makes values of them, once, and compares these with what it, or pyarrow, reads from a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

ROWS = 300_000
NULL_WORD = "NULL"  # no value renders to it: a text would be in hexadecimal digits

# Row i has a moment of its own in 2024, in no order: the factor and the year have no common divisor.
_MOMENT = f"i * 104729000003 % {366 * 86_400_000_000}"

_POSTGRES = f"""
CREATE TABLE events (
    id bigint PRIMARY KEY, created_at timestamp, seen_at timestamptz, born date, small smallint,
    price numeric(12,2), ratio double precision, share real, flag boolean, title text, payload bytea,
    token uuid
);
INSERT INTO events SELECT i,
    CASE WHEN i % 97 > 0 THEN timestamp '2024-01-01' + ({_MOMENT}) * interval '1 microsecond' END,
    CASE WHEN i % 11 > 0 THEN timestamptz '1900-01-01Z' + ({_MOMENT}) * interval '90 microseconds' END,
    CASE WHEN i % 13 > 0 THEN date '0001-01-01' + (i * 7919 % 3652059)::int END,
    CASE WHEN i % 17 > 0 THEN i % 65536 - 32768 END,
    CASE WHEN i % 19 > 0 THEN (i * 791900019 % 2000000000000 - 1000000000000) / 100.0 END,
    CASE i % 23 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' WHEN 2 THEN '-Infinity' WHEN 3 THEN 5e-324
        ELSE 1e300 / i END,
    CASE i % 29 WHEN 0 THEN NULL WHEN 1 THEN 'Infinity' ELSE i / 7.0 END,
    CASE WHEN i % 31 > 0 THEN i % 2 = 0 END,
    CASE i % 37 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'NULL' WHEN 3 THEN 'a, "b"' WHEN 4 THEN 'NaN'
        WHEN 5 THEN E'naïve 😀\\n\\\\N\\t\\r' ELSE repeat(md5(i::text), i::int % 4) END,
    CASE i % 41 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN '\\x00ff0a22' ELSE sha256(i::text::bytea) END,
    CASE WHEN i % 43 > 0 THEN md5(i::text)::uuid END
FROM generate_series(1::bigint, {ROWS}) AS i
"""
_MARIADB = f"""
CREATE TABLE events (
    id bigint unsigned PRIMARY KEY, created_at datetime(6), seen_at timestamp(6) NULL, born date,
    small tinyint, price decimal(12,2), ratio double, share float, flag bit(1), title text, payload blob,
    word varchar(20) CHARACTER SET latin1
);
SET time_zone = '+00:00';
INSERT INTO events SELECT i,
    IF(i % 97, TIMESTAMPADD(MICROSECOND, {_MOMENT}, '2024-01-01'), NULL),
    IF(i % 11, TIMESTAMPADD(MICROSECOND, ({_MOMENT}) * 60, '1970-01-01 00:00:01.5'), NULL),
    IF(i % 13, DATE_ADD('0001-01-01', INTERVAL i * 7919 % 3652059 DAY), NULL),
    IF(i % 17, i % 256 - 128, NULL),
    IF(i % 19, (i * 791900019 % 2000000000000 - 1000000000000) / 100, NULL),
    CASE i % 23 WHEN 0 THEN NULL WHEN 1 THEN 1e308 WHEN 2 THEN 2.5e-308 ELSE 1e300 / i END,
    IF(i % 29, i / 7e0, NULL),
    IF(i % 31, i % 2, NULL),
    CASE i % 37 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'NULL' WHEN 3 THEN 'a, "b"' WHEN 4 THEN 'NaN'
        WHEN 5 THEN 'naïve 😀\\n\\\\N\\t\\r' ELSE REPEAT(MD5(i), i % 4) END,
    CASE i % 41 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN x'00ff0a22' ELSE UNHEX(SHA2(i, 256)) END,
    IF(i % 43, CONCAT('é', i), NULL)
FROM (SELECT CAST(seq AS int) AS i FROM seq_1_to_{ROWS}) AS numbers
"""

_SQLITE = f"""
CREATE TABLE events (
    id INTEGER PRIMARY KEY, created_at DATETIME, midnight DATETIME, born DATE, small SMALLINT,
    price DECIMAL(12,2), ratio REAL, share DOUBLE, flag BOOLEAN, title TEXT, payload BLOB, token VARCHAR(20)
);
WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < {ROWS})
INSERT INTO events SELECT i,
    CASE WHEN i % 97 > 0 THEN strftime('%Y-%m-%d %H:%M:%S.', 1704067200 + ({_MOMENT}) / 1000000, 'unixepoch')
        || printf('%06d', {_MOMENT} % 1000000) END,
    CASE WHEN i % 11 > 0 THEN date(1704067200 + i * 86400 % 2000000000, 'unixepoch') END,
    CASE WHEN i % 13 > 0 THEN date('0001-01-01', (i * 7919 % 3652059) || ' days') END,
    CASE WHEN i % 17 > 0 THEN i % 65536 - 32768 END,
    CASE WHEN i % 19 > 0 THEN (i * 791900019 % 2000000000000 - 1000000000000) / 100.0 END,
    CASE i % 23 WHEN 0 THEN NULL WHEN 2 THEN -9e999 WHEN 3 THEN 1e308 ELSE 1000.0 / i END,
    CASE WHEN i % 29 > 0 THEN i / 7.0 END,
    CASE WHEN i % 31 > 0 THEN i % 2 = 0 END,
    CASE i % 37 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'NULL' WHEN 3 THEN 'a, "b"' WHEN 4 THEN 'NaN'
        WHEN 5 THEN 'naïve 😀' || char(10) || '\\N' ELSE printf('%016x', i * 2654435761) END,
    CASE i % 41 WHEN 0 THEN NULL WHEN 1 THEN x'' WHEN 2 THEN x'00ff0a22' ELSE CAST(i AS BLOB) END,
    CASE WHEN i % 43 > 0 THEN 'é' || i END
FROM numbers
"""


def _joined(texts: Sequence[str]) -> str:
    return " || ',' || ".join(texts)


def _joined_in_mariadb(texts: Sequence[str]) -> str:
    return f"CONCAT_WS(',', {', '.join(texts)})"


@dataclass(frozen=True)
class Year:
    """The table `events` of one engine.

    Attributes:
        create: The statements that make it.
        columns: Each column's type as pyarrow names it, and the SQL by which the database renders it.
        text: What the database calls text in a cast.
        joined: Makes the SQL that joins texts to one line.
    """

    create: str
    columns: Mapping[str, tuple[str, str]]
    text: str = "text"
    joined: Callable[[Sequence[str]], str] = _joined

    @property
    def rendering(self) -> str:
        """Give the query by which the database renders each row as one line."""
        texts = [
            f"CASE WHEN {name} IS NULL THEN '{NULL_WORD}' ELSE CAST({rendered} AS {self.text}) END"
            for name, (_, rendered) in self.columns.items()
        ]
        return f"SELECT {self.joined(texts)} FROM events"

    @property
    def types(self) -> dict[str, str]:
        """Give each column's type as pyarrow names it."""
        return {name: arrow for name, (arrow, _) in self.columns.items()}

    @property
    def values(self) -> str:
        """Give DuckDB's SQL that makes the values out of the texts of one line."""
        return ", ".join(f"{_value(name, arrow)} AS {name}" for name, arrow in self.types.items())


def _value(text: str, arrow: str) -> str:
    made = {
        "timestamp[us]": f"make_timestamp({text}::BIGINT)",
        "timestamp[us, tz=UTC]": f"make_timestamptz({text}::BIGINT)",
        "date32[day]": f"DATE '1970-01-01' + {text}::INT",
        "decimal128(12, 2)": f"{text}::DECIMAL(12,2)",
        "bool": f"{text}::INT::BOOL",
        "string": f"decode(unhex({text}))",
        "binary": f"unhex({text})",
    }
    return made.get(arrow) or f"{text}::{arrow}"


YEAR = {
    "postgres": Year(
        _POSTGRES,
        {
            "id": ("int64", "id"),
            "created_at": ("timestamp[us]", "(extract(epoch FROM created_at) * 1000000)::bigint"),
            "seen_at": ("timestamp[us, tz=UTC]", "(extract(epoch FROM seen_at) * 1000000)::bigint"),
            "born": ("date32[day]", "born - date '1970-01-01'"),
            "small": ("int16", "small"),
            "price": ("decimal128(12, 2)", "price"),
            "ratio": ("double", "ratio"),
            "share": ("float", "share::double precision"),
            "flag": ("bool", "flag::int"),
            "title": ("string", "upper(encode(convert_to(title, 'UTF8'), 'hex'))"),
            "payload": ("binary", "upper(encode(payload, 'hex'))"),
            "token": ("string", "upper(encode(token::text::bytea, 'hex'))"),
        },
    ),
    "mariadb": Year(
        _MARIADB,
        {
            "id": ("uint64", "id"),
            "created_at": ("timestamp[us]", "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', created_at)"),
            "seen_at": ("timestamp[us, tz=UTC]", "CAST(UNIX_TIMESTAMP(seen_at) * 1000000 AS int)"),
            "born": ("date32[day]", "TO_DAYS(born) - TO_DAYS('1970-01-01')"),
            "small": ("int8", "small"),
            "price": ("decimal128(12, 2)", "price"),
            "ratio": ("double", "ratio"),
            "share": ("float", "CAST(share AS double)"),
            "flag": ("bool", "flag + 0"),
            "title": ("string", "HEX(title)"),
            "payload": ("binary", "HEX(payload)"),
            "word": ("string", "HEX(CONVERT(word USING utf8mb4))"),
        },
        "char",
        _joined_in_mariadb,
    ),
    "sqlite": Year(
        _SQLITE,
        {
            "id": ("int64", "id"),
            "created_at": (
                "timestamp[us]",
                "strftime('%s', substr(created_at, 1, 19)) * 1000000 + substr(created_at, 21)",
            ),
            "midnight": ("timestamp[us]", "strftime('%s', midnight) * 1000000"),
            "born": ("date32[day]", "CAST(julianday(born) - julianday('1970-01-01') AS int)"),
            "small": ("int64", "small"),
            "price": ("decimal128(12, 2)", "printf('%.2f', price)"),
            "ratio": ("double", "printf('%!.17g', ratio)"),
            "share": ("double", "printf('%!.17g', share)"),
            "flag": ("bool", "flag"),
            "title": ("string", "hex(title)"),
            "payload": ("binary", "hex(payload)"),
            "token": ("string", "hex(token)"),
        },
    ),
}
