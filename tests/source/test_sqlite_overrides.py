"""Types that a config asks for SQLite's columns: each value arrives exactly, or stops the export by count."""

from __future__ import annotations

import math
import uuid
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rivet.errors import ColumnError, SourceError
from rivet.plan.overrides import override
from rivet.plan.schema import ColumnType, Fidelity, Kind, Override
from rivet.source.relation import Relation, Request
from tests.servers.sqlite import SqliteDatabase
from tests.source.sqlite_reading import in_session, read_all

UUID = "0f8fad5b-d9cb-469f-a165-70867728950e"
BIG = 2**63 - 1

# Declared type, what is asked for, values as SQL, and what they must arrive as.
HELD: list[tuple[str, Override, list[tuple[str, object]]]] = [
    (
        "",
        override("string"),
        [
            ("1", "1"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("0.1", "0.1"),
            ("0.1 + 0.2", "0.30000000000000004"),
            ("'1.50'", "1.50"),
            ("x'c3a9'", "é"),
            ("''", ""),
            ("'a' || char(0) || 'b'", "a\0b"),
        ],
    ),
    (
        "TEXT",
        override("binary"),
        [
            ("CAST(x'C328' AS TEXT)", b"\xc3("),
            ("x'00ff'", b"\0\xff"),
            ("'a' || char(0)", b"a\0"),
            ("''", b""),
        ],
    ),
    ("", override("int64"), [("1", 1), ("2.0", 2), ("'-3'", -3), (str(BIG), BIG), (f"'{BIG}'", BIG)]),
    ("INT", override("int32"), [("-2147483648", -(2**31)), ("2147483647", 2**31 - 1)]),
    ("INT", override("uint8"), [("0", 0), ("255", 255)]),
    ("INT", override("uint64"), [("0", 0), (str(BIG), BIG)]),
    ("", override("bool"), [("0", False), ("1", True), ("'1'", True), ("0.0", False)]),
    (
        "",
        override("float64"),
        [
            ("1", 1.0),
            ("0.1", 0.1),
            ("'0.1'", 0.1),
            ("'100.50'", 100.5),
            ("9e999", math.inf),
            ("'1.0e+22'", 1e22),
            ("9007199254740992", 2.0**53),
        ],
    ),
    ("REAL", override("float32"), [("0.5", 0.5), ("16777216.0", 16777216.0), ("9e999", math.inf)]),
    (
        "",
        override("decimal", precision=38, scale=10),
        [
            ("1", Decimal(1)),
            ("0.1", Decimal("0.1")),
            ("'0.3000'", Decimal("0.3")),
            (
                "'-1234567890123456789012345678.0123456789'",
                Decimal("-1234567890123456789012345678.0123456789"),
            ),
            ("'00012.5'", Decimal("12.5")),
            ("1e-5", Decimal("0.00001")),
        ],
    ),
    ("TEXT", override("json"), [("'{\"a\": [1, 2.50]}'", '{"a": [1, 2.50]}'), ("'null'", "null")]),
    ("JSON", override("json"), [("5", "5"), ("'\"é\"'", '"é"'), ("1.5", "1.5")]),
    (
        "",
        override("uuid"),
        [
            (f"'{UUID}'", UUID),
            (f"'{UUID.upper()}'", UUID),
            (f"'{UUID.replace('-', '')}'", UUID),
            (f"x'{UUID.replace('-', '')}'", UUID),
        ],
    ),
    (
        "TIME",
        override("time"),
        [("'00:00'", 0), ("'23:59:59.999999'", 86_399_999_999), ("'10:00:00.1000000'", 36_000_100_000)],
    ),
]

# What is asked for, values that it cannot hold, and what the message counts.
NOT_HELD: list[tuple[Override, list[str], str]] = [
    (override("binary"), ["1", "1.5", "'x'"], "1 integer, 1 real"),
    (
        override("int64"),
        ["2.5", "9.3e18", "9e999", "'1x'", "'007'", "'+7'", "' 7'", "''", "'9223372036854775808'", "x'31'"],
        "3 real, 6 text, 1 blob",
    ),
    (override("int8"), ["128", "-129", "127"], "2 integer"),
    (override("uint16"), ["-1", "65536"], "2 integer"),
    (override("uint64"), ["-1", "9223372036854775808.0"], "1 integer, 1 real"),
    (override("bool"), ["2", "'t'", "0.5", "x'31'", "'true'"], "1 integer, 1 real, 2 text, 1 blob"),
    (
        override("float64"),
        [
            *("9007199254740993", "'0.1234567890123456789'", "'nan'", "'nan(1)'", "'Inf'", "''", "'1,5'"),
            *("'0x10'", "x'31'"),
        ],
        "1 integer, 7 text, 1 blob",
    ),
    (
        override("decimal", precision=5, scale=2),
        [
            *("1000", "0.005", "0.1 + 0.2", "'1.005'", "'1000'", "'1e1'", "'.'", "'5.'", "'1.2.3'", "'--5'"),
            *("''", "x'31'", "'5' || char(0) || '5'"),
        ],
        "1 integer, 2 real, 9 text, 1 blob",
    ),
    (override("json"), ["'{'", "''", "x'7b7d'", "9e999", "'{}' || char(0)"], "1 real, 3 text, 1 blob"),
    (
        override("uuid"),
        [
            *(f"'{UUID[:-1]}'", f"'{UUID[:-1]}g'", f"'{{{UUID}}}'", "x'00'", "5", f"'{UUID}' || char(0)"),
            *(f"'{UUID.replace('-', '')[:-2]}--'", "''"),
        ],
        "1 integer, 6 text, 1 blob",
    ),
    (
        override("time"),
        ["'24:00'", "'1:00'", "'10:60'", "'10:00:00.0000001'", "'10:00Z'", "36000", "'10'", "''"],
        "1 integer, 7 text",
    ),
    (override("date"), ["5", "2459945.5"], "1 integer, 1 real"),
]


def _of_column(relation: Relation) -> tuple[str, str, Fidelity]:
    column = relation.columns[0]
    return str(column.type), column.source_type, column.fidelity


@pytest.mark.parametrize(("declared", "asked", "values"), HELD)
def test_values_that_it_holds(
    sqlite_database: SqliteDatabase, declared: str, asked: Override, values: list[tuple[str, object]]
) -> None:
    """Values of any storage class arrive exactly, from a table, a view and a query, whichever comes first."""
    sqlite_database.execute(f"CREATE TABLE t(c {declared}); CREATE VIEW v AS SELECT c FROM t")
    expected = [None, *(value for _, value in values), None]

    for order in (1, -1):
        rows = ", ".join(f"({sql})" for sql in ["NULL", *(sql for sql, _ in values), "NULL"][::order])
        sqlite_database.execute(f"DELETE FROM t; INSERT INTO t(c) VALUES {rows}")
        for table, query in (("t", None), ("v", None), (None, "SELECT * FROM t")):
            read = read_all(sqlite_database, table=table, query=query, overrides={"C": asked}).column("c")
            if asked.type.kind is Kind.TIME:
                read = read.cast(pa.int64())
            elif asked.type.kind is Kind.UUID:
                read = pa.chunked_array([[None if v is None else str(v) for v in read.to_pylist()]])
            assert read.to_pylist() == expected[::order]


@pytest.mark.parametrize(("asked", "values", "counted"), NOT_HELD)
@pytest.mark.parametrize("declared", ["", "BLOB"])
def test_values_that_it_cannot_hold(
    sqlite_database: SqliteDatabase, declared: str, asked: Override, values: list[str], counted: str
) -> None:
    """They are counted by storage class before anything is read, with the types that hold them."""
    rows = ", ".join(f"({sql})" for sql in ["NULL", *values])
    sqlite_database.execute(f"CREATE TABLE t(c {declared}); INSERT INTO t VALUES {rows}")

    with pytest.raises(ColumnError) as caught:
        read_all(sqlite_database, table="t", overrides={"c": asked})

    assert "column 'c' is " in str(caught.value)
    assert str(caught.value).endswith(f"holds what does not fit {asked.type}: {counted}")
    hint = str(caught.value.hint)
    assert '"c": string' in hint or '"c": {type' in hint
    assert asked.type.kind is Kind.DATE or "take the type out of `columns`" in hint
    assert ("another precision and scale" in hint) == (asked.type.kind is Kind.DECIMAL)


def test_float32_holds_no_value_between_two(sqlite_database: SqliteDatabase) -> None:
    """A double that no float32 equals is not rounded to the nearest."""
    sqlite_database.execute("CREATE TABLE t(c REAL); INSERT INTO t VALUES (0.5), (NULL), (0.1)")

    with pytest.raises(ColumnError, match=r"'c' .* float32: a value lies between two"):
        read_all(sqlite_database, table="t", overrides={"c": override("float32")})


def test_fidelity(sqlite_database: SqliteDatabase) -> None:
    """Each column says how its values arrive, and keeps the type that the database has for it."""
    sqlite_database.execute(
        "CREATE TABLE t(i INTEGER, r REAL, m DECIMAL(10,2), x TEXT, b BLOB, d DATETIME, u UUID, j JSON, n,"
        " f BOOLEAN)"
    )
    asked = {
        ("i", "string"): Fidelity.TEXT,
        ("i", "int64"): Fidelity.EXACT,
        ("i", "int32"): Fidelity.LOSSY,
        ("i", "float64"): Fidelity.LOSSY,
        ("r", "int64"): Fidelity.LOSSY,
        ("m", "float64"): Fidelity.LOSSY,
        ("x", "string"): Fidelity.EXACT,
        ("x", "binary"): Fidelity.EXACT,
        ("x", "int64"): Fidelity.LOSSY,
        ("x", "json"): Fidelity.LOSSY,
        ("j", "json"): Fidelity.EXACT,
        ("u", "uuid"): Fidelity.EXACT,
        ("d", "string"): Fidelity.TEXT,
        ("d", "timestamptz"): Fidelity.LOSSY,
        ("b", "string"): Fidelity.TEXT,
        ("n", "string"): Fidelity.TEXT,
        ("f", "int8"): Fidelity.EXACT,
    }

    def ask(name: str, word: str) -> tuple[str, str, Fidelity]:
        request = Request(query=f"SELECT {name} FROM t", overrides={name: override(word)})
        return _of_column(in_session(sqlite_database, lambda s: s.describe(request)))

    found = {(name, word): ask(name, word) for name, word in asked}

    assert {key: fidelity for key, (_, _, fidelity) in found.items()} == asked
    assert found["m", "float64"][:2] == ("float64", "DECIMAL(10,2)")
    assert found["j", "json"][:2] == ("json", "JSON")
    wide = Request("t", overrides={"i": override("decimal", precision=19), "n": override("uuid")})
    relation = in_session(sqlite_database, lambda s: s.describe(wide))
    assert relation.columns[0].fidelity is Fidelity.EXACT
    assert relation.columns[8].source_type == "ANY"


@pytest.mark.parametrize(
    "asked", [override("duration"), Override(ColumnType(Kind.LIST, element=ColumnType(Kind.INT64)))]
)
def test_type_that_no_value_can_have(sqlite_database: SqliteDatabase, asked: Override) -> None:
    """What SQLite has nothing for is refused when it is described, with what can be asked for."""
    sqlite_database.execute("CREATE TABLE t(c TEXT)")

    with pytest.raises(ColumnError, match=r"'c' \(TEXT\) cannot become") as caught:
        in_session(sqlite_database, lambda s: s.describe(Request("t", overrides={"c": asked})))

    assert "timestamptz" in str(caught.value.hint)


def test_all_that_no_column_can_be_is_told_together(sqlite_database: SqliteDatabase) -> None:
    """One refusal names every column that cannot become what is asked; another, those whose values clash."""
    sqlite_database.execute("CREATE TABLE t(a TEXT, b INT, c, d)")
    sqlite_database.execute("INSERT INTO t VALUES ('', 1, 1, 2), ('', 1, 'x', x'')")
    asked = {"a": override("duration"), "b": override("duration")}

    with pytest.raises(ColumnError, match=r"'a' \(TEXT\) cannot become .*'b' \(INT\) cannot become"):
        in_session(sqlite_database, lambda s: s.describe(Request("t", overrides=asked)))
    with pytest.raises(
        ColumnError, match=r"'c' is of no declared type .*'d' is of no declared type"
    ) as caught:
        in_session(sqlite_database, lambda s: s.describe(Request("t")))

    assert 'CAST("d" AS TEXT)' in str(caught.value.hint)
    assert str(caught.value.hint).startswith('write `columns: {"c": string}`, or cast it')


def test_column_that_is_not_there(sqlite_database: SqliteDatabase) -> None:
    """A type for an unknown or excluded column is refused with the near miss."""
    sqlite_database.execute("CREATE TABLE t(amount INT, x INT)")

    with pytest.raises(SourceError, match="columns: no column 'amonut'") as caught:
        read_all(sqlite_database, table="t", overrides={"amonut": override("string")})
    with pytest.raises(SourceError, match="no column 'x'"):
        read_all(sqlite_database, table="t", exclude=("x",), overrides={"x": override("string")})

    assert "'amount'" in str(caught.value.hint)


@settings(max_examples=20)
@given(
    st.lists(st.uuids(), min_size=1, max_size=5), st.lists(st.decimals(places=3, allow_nan=False), max_size=9)
)
def test_any_text_that_holds_a_value(ids: list[uuid.UUID], numbers: list[Decimal]) -> None:
    """Text that holds a uuid or a decimal arrives as it, or is refused because it has too many digits."""
    texts = [f"{n:f}" for n in numbers if n.is_finite() and abs(n) < 10**35]
    with TemporaryDirectory() as directory:
        database = SqliteDatabase(Path(directory) / "d.db")
        database.execute("CREATE TABLE t(u TEXT); CREATE TABLE m(n TEXT)")
        with database.connect() as connection:
            connection.executemany("INSERT INTO t VALUES (?)", [(str(i),) for i in ids])
            connection.executemany("INSERT INTO m VALUES (?)", [(t,) for t in texts])
        read = read_all(database, table="t", overrides={"u": override("uuid")}).column("u").to_pylist()
        held = read_all(database, table="m", overrides={"n": override("decimal", precision=38, scale=3)})

    assert read == ids
    assert held.column("n").to_pylist() == [Decimal(t) for t in texts]
