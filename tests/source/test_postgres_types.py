"""PostgreSQL's types: each value arrives with the meaning that the server gives it, or is refused by name."""

from __future__ import annotations

import datetime as dt
import math
import re
import struct
from decimal import Decimal

import pyarrow as pa
import pytest

from rivet.errors import ColumnError
from rivet.plan.schema import ColumnType
from rivet.source.postgres.types import column_type
from rivet.source.protocol import Request
from tests.servers.database import Database
from tests.source.reading import read_all, read_scan, source_of

UTC = dt.UTC
NINES = "9" * 38

# Type, what it becomes, and literals with what they must arrive as; NULL is added to each.
EXACT: list[tuple[str, str, list[tuple[str, object]]]] = [
    ("boolean", "bool", [("true", True), ("false", False)]),
    ("smallint", "int16", [("-32768", -(2**15)), ("32767", 2**15 - 1)]),
    ("integer", "int32", [("-2147483648", -(2**31)), ("2147483647", 2**31 - 1)]),
    ("bigint", "int64", [("-9223372036854775808", -(2**63)), ("9223372036854775807", 2**63 - 1)]),
    ("real", "float", [("0.1", struct.unpack("f", struct.pack("f", 0.1))[0]), ("'-Infinity'", -math.inf)]),
    ("double precision", "double", [("1e308", 1e308), ("0.1", 0.1), ("4.9e-324", 5e-324)]),
    (
        "numeric(12,2)",
        "decimal128(12, 2)",
        [("1234567890.12", Decimal("1234567890.12")), ("0", Decimal("0.00"))],
    ),
    ("numeric(38,0)", "decimal128(38, 0)", [(NINES, Decimal(NINES)), (f"-{NINES}", Decimal(f"-{NINES}"))]),
    ("numeric(38,38)", "decimal128(38, 38)", [(f"0.{NINES}", Decimal(f"0.{NINES}"))]),
    ("numeric(60,10)", "string", [(f"{NINES}.0123456789", f"{NINES}.0123456789")]),
    ("numeric", "string", [("1e-30", "0." + "0" * 29 + "1"), ("'NaN'", "NaN"), ("1.10", "1.10")]),
    ("date", "date32[day]", [("'0001-01-01'", dt.date(1, 1, 1)), ("'9999-12-31'", dt.date(9999, 12, 31))]),
    (
        "timestamp",
        "timestamp[us]",
        [
            ("'0001-01-01 00:00:00'", dt.datetime(1, 1, 1)),
            ("'2024-02-29 23:59:59.999999'", dt.datetime(2024, 2, 29, 23, 59, 59, 999999)),
            ("'9999-12-31 23:59:59.999999'", dt.datetime(9999, 12, 31, 23, 59, 59, 999999)),
        ],
    ),
    (
        "timestamptz",
        "timestamp[us, tz=UTC]",
        [
            ("'2021-10-31 00:30:00+00'", dt.datetime(2021, 10, 31, 0, 30, tzinfo=UTC)),
            ("'2021-10-31 03:30:00+02'", dt.datetime(2021, 10, 31, 1, 30, tzinfo=UTC)),
            ("'1890-01-01 00:00:00+00:53:28'", dt.datetime(1889, 12, 31, 23, 6, 32, tzinfo=UTC)),
        ],
    ),
    ("time", "time64[us]", [("'00:00'", dt.time(0)), ("'23:59:59.999999'", dt.time(23, 59, 59, 999999))]),
    ("timetz", "string", [("'12:00+02'", "12:00:00+02")]),
    ("interval", "string", [("'1 year -2 days 03:04:05.000006'", "P1Y-2DT3H4M5.000006S")]),
    ("text", "string", [("''", ""), ("'NULL'", "NULL"), (r"E'a\r\nb\t\"c\",😀\\'", 'a\r\nb\t"c",😀\\')]),
    ("text", "string", [(r"'\.'", r"\."), ("'NaN'", "NaN"), ("' x '", " x "), ("'\ufeffx'", "\ufeffx")]),
    ("varchar(5)", "string", [("'abcde'", "abcde")]),
    ("char(4)", "string", [("'ab'", "ab  ")]),
    ("name", "string", [("'x'", "x")]),
    ('"char"', "string", [("'x'", "x")]),
    ("uuid", "string", [("'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")]),
    ("json", "string", [("'{\"a\" : 1.10}'", '{"a" : 1.10}'), ("'null'", "null")]),
    ("jsonb", "string", [('\'{"b":1.10,"a":[]}\'', '{"a": [], "b": 1.10}')]),
    ("bytea", "binary", [(r"'\x'", b""), (r"'\x00ff225c'", b"\x00\xff\x22\x5c")]),
    ("xml", "string", [("'<a>&amp;</a>'", "<a>&amp;</a>")]),
    ("money", "string", [("'1234.5'", "$1,234.50")]),
    ("inet", "string", [("'10.0.0.1/8'", "10.0.0.1/8")]),
    ("cidr", "string", [("'10.0.0.0/8'", "10.0.0.0/8")]),
    ("macaddr", "string", [("'08:00:2b:01:02:03'", "08:00:2b:01:02:03")]),
    ("bit(3)", "string", [("B'101'", "101")]),
    ("varbit", "string", [("B''", "")]),
    ("int4range", "string", [("'[1,5)'", "[1,5)")]),
    ("int4multirange", "string", [("'{[1,5),[7,9)}'", "{[1,5),[7,9)}")]),
    ("point", "string", [("'(0.1,2)'", "(0.1,2)")]),
    ("tsvector", "string", [("'b a'", "'a' 'b'")]),
    ("mood", "string", [("'so; so'", "so; so")]),
    ("pair", "string", [("ROW(1, 'a b')", '(1,"a b")')]),
    ("price", "decimal128(7, 3)", [("1234.567", Decimal("1234.567"))]),
    ("photo", "binary", [(r"'\x01'", b"\x01")]),
]

PRELUDE = """
CREATE TYPE mood AS ENUM ('so; so', 'well');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN amount AS numeric(7,3);
CREATE DOMAIN price AS amount CHECK (value > 0);
CREATE DOMAIN photo AS bytea;
"""


def test_values_arrive_exactly(postgres_database: Database) -> None:
    """Edge values and NULL of every handled type arrive as what the server holds."""
    postgres_database.execute(PRELUDE)
    script = ""
    for number, (sql_type, _, values) in enumerate(EXACT):
        rows = ", ".join(f"({i}, ({literal})::{sql_type})" for i, (literal, _) in enumerate(values))
        script += f"CREATE TABLE t{number} (i int, v {sql_type});"
        script += f"INSERT INTO t{number} VALUES {rows}, (99, NULL);"
    postgres_database.execute(script)
    with source_of(postgres_database).session() as session:
        for number, (sql_type, arrow_type, values) in enumerate(EXACT):
            relation = session.describe(Request(query=f"SELECT v FROM t{number} ORDER BY i"))
            column = read_scan(session, relation).column("v")

            assert str(column.type) == arrow_type, sql_type
            assert column.to_pylist() == [*(expected for _, expected in values), None], sql_type


def test_floats_keep_every_bit(postgres_database: Database) -> None:
    """Floats have the very bits that the server has, NaN and infinities included."""
    postgres_database.execute(
        "CREATE TABLE f AS SELECT i, (random() * 10 ^ (i % 600 - 300))::float8 AS d,"
        " (random() * 10 ^ (i % 70 - 35))::float4 AS s FROM generate_series(1, 3000) i;"
        " INSERT INTO f VALUES (3001, 'NaN', 'NaN'), (3002, '-Infinity', 'Infinity')"
    )
    bits = postgres_database.fetch("SELECT float8send(d), float4send(s) FROM f ORDER BY i")

    table = read_all(postgres_database, query="SELECT d, s FROM f ORDER BY i")

    for name, code, position in (("d", ">d", 0), ("s", ">f", 1)):
        assert [struct.pack(code, v) for v in table.column(name).to_pylist()] == [b[position] for b in bits]


def test_instants_equal_the_servers_own_count(postgres_database: Database) -> None:
    """Instants and naive timestamps have the microseconds that the server counts, all over the year."""
    postgres_database.execute(
        "CREATE TABLE ev AS SELECT i,"
        " timestamptz '0001-01-01 00:00Z' + i * interval '3 days 01:02:03.000004' AS z,"
        " timestamp '0001-01-01' + i * interval '3 days 01:02:03.000004' AS n FROM generate_series(0, 1000) i"
    )
    counted = postgres_database.fetch(
        "SELECT (extract(epoch FROM z) * 1000000)::bigint, (extract(epoch FROM n) * 1000000)::bigint"
        " FROM ev ORDER BY i"
    )

    table = read_all(postgres_database, query="SELECT z, n FROM ev ORDER BY i")

    for position, name in enumerate(("z", "n")):
        assert table.column(name).cast(pa.int64()).to_pylist() == [c[position] for c in counted]


REFUSED = [
    ("date", "'infinity'"),
    ("date", "'0044-03-15 BC'"),
    ("date", "'10000-06-23'"),
    ("timestamp", "'-infinity'"),
    ("timestamp", "'294276-12-31 23:59:59'"),
    ("timestamptz", "'0044-03-15 BC'"),
    ("time", "'24:00:00'"),
    ("numeric(5,2)", "'NaN'"),
]


def test_values_that_fit_no_type_are_refused_by_column(postgres_database: Database) -> None:
    """A value that its Arrow type cannot hold fails with the column's name; it is never changed."""
    for number, (sql_type, literal) in enumerate(REFUSED):
        postgres_database.execute(
            f'CREATE TABLE t{number} (a int, "the value" {sql_type});'
            f" INSERT INTO t{number} VALUES (1, NULL), (2, {literal})"
        )
        with pytest.raises(ColumnError, match="'the value'"):
            read_all(postgres_database, table=f"t{number}")


UNHANDLED = [
    ("int[]", "integer[]", 'to_json("v")::text AS "v"'),
    ("tags", "text[]", 'to_json("v")::text AS "v"'),
    ("regclass", "regclass", 'CAST("v" AS text) AS "v"'),
]


def test_types_not_handled_are_refused_in_describing(postgres_database: Database) -> None:
    """A type that is not handled stops before any row, with the column's name and two ways out."""
    postgres_database.execute("CREATE DOMAIN tags AS text[]")
    for number, (sql_type, shown, cast) in enumerate(UNHANDLED):
        table = f"t{number}"
        postgres_database.execute(f"CREATE TABLE {table} (a int, v {sql_type})")
        with source_of(postgres_database).session() as session:
            with pytest.raises(ColumnError, match=re.escape(f"'v' is {shown},")) as caught:
                session.describe(Request(table=table))
            kept = session.describe(Request(table=table, exclude=("V",)))

        assert caught.value.hint is not None
        assert "exclude: [v]" in caught.value.hint
        assert cast in caught.value.hint
        assert [c.name for c in kept.columns] == ["a"]


@pytest.mark.parametrize(
    ("precision", "scale", "expected"),
    [(5, -2, "decimal128(7,0)"), (3, 5, "decimal128(5,5)"), (38, 0, "decimal128(38,0)"), (38, -1, "string")],
)
def test_odd_scales_are_widened(precision: int, scale: int, expected: str) -> None:
    """A scale below zero or above the precision is widened to a decimal that holds every value."""
    typmod = (precision << 16 | scale & 0x7FF) + 4
    found = column_type("numeric", "b", typmod, built_in=True)
    assert isinstance(found, ColumnType)
    assert str(found) == expected


def test_odd_scales_on_the_server(postgres_database: Database) -> None:
    """The server's own odd scales give exact values."""
    if postgres_database.fetch("SHOW server_version_num")[0][0] < "150000":
        pytest.skip("scales below zero came with PostgreSQL 15")
    postgres_database.execute(
        "CREATE TABLE t (a numeric(5,-2), b numeric(3,5)); INSERT INTO t VALUES (-9999900, 0.00999)"
    )
    table = read_all(postgres_database, table="t")
    assert table.to_pylist() == [{"a": Decimal(-9999900), "b": Decimal("0.00999")}]


def test_a_server_without_encoding_is_refused_by_column(postgres_database: Database) -> None:
    """Bytes that are no UTF-8, in a database that checks none, fail with the column's name."""
    postgres_database.server.execute(
        "CREATE DATABASE raw_bytes ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0"
    )
    raw = Database(postgres_database.server, "raw_bytes")
    try:
        with pytest.raises(ColumnError, match="'note'"):
            read_all(raw, query=r"SELECT 1 AS id, E'\xe9t\xe9' AS note")
        assert read_all(raw, query="SELECT 'été' AS \"Été\"").to_pylist() == [{"Été": "été"}]
    finally:
        postgres_database.server.drop_database("raw_bytes")
