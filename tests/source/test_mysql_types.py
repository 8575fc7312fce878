"""Every type of MySQL and MariaDB: what it becomes, and that each value arrives as it is."""

from __future__ import annotations

import datetime as dt
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from rivet.errors import ColumnError
from rivet.plan.schema import Column, ColumnType, Kind, Override
from rivet.source.mysql.types import Described, source_type, type_name
from rivet.source.relation import Request
from tests.servers.database import Database
from tests.source.reading import column_of, in_session, read_all, read_scan, source_of

UTC = dt.UTC
# Text with every sign that means something to CSV, SQL or a terminal, and the one that Rivet quotes with.
NASTY = [
    *("", "NULL", "\\N", 'a "quoted" text', "one,two", "line\nbreak\r\n", "\x14", "a\x14\x14b", "nul\0nul"),
    *("back\\slash'", " padded ", "ünïcödé €", "😀", "\ufeffmark", "'; DROP TABLE t; -- %s :x"),
]
BYTES = [b"", b"\x14\x14\x14", b"\xc3(", bytes(range(256))]
FLOATS = ["0.1", "16777217", "-3.4028234e38", "1.17549435e-38"]
DOUBLES = ["0.1", "1.7976931348623157e308", "2.2250738585072014e-308", "1e15", "1e22"]
DAYS = ["0001-01-01", "1582-10-10", "1970-01-01", "2024-02-29", "9999-12-31"]
CLOCKS = ["00:00:00.000000", "00:00:00.000001", "23:59:59.999999"]


def float32(value: float) -> float:
    """Round to the nearest number that four bytes can hold."""
    rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    return rounded


def moment(text: str) -> dt.datetime:
    """Read a wall time."""
    return dt.datetime.fromisoformat(text)


def literal(value: str) -> str:
    """Write a text as a literal that no mode of the server reads in another way."""
    return f"_utf8mb4 X'{value.encode().hex()}'" if value else "''"


# Declaration, Arrow type, and pairs of a literal and the value that it must arrive as.
COLUMNS: list[tuple[str, str, list[tuple[str, Any]]]] = [
    ("tinyint(1)", "int8", [("2", 2), ("-128", -128), ("1", 1)]),
    ("tinyint unsigned", "uint8", [("255", 255), ("0", 0)]),
    ("smallint", "int16", [("-32768", -32768), ("32767", 32767)]),
    ("smallint unsigned", "uint16", [("65535", 65535)]),
    ("mediumint", "int32", [("-8388608", -8388608), ("8388607", 8388607)]),
    ("mediumint unsigned", "uint32", [("16777215", 16777215)]),
    ("int", "int32", [("-2147483648", -(2**31)), ("2147483647", 2**31 - 1)]),
    ("int(10) unsigned zerofill", "uint32", [("42", 42), ("4294967295", 2**32 - 1)]),
    ("bigint", "int64", [("-9223372036854775808", -(2**63)), ("9007199254740993", 2**53 + 1)]),
    ("bigint unsigned", "uint64", [("18446744073709551615", 2**64 - 1), ("0", 0)]),
    ("year", "int16", [("1901", 1901), ("2155", 2155), ("0", 0)]),
    ("bit(1)", "bool", [("b'1'", True), ("b'0'", False)]),
    ("bit(10)", "uint64", [("b'1010101010'", 682)]),
    ("bit(64)", "uint64", [("18446744073709551615", 2**64 - 1)]),
    ("decimal(12,2)", "decimal128(12,2)", [(v, Decimal(v)) for v in ("-9999999999.99", "0.10")]),
    ("decimal(38,0) unsigned", "decimal128(38,0)", [("9" * 38, Decimal("9" * 38))]),
    ("decimal(8,3) unsigned zerofill", "decimal128(8,3)", [("1.5", Decimal("1.500"))]),
    ("decimal(65,30)", "string", [(v, v) for v in (f"-{'9' * 35}.{'9' * 30}", f"0.1{'0' * 29}")]),
    ("float", "float32", [(v, float32(float(v))) for v in FLOATS]),
    ("float(7,2)", "float32", [("12345.67", float32(12345.67))]),
    ("double", "float64", [(v, float(v)) for v in DOUBLES]),
    ("double(20,3)", "float64", [("12345678901234567", 12345678901234568.0), ("0.125", 0.125)]),
    ("date", "date32", [(f"'{v}'", dt.date.fromisoformat(v)) for v in DAYS]),
    ("datetime", "timestamp[us]", [(f"'{v} 23:00:00'", moment(f"{v} 23:00:00")) for v in DAYS]),
    ("datetime(3)", "timestamp[us]", [(f"'{v} 02:30:00.123'", moment(f"{v} 02:30:00.123")) for v in DAYS]),
    ("datetime(6)", "timestamp[us]", [(f"'{v} {t}'", moment(f"{v} {t}")) for v in DAYS for t in CLOCKS]),
    ("time", "string", [("'-838:59:59'", "-838:59:59"), ("'24:00:00'", "24:00:00")]),
    ("time(6)", "string", [("'-00:30:00'", "-00:30:00.000000"), ("'12:00:00.5'", "12:00:00.500000")]),
    ("enum('a','b,\"c','')", "string", [("'a'", "a"), ("'b,\"c'", 'b,"c'), ("''", "")]),
    ("set('x','y')", "string", [("'x,y'", "x,y"), ("''", "")]),
    ("binary(4)", "binary", [("X'00ff'", b"\0\xff\0\0"), ("X'0a0d2c22'", b'\n\r,"')]),
    ("varbinary(300)", "binary", [(f"X'{v.hex()}'", v) for v in BYTES]),
    ("blob", "binary", [(f"X'{v.hex()}'", v) for v in BYTES]),
    ("longblob", "binary", [(f"X'{v.hex()}'", v) for v in BYTES]),
    ("char(20)", "string", [(literal(v), v.rstrip(" ")) for v in NASTY if len(v) <= 20]),
    ("varchar(60)", "string", [(literal(v), v) for v in NASTY]),
    ("text", "string", [(literal(v), v) for v in NASTY]),
    ("mediumtext", "string", [(literal(v), v) for v in NASTY]),
    ("longtext character set utf8", "string", [(literal("€ \x14"), "€ \x14"), ("''", "")]),
    ("varchar(60) character set latin1", "string", [(literal("é€"), "é€"), ("_latin1 X'81'", "\x81")]),
    ("text character set latin1", "string", [(literal("é€"), "é€")]),
    ("varchar(60) character set utf16", "string", [(literal("😀"), "😀")]),
    ("varchar(60) character set ascii", "string", [("'plain'", "plain")]),
    ("json", "string", [("'[1, \"é\"]'", '[1, "é"]')]),
]


def test_values_arrive_as_they_are(mysql_family: Database) -> None:
    """Each value of each type, its edges and NULL among them, is what was put in."""
    for number, (declaration, _, values) in enumerate(COLUMNS):
        literals = [*(v for v, _ in values), "NULL"]
        mysql_family.execute(
            f"CREATE TABLE t{number} (id int PRIMARY KEY, v {declaration} NULL);"
            f"INSERT INTO t{number} VALUES {', '.join(f'({i}, {v})' for i, v in enumerate(literals))}"
        )
    with source_of(mysql_family).session() as session:
        for number, (declaration, arrow, values) in enumerate(COLUMNS):
            expected = [*(value for _, value in values), None]
            # A query's description knows less than the catalogue, and must come to the same.
            for request in (
                Request(f"t{number}"),
                Request(query=f"SELECT * FROM (SELECT * FROM t{number}) AS x"),
            ):
                read = read_scan(session, session.describe(request)).sort_by("id")
                assert read.schema.field("v").type == arrow_type(arrow), declaration
                assert read.column("v").to_pylist() == expected, declaration
            alone = read_scan(session, session.describe(Request(query=f"SELECT v FROM t{number}")))
            assert sorted(map(repr, alone.column("v").to_pylist())) == sorted(map(repr, expected)), (
                declaration
            )


def arrow_type(name: str) -> pa.DataType:
    """Give the Arrow type of a name as manifests hold it."""
    if name.startswith("decimal128"):
        precision, scale = name[11:-1].split(",")
        return pa.decimal128(int(precision), int(scale))
    return {"timestamp[us]": pa.timestamp("us"), "float32": pa.float32(), "float64": pa.float64(),
            "date32": pa.date32(), "bool": pa.bool_()}.get(name) or pa.type_for_alias(name)  # fmt: skip


def test_instants_are_utc_whatever_the_zones(mysql_family: Database) -> None:
    """A TIMESTAMP is the instant that UNIX_TIMESTAMP says, a DATETIME the wall time that was written."""
    server = mysql_family.server
    zone = server.fetch("SELECT @@global.time_zone")[0][0]
    server.execute("SET GLOBAL time_zone = '+11:00'")
    try:
        mysql_family.execute(
            "CREATE TABLE t (ts timestamp(6) NULL, dt datetime(6)); SET time_zone = '-05:30';"
            "INSERT INTO t VALUES ('2021-10-31 09:00:00.000001', '2021-10-31 09:00:00.000001'),"
            " ('2038-01-18 20:00:00', '2038-01-18 20:00:00'), (NULL, NULL);"
            "SET time_zone = '+00:00'; INSERT INTO t VALUES ('1970-01-01 00:00:01', '1970-01-01 00:00:01')"
        )
        said = mysql_family.fetch("SELECT UNIX_TIMESTAMP(ts), CAST(dt AS CHAR) FROM t ORDER BY ts")
        read = in_session(
            mysql_family,
            lambda s: read_scan(s, r := s.describe(Request("t")), column_of(r, "ts")),
        )
    finally:
        server.execute(f"SET GLOBAL time_zone = '{zone}'")
    epoch = dt.datetime(1970, 1, 1, tzinfo=UTC)
    assert [None if v is None else (v - epoch) / dt.timedelta(seconds=1) for v in read["ts"].to_pylist()] == [
        None if seconds is None else float(seconds) for seconds, _ in said
    ]
    assert [v and str(v.isoformat(" ", "microseconds")) for v in read["dt"].to_pylist()] == [
        t for _, t in said
    ]


def test_text_and_bytes_side_by_side(mysql_family: Database) -> None:
    """Columns of several character sets and of bytes in one row do not colour each other."""
    mysql_family.execute(
        "CREATE TABLE t (a varchar(9) CHARACTER SET latin1, b varbinary(9), c text CHARACTER SET utf16,"
        " d blob, e char(3) CHARACTER SET utf8mb4, f enum('ä') CHARACTER SET latin1,"
        " g longtext CHARACTER SET latin1);"
        "INSERT INTO t VALUES ('é', X'ff00', 'é', X'fe', '😀', 'ä', 'ÿ'),"
        " (NULL, NULL, NULL, NULL, NULL, NULL, NULL), ('', '', '', '', '', NULL, '')"
    )
    for read in (read_all(mysql_family, table="t"), read_all(mysql_family, query="SELECT * FROM t")):
        assert [tuple(row.values()) for row in read.to_pylist()] == [
            ("é", b"\xff\0", "é", b"\xfe", "😀", "ä", "ÿ"),
            (None,) * 7,
            ("", b"", "", b"", "", None, ""),
        ]
        assert read.column_names == list("abcdefg")


def test_only_long_columns(mysql_family: Database) -> None:
    """A relation whose columns are all long keeps their order, NULLs and empty texts."""
    mysql_family.execute(
        "CREATE TABLE t (a longtext, b longblob);"
        "INSERT INTO t VALUES ('', NULL), (NULL, ''), (NULL, NULL), ('x', 'y')"
    )
    assert [tuple(r.values()) for r in read_all(mysql_family, table="t").to_pylist()] == [
        ("", None), (None, b""), (None, None), ("x", b"y"),
    ]  # fmt: skip
    assert read_all(mysql_family, query="SELECT b FROM t")["b"].to_pylist() == [None, b"", None, b"y"]


def test_types_of_mariadb_alone(mariadb_database: Database) -> None:
    """A uuid and an inet6 arrive as the text that the server shows, not as their bytes."""
    mariadb_database.execute(
        "CREATE TABLE t (u uuid, i inet6); INSERT INTO t VALUES"
        " ('123e4567-e89b-12d3-a456-426655440000', '2001:db8::ff00:42:8329'), (NULL, NULL)"
    )
    read = read_all(mariadb_database, table="t").to_pylist()
    assert read == [
        {"u": "123e4567-e89b-12d3-a456-426655440000", "i": "2001:db8::ff00:42:8329"},
        {"u": None, "i": None},
    ]


def test_expressions_keep_their_precision(mysql_family: Database) -> None:
    """Decimals of expressions, sums and views have the precision that the server computes for them."""
    mysql_family.execute(
        "CREATE TABLE t (a decimal(10,2), f float, n int unsigned, s varchar(7));"
        "CREATE VIEW v AS SELECT a, f, s FROM t;"
        "INSERT INTO t VALUES (1.25, 0.1, 7, 'x'), (2.50, 0.2, 8, 'y')"
    )
    query = (
        "SELECT SUM(a) AS total, AVG(a) AS mean, MAX(f) AS most, a * 3 AS thrice, COUNT(*) AS n, 1.5 AS lit,"
        " s AS s, NULL AS nothing, TRUE AS yes, CAST(n AS DECIMAL(20,6)) AS d FROM"
        " (SELECT v.*, n FROM v JOIN t USING (a)) AS x GROUP BY a, s, n ORDER BY a"
    )
    columns = in_session(mysql_family, lambda s: s.describe(Request(query=query)).columns)
    types = {c.name: str(c.type) for c in columns}
    read = read_all(mysql_family, query=query)
    assert types["total"] == "decimal128(32,2)"
    assert types["thrice"].endswith(",2)")
    assert (types["most"], types["n"], types["s"], types["d"]) == (
        "float32", "int64", "string", "decimal128(20,6)",
    )  # fmt: skip
    assert next(c.source_type for c in columns if c.name == "s") == "varchar(7)"
    assert read.column("total").to_pylist() == [Decimal("1.25"), Decimal("2.50")]
    assert read.column("most").to_pylist() == [float32(0.1), float32(0.2)]
    assert read.column("nothing").to_pylist() == [None, None]
    view = in_session(mysql_family, lambda s: s.describe(Request("v")).columns)
    assert [(str(c.type), c.source_type) for c in view] == [
        ("decimal128(10,2)", "decimal(10,2)"), ("float32", "float"), ("string", "varchar(7)"),
    ]  # fmt: skip


def test_text_that_utf8_cannot_tell_is_refused(mysql_family: Database) -> None:
    """A byte that its character set does not define stops the export, and is no question mark in it."""
    mysql_family.execute(
        "CREATE TABLE t (c varchar(9) CHARACTER SET cp1251, l longtext CHARACTER SET cp1251);"
        "INSERT INTO t VALUES ('ok', 'ok'), (_cp1251 X'98', 'ok')"
    )
    for query in ("SELECT c FROM t", "SELECT l, c, 1 / 0 AS z FROM t", "SELECT c FROM t ORDER BY 1"):
        with pytest.raises(ColumnError, match=r"column 'c' \(varchar.*UTF-8") as caught:
            read_all(mysql_family, query=query)
        assert caught.value.hint is not None
        assert 'columns: {"c": binary}' in caught.value.hint
    with source_of(mysql_family).session() as session:
        kept = Request("t", overrides={"C": Override(ColumnType(Kind.BINARY))})
        assert sorted(read_scan(session, session.describe(kept))["c"].to_pylist()) == [b"ok", b"\x98"]
    assert read_all(mysql_family, query="SELECT l, 1 / 0 AS z FROM t").num_rows == 2


def test_a_geometry_arrives_as_wkb(mysql_family: Database) -> None:
    """A geometry is its WKB, without the four bytes of the SRID before it, or its WKT by override."""
    mysql_family.execute(
        "CREATE TABLE t (id int, `the place` point, l linestring, g geometry);"
        "INSERT INTO t VALUES (1, POINT(1, 2), LINESTRING(POINT(0, 0), POINT(1, -1)),"
        " ST_GeomFromText('POLYGON((0 0,1 0,1 1,0 0))')),"
        " (2, NULL, NULL, ST_GeomFromText('POINT(3 4)', 4326))"
    )
    said = mysql_family.fetch(
        "SELECT HEX(ST_AsBinary(`the place`)), HEX(ST_AsBinary(l)), HEX(ST_AsBinary(g)) FROM t ORDER BY id"
    )
    for request in (Request("t"), Request(query="SELECT * FROM (SELECT * FROM t) AS x")):
        with source_of(mysql_family).session() as session:
            rows = read_scan(session, session.describe(request)).sort_by("id").drop_columns("id").to_pylist()
        assert [tuple(v and v.hex().upper() for v in row.values()) for row in rows] == said
        assert rows[0]["the place"] == struct.pack("<BIdd", 1, 1, 1.0, 2.0)
    texts = Request("t", overrides={"the place": Override(ColumnType(Kind.STRING))})
    with source_of(mysql_family).session() as session:
        assert read_scan(session, session.describe(texts))["the place"].to_pylist() == ["POINT(1 2)", None]


@pytest.mark.parametrize("value", ["0000-00-00", "2023-00-10", "2023-02-31", "0000-01-01"])
@pytest.mark.parametrize("declaration", ["date", "datetime(6) NOT NULL"])
def test_days_that_are_none_are_refused_in_other_columns(
    mysql_family: Database, value: str, declaration: str
) -> None:
    """A zero date, a part-zero date, a 31 February and the year 0 stop the export, naming the column."""
    mysql_family.execute(
        f"SET sql_mode = 'ALLOW_INVALID_DATES'; CREATE TABLE t (id int, `when` {declaration});"
        f"INSERT INTO t VALUES (1, '2023-01-01'), (2, '{value}')"
    )
    with pytest.raises(ColumnError, match="'when'"):
        read_all(mysql_family, table="t")


def test_five_hundred_columns(mysql_family: Database) -> None:
    """A wide table arrives in order, every column at its place."""
    names = [f"c{i}" for i in range(500)]
    mysql_family.execute(
        f"CREATE TABLE t ({', '.join(f'{n} int' for n in names)});"
        f"INSERT INTO t VALUES ({', '.join(map(str, range(500)))}), ({', '.join(['NULL'] * 500)})"
    )
    read = read_all(mysql_family, table="t")
    assert read.column_names == names
    assert [list(row.values()) for row in read.to_pylist()] == [list(range(500)), [None] * 500]


def test_an_unknown_code_has_no_type() -> None:
    """A type that came after this was written is refused, never guessed."""
    described = Described(code=200, charset=63, flags=0, length=9, decimals=0)
    assert source_type(described, type_name(described)) is None


def test_described_columns_name_their_types(mysql_family: Database) -> None:
    """The columns of a table and of a query bear the same names of types, without widths and members."""
    mysql_family.execute(
        "CREATE TABLE t (a int unsigned, b varchar(9), c enum('x'), d mediumblob, e datetime(3), f char(2),"
        " g tinytext, h binary(3), i set('y'), j bit(4), k year, l text, m longtext, n varbinary(4),"
        " o tinyint(1), p tinyint, q int(7) zerofill, r float(7,3), s double unsigned, t float,"
        " u decimal(9,2))"
    )

    def named(columns: tuple[Column, ...]) -> list[str]:
        return [c.source_type for c in columns]

    table = named(in_session(mysql_family, lambda s: s.describe(Request("t")).columns))
    query = named(in_session(mysql_family, lambda s: s.describe(Request(query="SELECT * FROM t")).columns))
    assert table == query
    assert query == [
        *("int unsigned", "varchar(9)", "enum", "mediumblob", "datetime(3)", "char(2)", "tinytext"),
        *("binary(3)", "set", "bit(4)", "year", "text", "longtext", "varbinary(4)"),
        *("tinyint(1)", "tinyint", "int unsigned zerofill", "float(7,3)", "double unsigned", "float"),
        "decimal(9,2)",
    ]
