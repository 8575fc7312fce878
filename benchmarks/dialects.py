"""How each engine writes what the tables of shapes are made of; everything else in them is common SQL."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

_DIGEST_BYTES = 32  # in hexadecimal


@dataclass(frozen=True)
class Dialect:
    """An engine's words.

    Attributes:
        series: Give what stands after FROM and has the column `i`, from 1 to a number.
        moment: Give the moment so many milliseconds after 2000-01-01, from an expression for the number.
        noise: Give a text of so many bytes, another one for each `i` and each salt, that hardly compresses.
        types: Its words for a whole number, a double, a short text, a long one and a moment.
        days: The query for the rows of each day.
        before: Statements before the table is made.
    """

    series: Callable[[int], str]
    moment: Callable[[str], str]
    noise: Callable[[int, int], str]
    types: dict[str, str]
    days: str
    before: str = ""


def _postgres_noise(size: int, salt: int) -> str:
    digests = (
        f"(SELECT string_agg(md5(concat(i, '-', {salt}, '-', j)), '') FROM generate_series(1, {{}}) AS t (j))"
    )
    return _cut(f"md5(concat(i, '-', {salt}))", digests, size)


def _mariadb_noise(size: int, salt: int) -> str:
    digests = (
        f"(SELECT group_concat(md5(concat(s.i, '-', {salt}, '-', seq)) SEPARATOR '') FROM seq_1_to_{{}})"
    )
    return _cut(f"md5(concat(i, '-', {salt}))", digests, size)


def _cut(digest: str, digests: str, size: int) -> str:
    whole = digest if size <= _DIGEST_BYTES else digests.format(-(-size // _DIGEST_BYTES))
    return f"substr({whole}, 1, {size})"


def add_noise(connection: sqlite3.Connection) -> None:
    """Give SQLite the function that it has no words for."""

    def noise(number: int, size: int, salt: int) -> str:
        return hashlib.shake_128(f"{number}-{salt}".encode()).hexdigest(-(-size // 2))[:size]

    connection.create_function("noise", 3, noise, deterministic=True)


DIALECTS = {
    "postgres": Dialect(
        series=lambda count: f"generate_series(1::bigint, {count}) AS s (i)",
        moment=lambda number: f"timestamp '2000-01-01' + ({number}) * interval '1 millisecond'",
        noise=_postgres_noise,
        types={
            "whole": "bigint",
            "double": "double precision",
            "short": "varchar(40)",
            "long": "text",
            "moment": "timestamp",
        },
        days="SELECT created_at::date::text, count(*) FROM events GROUP BY 1",
    ),
    "mariadb": Dialect(
        series=lambda count: f"(SELECT seq AS i FROM seq_1_to_{count}) AS s",
        moment=lambda number: f"timestamp '2000-01-01 00:00:00' + INTERVAL ({number}) * 1000 MICROSECOND",
        noise=_mariadb_noise,
        types={
            "whole": "bigint",
            "double": "double",
            "short": "varchar(8) CHARACTER SET ascii",
            "long": "longtext",
            "moment": "datetime(6)",
        },
        days="SELECT CAST(CAST(created_at AS date) AS char), count(*) FROM events GROUP BY 1",
        before="SET group_concat_max_len = 1073741824, max_statement_time = 0;",
    ),
    "sqlite": Dialect(
        series=lambda count: (
            f"(WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < {count})"
            " SELECT i FROM s)"
        ),
        moment=lambda number: (
            f"strftime('%Y-%m-%d %H:%M:%f', '2000-01-01', (({number}) / 1000.0) || ' seconds')"
        ),
        noise=lambda size, salt: f"noise(i, {size}, {salt})",
        types={
            "whole": "INTEGER",
            "double": "REAL",
            "short": "VARCHAR(40)",
            "long": "TEXT",
            "moment": "TIMESTAMP",
        },
        days="SELECT date(created_at), count(*) FROM events GROUP BY 1",
    ),
}
