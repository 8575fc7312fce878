"""Large rows of PostgreSQL, single columns, nothing at all: what trips readers of CSV."""

from __future__ import annotations

import pytest

from rivet.plan.calendar import days_from_civil
from rivet.plan.scans import Reach, Scan
from rivet.source.relation import Request
from tests.servers.database import Database
from tests.source.reading import column_of, read_all, read_scan, source_of

MEBIBYTE = 1024 * 1024
WORDS = [
    "",
    "NULL",
    "\\N",
    "\\.",
    "null",
    "NaN",
    '"',
    '""',
    ",",
    "\n",
    "\r\n",
    "\n\n",
    " ",
    "\ufeff",
    "#",
    "'",
]


def test_rows_of_twenty_megabytes(postgres_database: Database) -> None:
    """Text, bytes, JSON and lists of 20 MiB arrive whole, between small rows and in one block with them."""
    postgres_database.execute(
        f"CREATE TABLE t AS SELECT i, repeat(E'é\\n,\"', {4 * MEBIBYTE}) AS s,"
        f" decode(repeat('00ff22', {7 * MEBIBYTE}), 'hex') AS b,"
        f" array_fill('é'::text, ARRAY[{MEBIBYTE}]) AS l"
        " FROM generate_series(1, 1) AS i;"
        " INSERT INTO t VALUES (0, 'x', 'x', '{x}'), (2, NULL, NULL, NULL)"
    )
    table = read_all(postgres_database, query="SELECT s, b, l FROM t ORDER BY i")

    s, b, lists = table.columns
    assert [s[0].as_py(), s[2].as_py(), b[0].as_py(), lists[0].as_py()] == ["x", None, b"x", ["x"]]
    assert s[1].as_py() == 'é\n,"' * (4 * MEBIBYTE)
    assert b[1].as_py() == b"\x00\xff\x22" * (7 * MEBIBYTE)
    assert lists[1].as_py() == ["é"] * MEBIBYTE


@pytest.mark.parametrize(
    "sql_type", ["text", "integer", "bytea", "text[]", "date", "boolean", "numeric(5,2)"]
)
def test_one_column_of_nulls(postgres_database: Database, sql_type: str) -> None:
    """A row that is nothing but NULL is a row, for every way in which a column is decoded."""
    query = f"SELECT NULL::{sql_type} AS v FROM generate_series(1, 1000)"
    table = read_all(postgres_database, query=query)
    assert table.num_rows == table.column(0).null_count == 1000


def test_one_column_of_text_that_looks_like_something_else(postgres_database: Database) -> None:
    """Text that means NULL, an end or a quote elsewhere is text, alone in its row and next to NULL."""
    for first in range(len(WORDS)):
        words = [*WORDS[first:], None, *WORDS[:first]]
        literals = ", ".join("(NULL)" if w is None else f"($_${w}$_$)" for w in words)
        table = read_all(postgres_database, query=f"SELECT v::text FROM (VALUES {literals}) AS w(v)")
        assert table.column(0).to_pylist() == words


def test_scans_without_rows(postgres_database: Database) -> None:
    """An empty table, an empty range and no NULL rows give no batch and no error, for every type."""
    postgres_database.execute(
        "CREATE TABLE t (d date, s text, b bytea, l int[], n numeric(5,2));"
        " CREATE TABLE u (LIKE t); INSERT INTO u VALUES ('2024-01-01')"
    )
    with source_of(postgres_database).session() as session:
        for name, rows in (("t", 0), ("u", 1)):
            relation = session.describe(Request(name))
            column = column_of(relation, "d")
            day = days_from_civil(2025, 1)
            assert read_scan(session, relation, column).num_rows == rows
            assert read_scan(session, relation, column, Scan(Reach.RANGE, day, day + 1)).num_rows == 0
            assert read_scan(session, relation, column, Scan(Reach.NULLS)).num_rows == 0
