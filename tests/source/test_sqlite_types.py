"""SQLite's types: a column becomes what it was declared, and a value that does not fit it is never read."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rivet.errors import ColumnError
from rivet.source.protocol import Session
from rivet.source.relation import Request
from rivet.source.sqlite.types import declared_type
from tests.servers.sqlite import SqliteDatabase
from tests.source.reading import EVERYTHING
from tests.source.sqlite_reading import in_session, probe_of, read_all

DECLARED = [
    ("INTEGER", "int64"),
    ("tinyint", "int64"),
    ("UNSIGNED BIG INT", "int64"),
    ("VARCHAR(20)", "string"),
    ("NATIVE CHARACTER(70)", "string"),
    ("TIMESTAMP(6)", "timestamp[us]"),
    ("CLOB", "string"),
    ("uuid", "string"),
    ("JSON", "string"),
    ("STRING", "string"),
    ("TIME", "string"),
    ("JSON(", "string"),
    ("BLOB", "binary"),
    ("REAL", "float64"),
    ("DOUBLE PRECISION", "float64"),
    ("FLOAT(24)", "float64"),
    ("NUMERIC", "float64"),
    ("DECIMAL(60,10)", "float64"),
    ("DECIMAL(10,2)", "decimal128(10,2)"),
    ("decimal ( 5 )", "decimal128(5,0)"),
    ("NUMERIC(3,5)", "decimal128(5,5)"),
    ("NUMERIC(5,-2)", "decimal128(7,0)"),
    ("BOOLEAN", "bool"),
    ("Date", "date32"),
    ("DATETIME", "timestamp[us]"),
    ("timestamp without time zone", "timestamp[us]"),
    ("timestamptz", "timestamp[us, UTC]"),
    ("TIMESTAMP(6) with  time zone", "timestamp[us, UTC]"),
    ("GEOMETRY", None),
    ("", None),
]

# Declared type, values as SQL, and what they must arrive as; NULL is added to each.
EXACT: list[tuple[str, list[tuple[str, object]]]] = [
    (
        "INTEGER",
        [
            ("-9223372036854775808", -(2**63)),
            ("9223372036854775807", 2**63 - 1),
            ("9007199254740993", 2**53 + 1),
        ],
    ),
    (
        "REAL",
        [
            ("0.1", 0.1),
            ("9e999", math.inf),
            ("-9e999", -math.inf),
            ("4.9e-324", 5e-324),
            ("1.7976931348623157e308", 1.7976931348623157e308),
            ("9e999 - 9e999", None),
            ("3", 3.0),
        ],
    ),
    ("NUMERIC", [("1.5", 1.5), ("9007199254740992", 2.0**53), ("'12'", 12.0)]),
    (
        "DECIMAL(10,2)",
        [
            ("12.34", Decimal("12.34")),
            ("0.5 - 0.3", Decimal("0.20")),
            ("-99999999.99", Decimal("-99999999.99")),
            ("5", Decimal("5.00")),
            ("'7.10'", Decimal("7.10")),
        ],
    ),
    (
        "DECIMAL(20,0)",
        [("9223372036854775807", Decimal(2**63 - 1)), ("9007199254740993", Decimal(2**53 + 1))],
    ),
    ("DECIMAL(18,15)", [("52.5", Decimal("52.5")), ("13.377003", Decimal("13.377003"))]),
    (
        "DECIMAL(38,18)",
        [("0.1", Decimal("0.1")), ("0.00001", Decimal("0.00001")), ("123456.5", Decimal("123456.5"))],
    ),
    ("BOOLEAN", [("TRUE", True), ("0", False), ("'1'", True)]),
    (
        "TEXT",
        [
            ("''", ""),
            ("'NULL'", "NULL"),
            ("7", "7"),
            ("0.5", "0.5"),
            ("'a' || char(0) || 'b'", "a\0b"),
            ("'quote '' \" é 漢 😀' || char(10)", "quote ' \" é 漢 😀\n"),
        ],
    ),
    ("JSON", [("'{\"a\": 1}'", '{"a": 1}'), ("'1'", "1")]),
    ("UUID", [("'0f8fad5b-d9cb-469f-a165-70867728950e'", "0f8fad5b-d9cb-469f-a165-70867728950e")]),
    ("BLOB", [("x''", b""), ("x'00ff00'", b"\0\xff\0"), ("CAST('text' AS BLOB)", b"text")]),
    ("", [("1", 1), ("2", 2)]),
    ("", [("1", 1.0), ("2.5", 2.5)]),
    ("", [("'1'", "1")]),
    ("", [("x'01'", b"\1")]),
    ("GEOMETRY", [("x'0101'", b"\1\1")]),
]

# Declared type, values that do not fit, and what the message counts.
MISFITS = [
    ("INTEGER", ["'abc'", "2.5", "x'00'", "9223372036854775808"], "2 real, 1 text, 1 blob"),
    ("TEXT", ["x'00'"], "1 blob"),
    ("JSON", ["2.5"], "1 real"),
    ("BLOB", ["'a'", "1"], "1 integer, 1 text"),
    ("REAL", ["'x'", "x'00'"], "1 text, 1 blob"),
    ("NUMERIC", ["9007199254740993", "'x'"], "1 integer, 1 text"),
    ("BOOLEAN", ["2", "'t'", "0.5"], "1 integer, 1 real, 1 text"),
    (
        "DECIMAL(10,2)",
        ["100000000", "0.1 + 0.2", "1.001", "'x'", "9e999", "-9223372036854775808", "99999999.995"],
        "2 integer, 4 real, 1 text",
    ),
    ("DECIMAL(38,18)", ["0.1 + 0.2"], "1 real"),
    ("DECIMAL(20,6)", ["1234567890.1234567"], "1 real"),
]


@pytest.mark.parametrize(("declared", "expected"), DECLARED)
def test_declared_type(declared: str, expected: str | None) -> None:
    """A declared type says what a column becomes, or leaves it to the values."""
    found = declared_type(declared)

    assert (None if found is None else str(found)) == expected


@pytest.mark.parametrize(("declared", "values"), EXACT)
def test_value_arrives(
    sqlite_database: SqliteDatabase, declared: str, values: list[tuple[str, object]]
) -> None:
    """Each value arrives as SQLite holds it, between NULLs, from a table, a view and a query."""
    rows = ", ".join(f"({sql})" for sql in ["NULL", *(sql for sql, _ in values), "NULL"])
    sqlite_database.execute(
        f"CREATE TABLE t(c {declared}); INSERT INTO t(c) VALUES {rows}; CREATE VIEW v AS SELECT c FROM t"
    )
    expected = [None, *(value for _, value in values), None]

    for read in (
        read_all(sqlite_database, table="t"),
        read_all(sqlite_database, table="v"),
        read_all(sqlite_database, query="SELECT c FROM t"),
    ):
        assert read.column("c").to_pylist() == expected


@pytest.mark.parametrize(("declared", "values", "counted"), MISFITS)
def test_value_that_does_not_fit(
    sqlite_database: SqliteDatabase, declared: str, values: list[str], counted: str
) -> None:
    """Values that do not fit their column are counted by storage class before anything is read."""
    rows = ", ".join(f"({sql})" for sql in ["NULL", *values])
    sqlite_database.execute(f"CREATE TABLE t(good TEXT, c {declared}); INSERT INTO t(c) VALUES {rows}")

    with pytest.raises(ColumnError) as caught:
        probe_of(sqlite_database, "t", None)

    assert f"column 'c' is {declared} and holds what does not fit" in str(caught.value)
    assert str(caught.value).endswith(f": {counted}")
    assert "CAST" in str(caught.value.hint)
    assert read_all(sqlite_database, table="t", exclude=("c",)).column_names == ["good"]


@pytest.mark.parametrize(
    ("values", "counted"),
    [
        ("1, 'a'", "1 integer, 1 text"),
        ("x'00', 'a', 1.5", "1 real, 1 text, 1 blob"),
        ("0.5, 9007199254740993", "2^53"),
    ],
)
def test_mixed_column_without_a_type(sqlite_database: SqliteDatabase, values: str, counted: str) -> None:
    """Values that have no type in common stop the description, with counts."""
    rows = ", ".join(f"({v})" for v in values.split(", "))
    sqlite_database.execute(f"CREATE TABLE t(c); INSERT INTO t VALUES {rows}")

    with pytest.raises(ColumnError, match="'c' is of no declared type") as caught:
        in_session(sqlite_database, lambda s: s.describe(Request("t")))

    assert counted in str(caught.value)


def test_several_columns_that_do_not_fit(sqlite_database: SqliteDatabase) -> None:
    """Each of them is named."""
    sqlite_database.execute("CREATE TABLE t(a INT, b INT, d DATE); INSERT INTO t VALUES ('x', 'y', 5)")

    with pytest.raises(ColumnError, match=r"'a' .*'b' .*'d' "):
        probe_of(sqlite_database, "t", None)


def test_strict_table(sqlite_database: SqliteDatabase) -> None:
    """A STRICT table is read like others, its ANY column by its values."""
    sqlite_database.execute(
        "CREATE TABLE t(i INT, r REAL, x TEXT, b BLOB, a ANY) STRICT;"
        "INSERT INTO t VALUES (1, 2, 'x', x'00', 'y')"
    )

    read = read_all(sqlite_database, table="t")

    assert read.to_pylist() == [{"i": 1, "r": 2.0, "x": "x", "b": b"\0", "a": "y"}]


def test_types_do_not_follow_the_first_rows(sqlite_database: SqliteDatabase) -> None:
    """Columns that hold nothing but NULL for many rows keep their types."""
    columns = "i INT, r REAL, x TEXT, b BLOB, d DATE, m DECIMAL(5,1), f BOOLEAN"
    sqlite_database.execute(
        f"CREATE TABLE t(n INTEGER PRIMARY KEY, {columns});"
        "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 40000) "
        "INSERT INTO t(n) SELECT n FROM c;"
        "INSERT INTO t VALUES (50000, 1, 2.5, 'x', x'00', '2023-01-01', 0.5, 1)"
    )

    read = read_all(sqlite_database, table="t")

    assert read.num_rows == 40001
    assert [read.column(c).null_count for c in read.column_names] == [0, *[40000] * 7]
    assert read.column("m").to_pylist()[-1] == Decimal("0.5")


def test_nothing_but_null_and_nothing_at_all(sqlite_database: SqliteDatabase) -> None:
    """A column of NULLs and an empty table have the types that they were declared."""
    sqlite_database.execute(
        "CREATE TABLE t(d DATETIME); INSERT INTO t VALUES (NULL), (NULL); CREATE TABLE e(i INT, x)"
    )

    assert read_all(sqlite_database, table="t", order="d").to_pydict() == {"d": [None, None]}
    assert read_all(sqlite_database, table="e").schema.types == [pa.int64(), pa.string()]


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
def test_encodings(sqlite_database: SqliteDatabase, encoding: str) -> None:
    """Text and dates arrive alike from databases of every encoding."""
    sqlite_database.execute(
        f"PRAGMA encoding = '{encoding}'; CREATE TABLE t(d DATETIME, x TEXT);"
        "INSERT INTO t VALUES ('2023-01-01 00:00:00.000001', 'é😀'), ('2022-12-31', NULL)"
    )

    read = read_all(sqlite_database, table="t", order="d")

    assert [str(d) for d in read.column("d").to_pylist()] == [
        "2022-12-31 00:00:00",
        "2023-01-01 00:00:00.000001",
    ]
    assert read.column("x").to_pylist() == [None, "é😀"]


def test_text_that_is_not_utf8(sqlite_database: SqliteDatabase) -> None:
    """Bytes that are not UTF-8 stop the read, naming the column, in text and in dates."""
    sqlite_database.execute(
        "CREATE TABLE t(x TEXT, d DATE); INSERT INTO t VALUES (CAST(x'C328' AS TEXT), NULL)"
    )

    with pytest.raises(ColumnError, match=r"'x' .*: 1 text is not valid UTF-8"):
        read_all(sqlite_database, table="t")

    sqlite_database.execute("UPDATE t SET x = NULL, d = CAST(x'C328' AS TEXT)")
    assert probe_of(sqlite_database, "t", "d").unrepresentable_rows == 1


def test_rows_of_any_size(sqlite_database: SqliteDatabase) -> None:
    """Batches are bounded in bytes, a row may be larger than any of them, and none is lost."""
    sqlite_database.execute(
        "CREATE TABLE t(n INTEGER PRIMARY KEY, b BLOB);"
        "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 300) "
        "INSERT INTO t SELECT n, zeroblob(CASE n WHEN 150 THEN 20000000 ELSE 100000 END) FROM c"
    )

    def ask(session: Session) -> list[int]:
        relation = session.describe(Request("t"))
        with session.read(relation, relation.columns, None, EVERYTHING) as batches:
            sizes = [batch.nbytes for batch in batches]
            assert batches.server_rows == 300
        return sizes

    sizes = sorted(in_session(sqlite_database, ask))

    assert sizes[-1] < 24_000_000
    assert sizes[-2] < 10_000_000


@settings(max_examples=10)
@given(st.integers(0, 9), st.lists(st.integers(-(10**9), 10**9), min_size=50, max_size=200))
def test_any_decimal(scale: int, digits: list[int]) -> None:
    """The double nearest to a decimal of the declared scale arrives as that decimal."""
    exact = [Decimal(d).scaleb(-scale) for d in digits]
    with TemporaryDirectory() as directory:
        database = SqliteDatabase(Path(directory) / "d.db")
        database.execute(f"CREATE TABLE t(m DECIMAL(12,{scale}))")
        with database.connect() as connection:  # the module's SQLite may read a literal as another double
            connection.executemany("INSERT INTO t VALUES (?)", [(float(d),) for d in exact])
        read = read_all(database, table="t")

    assert read.column("m").to_pylist() == exact
    assert read.schema.field("m").type == pa.decimal128(12, scale)
