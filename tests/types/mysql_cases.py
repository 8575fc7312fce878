"""The types of MySQL and MariaDB, with their edge values."""

from __future__ import annotations

from rivet.plan.schema import Fidelity
from tests.types.cases import Case, Engine

TEXT, LOSSY = Fidelity.TEXT, Fidelity.LOSSY
NINES = "9" * 38

# Days and moments by the server's own counts of them, bytes by their hexadecimal digits.
_DIGITS = "CAST({v} AS CHAR)"
_KINDS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "decimal128")
_DURATION = (
    "CAST(TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'2000-01-01 00:00:00',"
    " ADDTIME(TIMESTAMP'2000-01-01 00:00:00', {v})) AS CHAR)"
)
_UUID = (
    "LOWER(CONCAT(LEFT(HEX({v}), 8), '-', MID(HEX({v}), 9, 4), '-', MID(HEX({v}), 13, 4), '-',"
    " MID(HEX({v}), 17, 4), '-', RIGHT(HEX({v}), 12)))"
)
RENDERED = {
    **dict.fromkeys(_KINDS, _DIGITS),
    "float32": "CAST({v} + 0e0 AS CHAR)",  # by itself it is shown with six digits
    "float64": "CAST({v} + 0e0 AS CHAR)",
    "bool": "CAST({v} + 0 AS CHAR)",
    "string": "CONVERT({v} USING utf8mb4)",
    "json": "CONVERT({v} USING utf8mb4)",
    "uuid": _DIGITS,
    "binary": "LOWER(HEX({v}))",
    "date32": "CAST(DATEDIFF({v}, '1970-01-01') AS CHAR)",
    "time64[us]": _DURATION,
    "duration[us]": _DURATION,
    "timestamp[us]": "CAST(TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', {v}) AS CHAR)",
    "timestamp[us, UTC]": "CAST(CAST(UNIX_TIMESTAMP({v}) * 1000000 AS SIGNED) AS CHAR)",
}


def _text(value: str) -> str:
    """Write a literal that no mode and no character set of the server reads in another way."""
    return f"_utf8mb4 X'{value.encode().hex()}'" if value else "''"


_DAYS = ("0001-01-01", "1582-10-10", "1899-12-31", "1970-01-01", "2024-02-29", "9999-12-31")
_WORDS = tuple(
    map(
        _text,
        (
            *(
                "",
                "NULL",
                "\\N",
                'a "quoted" text',
                "one,two",
                "line\nbreak\r\n",
                "\x14",
                "a\x14\x14b",
                "nul\0",
            ),
            *("back\\slash'", " padded", "ünïcödé €", "😀", "\ufeffmark", "'; DROP TABLE t; -- %s :x"),
        ),
    )
)
_LATIN = tuple(map(_text, ("", "é", "ÿ,€", "\x14\x14")))
_CYRILLIC = tuple(map(_text, ("Ж", "ё", "")))
_BYTES = ("X''", "X'1414'", "X'c328'", "X'00ff0a0d2c22'")
_TIMES = ("-838:59:59", "-00:30:00", "00:00:00", "24:00:00", "838:59:59")


def _moments(*clocks: str) -> tuple[str, ...]:
    return tuple(f"'{day} {clock}'" for day in _DAYS for clock in clocks)


def _signed(name: str, bits: int, kind: int) -> tuple[Case, Case]:
    half = 2 ** (bits - 1)
    signed = Case(name, f"int{kind}", (f"{-half}", "-1", "0", f"{half - 1}"))
    return signed, Case(f"{name} unsigned", f"uint{kind}", ("0", f"{2 * half - 1}"))


NUMBERS = (
    Case("tinyint(1)", "int8", ("-128", "0", "1", "2", "127"), note="a number, unless overridden"),
    *_signed("tinyint", 8, 8),
    *_signed("smallint", 16, 16),
    *_signed("mediumint", 24, 32),
    *_signed("int", 32, 32),
    Case(
        "int(10) unsigned zerofill",
        "uint32",
        ("42", "4294967295"),
        rendered="CAST({v} + 0 AS CHAR)",
        shown="",
    ),
    *_signed("bigint", 64, 64),
    Case("bigint", "int64", ("9007199254740993",), shown=""),
    Case("year", "int16", ("0", "1901", "2155"), rendered="CAST({v} + 0 AS CHAR)"),
    Case("bit(1)", "bool", ("b'1'", "b'0'")),
    Case("bit(10)", "uint64", ("b'1010101010'",), rendered="CAST({v} + 0 AS CHAR)", shown="bit(n)"),
    Case("bit(64)", "uint64", ("18446744073709551615",), rendered="CAST({v} + 0 AS CHAR)", shown=""),
    Case("decimal(12,2)", "decimal128(12,2)", ("-9999999999.99", "0.10", "0"), shown="decimal(p,s), p ≤ 38"),
    Case("decimal(38,0)", "decimal128(38,0)", (NINES, f"-{NINES}"), shown=""),
    Case("decimal(38,30)", "decimal128(38,30)", (f"99999999.{'9' * 30}", "1e-30"), shown=""),
    Case("decimal(8,3) unsigned zerofill", "decimal128(8,3)", ("1.5",), shown=""),
    Case(
        "decimal(65,30)",
        "string",
        (f"-{'9' * 35}.{'9' * 30}", "0.1", "1e-30"),
        fidelity=TEXT,
        shown="decimal(p,s), p > 38",
    ),
    Case("float", "float32", ("0.1", "16777217", "-3.4028234e38", "1.17549435e-38", "-0e0")),
    Case("float(7,2)", "float32", ("12345.67",), shown=""),
    Case("double", "float64", ("0.1", "1.7976931348623157e308", "2.2250738585072014e-308", "1e15", "1e22")),
    Case("double(20,3)", "float64", ("12345678901234567", "0.125"), shown=""),
)
MOMENTS = (
    Case("date", "date32", tuple(f"'{day}'" for day in _DAYS)),
    Case("datetime", "timestamp[us]", _moments("23:00:00"), shown="datetime(n)"),
    Case("datetime(3)", "timestamp[us]", _moments("02:30:00.123"), shown=""),
    Case("datetime(6)", "timestamp[us]", _moments("00:00:00.000001", "23:59:59.999999"), shown=""),
    Case(
        "timestamp NULL", "timestamp[us, UTC]", ("'1970-01-03 00:00:00'", "'2021-10-31 01:30:00'"), shown=""
    ),
    Case(
        "timestamp(6) NULL",
        "timestamp[us, UTC]",
        ("'1970-01-03 00:00:00.000001'", "'2021-10-31 01:30:00'", "'2038-01-18 03:14:07.999999'"),
        shown="timestamp(n)",
    ),
    Case(
        "time",
        "string",
        tuple(f"'{t}'" for t in _TIMES),
        fidelity=TEXT,
        shown="time(n)",
        note="it reaches ±838 h",
    ),
    Case(
        "time(6)",
        "string",
        (*(f"'{t}'" for t in _TIMES), "'-00:00:00.000001'", "'12:00:00.5'"),
        fidelity=TEXT,
        shown="",
    ),
)
TEXTS = (
    Case("varchar(60) CHARACTER SET utf8mb4", "string", _WORDS, shown="char(n), varchar(n)"),
    Case("char(40) CHARACTER SET utf8mb4", "string", _WORDS, shown=""),
    Case("text CHARACTER SET utf8mb4", "string", _WORDS, shown="tinytext, text, mediumtext, longtext"),
    *(
        Case(f"{name} CHARACTER SET utf8mb4", "string", _WORDS, shown="")
        for name in ("tinytext", "mediumtext", "longtext")
    ),
    *(
        Case(f"{name} CHARACTER SET {charset}", "string", values, shown="")
        for charset, values in (
            ("latin1", _LATIN),
            ("cp1251", _CYRILLIC),
            ("utf8mb3", _LATIN),
            ("ucs2", _LATIN),
        )
        for name in ("varchar(9)", "char(9)", "longtext")
    ),
    Case("varchar(9) CHARACTER SET utf16", "string", (_text("😀"),), shown=""),
    Case("varchar(9) CHARACTER SET ascii", "string", ("'plain'",), shown=""),
    Case(
        "enum('a','b,\"c','','é') CHARACTER SET latin1", "string", ("'a'", "'b,\"c'", "''"), shown="enum, set"
    ),
    Case("set('x','y')", "string", ("'x,y'", "''", "'y'"), shown=""),
    Case("json", "string", ("'[1, \"é\"]'", "'{}'", "'null'"), fidelity=TEXT),
    Case("uuid", "string", ("'123e4567-e89b-12d3-a456-426655440000'",), fidelity=TEXT, only="mariadb"),
    Case("inet4", "string", ("'192.0.2.1'",), fidelity=TEXT, only="mariadb"),
    Case("inet6", "string", ("'2001:db8::ff00:42:8329'", "'::'"), fidelity=TEXT, only="mariadb"),
)
BYTES = (
    Case("binary(4)", "binary", ("X'00ff'", "X'0a0d2c22'"), shown="binary(n), varbinary(n)"),
    Case("varbinary(60)", "binary", _BYTES, shown=""),
    Case(
        "blob",
        "binary",
        (*_BYTES, f"X'{bytes(range(256)).hex()}'"),
        shown="tinyblob, blob, mediumblob, longblob",
    ),
    *(Case(name, "binary", _BYTES, shown="") for name in ("tinyblob", "mediumblob", "longblob")),
    *(
        Case(
            name,
            "binary",
            (f"ST_GeomFromText('{text}')",),
            rendered="LOWER(HEX(ST_AsBinary({v})))",
            shown="geometry, point, and all others" if name == "point" else "",
            note="WKB",
        )
        for name, text in (
            ("point", "POINT(1 -2.5)"),
            ("geometry", "GEOMETRYCOLLECTION(POINT(0 0),LINESTRING(0 0,1 1))"),
            ("multipolygon", "MULTIPOLYGON(((0 0,1 0,1 1,0 0)))"),
        )
    ),
)
OVERRIDDEN = (
    Case("tinyint(1)", "bool", ("0", "1"), override="bool", fidelity=LOSSY),
    Case("int", "int64", ("-2147483648",), override="int64"),
    Case("int", "string", ("-7",), override="string", fidelity=TEXT),
    Case("bigint unsigned", "int64", ("9223372036854775807",), override="int64", fidelity=LOSSY),
    Case("bigint unsigned", "decimal128(20,0)", ("18446744073709551615",), override="decimal(20,0)"),
    Case("bigint", "float64", ("-9007199254740992", "5"), override="float64", fidelity=LOSSY),
    Case(
        "decimal(12,2)",
        "int32",
        ("12.00", "-5"),
        override="int32",
        fidelity=LOSSY,
        rendered="CAST(TRUNCATE({v}, 0) AS CHAR)",
    ),
    Case("decimal(12,2)", "decimal128(20,6)", ("-9999999999.99",), override="decimal(20,6)"),
    Case("decimal(12,2)", "float64", ("0.10", "-9999999999.99"), override="float64", fidelity=LOSSY),
    Case(
        "decimal(65,30)", "decimal128(20,6)", ("1.5", "-0.000001"), override="decimal(20,6)", fidelity=LOSSY
    ),
    Case("float", "float64", ("0.1", "16777217"), override="float64"),
    Case("double", "float32", ("0.5", "-16777216"), override="float32", fidelity=LOSSY),
    Case(
        "double",
        "int64",
        ("-5", "9007199254740992"),
        override="int64",
        fidelity=LOSSY,
        rendered="CAST(CAST({v} AS DECIMAL(20,0)) AS CHAR)",
    ),
    Case(
        "bit(10)",
        "int16",
        ("b'1010101010'",),
        override="int16",
        fidelity=LOSSY,
        rendered="CAST({v} + 0 AS CHAR)",
    ),
    Case("date", "string", ("'0001-01-01'", "'9999-12-31'"), override="string", fidelity=TEXT),
    Case("datetime(3)", "string", ("'2024-02-29 12:00:00.5'",), override="string", fidelity=TEXT),
    Case(
        "time(6)",
        "duration[us]",
        (*(f"'{t}'" for t in _TIMES), "'-00:00:00.000001'"),
        override="duration",
        shown="time(n)",
    ),
    Case(
        "time(3)",
        "time64[us]",
        ("'00:00:00'", "'23:59:59.999'"),
        override="time",
        fidelity=LOSSY,
        shown="time(n)",
    ),
    Case("text CHARACTER SET latin1", "binary", _LATIN, override="binary", shown="text"),
    Case("longtext", "int64", ("'42'", "'-1'"), override="int64", fidelity=LOSSY, shown="text"),
    Case("varchar(9)", "float64", ("'0.5'", "'-1e10'"), override="float64", fidelity=LOSSY, shown="text"),
    Case(
        "varchar(9)", "decimal128(10,2)", ("'42.50'",), override="decimal(10,2)", fidelity=LOSSY, shown="text"
    ),
    Case(
        "varchar(60)",
        "date32",
        ("'2024-02-29'", "'0001-01-01'"),
        override="date",
        fidelity=LOSSY,
        shown="text",
    ),
    Case(
        "varchar(60)",
        "timestamp[us]",
        ("'2024-02-29 12:00:00.123456'",),
        override="timestamp",
        fidelity=LOSSY,
        shown="text",
    ),
    Case(
        "varchar(60)",
        "timestamp[us, UTC]",
        ("'2024-02-29T12:00:00Z'", "'2024-02-29T14:00:00+02:00'"),
        override="timestamptz",
        fidelity=LOSSY,
        shown="text",
        rendered="IF({v} IS NULL, NULL, '1709208000000000')",
    ),
    Case(
        "char(36)",
        "uuid",
        ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",),
        override="uuid",
        fidelity=LOSSY,
        shown="text",
    ),
    Case(
        "binary(16)", "uuid", ("X'a0eebc999c0b4ef8bb6d6bb9bd380a11'", "X''"), override="uuid", rendered=_UUID
    ),
    Case("uuid", "uuid", ("'123e4567-e89b-12d3-a456-426655440000'",), override="uuid", only="mariadb"),
    Case("json", "json", ("'[1, \"é\"]'", "'{}'"), override="json", fidelity=LOSSY, note="a text to MariaDB"),
    Case("varbinary(60)", "string", ("X'c3a9'", "X''"), override="string", fidelity=LOSSY),
    Case(
        "point",
        "string",
        ("POINT(1, -2.5)",),
        override="string",
        fidelity=TEXT,
        note="WKT",
        rendered="ST_AsText({v})",
    ),
)

ENGINE = Engine(
    heading="MySQL and MariaDB",
    fixtures={"mariadb": "mariadb_database", "mysql": "mysql_database"},
    cases=(*NUMBERS, *MOMENTS, *TEXTS, *BYTES, *OVERRIDDEN),
    rendered=RENDERED,
)
