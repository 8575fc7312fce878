"""The types of SQLite, with their edge values, and what may be asked for, as any column may hold anything."""

from __future__ import annotations

from rivet.plan.schema import Fidelity
from tests.types.cases import Case, Engine

TEXT, LOSSY = Fidelity.TEXT, Fidelity.LOSSY

# Numbers by the digits that SQLite gives of them, doubles as the module hands them over, bytes by hexadecimal
# digits; moments by SQLite's own count of seconds, with the fraction read apart, since SQLite rounds it.
_FRACTION = "CAST(round(CAST('0' || substr({v}, 20) AS REAL) * 1000000) AS INTEGER)"
_SECONDS = "CAST(strftime('%s', substr({v}, 1, 19)) AS INTEGER)"
_OFFSET = "CASE WHEN {v} LIKE '%Z' THEN '' ELSE substr({v}, -6) END"
_INSTANT_SECONDS = f"CAST(strftime('%s', substr({{v}}, 1, 19) || {_OFFSET}) AS INTEGER)"
_CLOCK_SECONDS = "CAST(strftime('%s', '1970-01-01 ' || substr({v}, 1, 8)) AS INTEGER)"
_CLOCK_FRACTION = "CAST(round(CAST('0' || substr({v}, 9) AS REAL) * 1000000) AS INTEGER)"
_DIGITS = "CAST({v} AS TEXT)"
RENDERED = {
    **dict.fromkeys(("int8", "int16", "int32", "int64", "uint8", "uint64", "bool", "decimal128"), _DIGITS),
    **dict.fromkeys(("float32", "float64"), "{v}"),
    "string": "{v}",
    "uuid": "{v}",
    "json": "{v}",
    "binary": "CASE WHEN {v} IS NOT NULL THEN lower(hex({v})) END",
    "date32": f"CAST({_SECONDS} / 86400 AS TEXT)",
    "time64[us]": f"CAST({_CLOCK_SECONDS} * 1000000 + {_CLOCK_FRACTION} AS TEXT)",
    "timestamp[us]": f"CAST({_SECONDS} * 1000000 + {_FRACTION} AS TEXT)",
    "timestamp[us, UTC]": f"CAST({_INSTANT_SECONDS} * 1000000 + {_FRACTION} AS TEXT)",
}

_DATES = ("'0001-01-01'", "'1582-10-10'", "'1969-12-31'", "'2024-02-29'", "'9999-12-31'")
_MOMENTS = (
    "'0001-01-01'",
    "'1582-10-10T12:00:00.000001'",
    "'1969-12-31 23:59:59.999999'",
    "'2021-10-31 01:30'",
    "'2024-02-29T00:00:00.5000000'",
    "'9999-12-31 23:59:59.999999'",
)
_INSTANTS = (
    "'0001-01-01 00:00:00Z'",
    "'1969-12-31T23:59:59.999999Z'",
    "'2021-10-31 00:30:00.5+02:00'",
    "'2021-10-31T00:30:00.25-00:30'",
    "'9999-12-31 23:59:59.999999Z'",
)
_WORDS = (
    "''",
    "'NULL'",
    r"'\N'",
    "' x '",
    "'a' || char(13, 10) || 'b\",''😀\\'",
    "'a' || char(0) || 'b'",
    "char(65279) || 'x'",
)
_DOUBLES = ("0.1", "-1.5", "9e999", "-9e999", "1.7976931348623157e308", "4.9e-324", "0.1 + 0.2")
_INTEGERS = ("-9223372036854775808", "9007199254740993", "9223372036854775807")
_UUID_TEXT = "CASE WHEN {v} IS NOT NULL THEN " + " || '-' || ".join(
    f"lower(substr(hex({{v}}), {start}, {length}))"
    for start, length in ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))
)
_UUID_TEXT += " END"

DECLARED = (
    Case("INTEGER", "int64", _INTEGERS, shown="INTEGER, BIGINT, any with INT"),
    Case("TINYINT UNSIGNED", "int64", ("255", "-1"), shown=""),
    Case("REAL", "float64", _DOUBLES, shown="REAL, DOUBLE, FLOAT"),
    Case(
        "NUMERIC",
        "float64",
        ("0.1", "9007199254740992", "-5"),
        shown="NUMERIC, DECIMAL without precision",
        note="integers that no double equals do not fit",
    ),
    Case(
        "DECIMAL(12,2)",
        "decimal128(12,2)",
        ("1234567890.12", "-0.01", "0", "'7.10'", "5"),
        shown="DECIMAL(p,s), NUMERIC(p,s)",
        note="a double that is the nearest to a decimal stands for it",
    ),
    Case("DECIMAL(38,18)", "decimal128(38,18)", ("0.1", "0.00001", "123456.5"), shown=""),
    Case("NUMERIC(5,-2)", "decimal128(7,0)", ("9999900", "-9999949"), shown=""),
    Case("BOOLEAN", "bool", ("TRUE", "FALSE", "'1'")),
    Case("TEXT", "string", _WORDS, shown="TEXT, VARCHAR(n), CLOB, any with CHAR"),
    Case("BLOB", "binary", ("x''", "x'00ff00'", "zeroblob(3)")),
    Case("DATE", "date32", _DATES, note="ISO text"),
    Case("DATETIME", "timestamp[us]", _MOMENTS, shown="DATETIME, TIMESTAMP", note="ISO text"),
    Case(
        "TIMESTAMPTZ",
        "timestamp[us, UTC]",
        _INSTANTS,
        shown="TIMESTAMPTZ, TIMESTAMP WITH TIME ZONE",
        note="ISO text with an offset",
    ),
    Case("TIMESTAMP WITH TIME ZONE", "timestamp[us, UTC]", _INSTANTS, shown=""),
    Case("TIME", "string", ("'23:59:59.5'", "'24:00'")),
    Case("UUID", "string", ("'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'",), shown="UUID, GUID"),
    Case("JSON", "string", ("'{\"a\" : 1.10}'", "'null'")),
    Case("", "int64", _INTEGERS, shown="no type or an unknown one", note="where all values are integers"),
    Case("", "float64", ("1", "0.5"), shown="no type or an unknown one", note="where all are numbers"),
    Case("", "string", ("'1'", "''"), shown="no type or an unknown one", note="where all are text"),
    Case("GEOMETRY", "binary", ("x'0101'",), shown="no type or an unknown one", note="where all are blobs"),
)

ASKED = (
    Case(
        "INTEGER",
        "string",
        (*_INTEGERS, "'abc'", "2.5", "x'616263'"),
        rendered="CAST({v} AS TEXT)",
        fidelity=TEXT,
        override="string",
        shown="any",
        note="a blob is the text of its bytes",
    ),
    Case(
        "REAL",
        "string",
        ("0.1", "0.5", "-2.0", "1e22", "9e999", "12345.678"),
        rendered="CAST({v} AS TEXT)",
        fidelity=TEXT,
        override="string",
        shown="",
    ),
    Case("TEXT", "binary", (*_WORDS, "CAST(x'C328' AS TEXT)", "x'00ff'"), override="binary"),
    Case("INTEGER", "bool", ("0", "1", "1.0"), fidelity=LOSSY, override="bool"),
    Case(
        "INTEGER", "int8", ("-128", "127", "'5'"), fidelity=LOSSY, override="int8", shown="INTEGER, numbers"
    ),
    Case("INTEGER", "uint64", ("0", "9223372036854775807"), fidelity=LOSSY, override="uint64", shown=""),
    Case(
        "REAL",
        "int64",
        ("5.0", "-9007199254740992.0"),
        rendered="CAST(CAST({v} AS INTEGER) AS TEXT)",
        fidelity=LOSSY,
        override="int64",
    ),
    Case("TEXT", "int64", ("'-5'", "'9223372036854775807'", "'0'"), fidelity=LOSSY, override="int64"),
    Case(
        "TEXT",
        "float64",
        ("'0.1'", "'-5'", "'1234567.125'", "'0.30000000000000004'"),
        rendered="CAST({v} AS REAL)",
        fidelity=LOSSY,
        override="float64",
    ),
    Case("REAL", "float32", ("0.5", "16777216.0", "9e999"), fidelity=LOSSY, override="float32"),
    Case(
        "TEXT",
        "decimal128(38,10)",
        ("'9999999999999999999999999999.0123456789'", "'-0.5'", "'12'", "'1.500000000000'"),
        fidelity=LOSSY,
        override="decimal(38,10)",
    ),
    Case("INTEGER", "decimal128(20,1)", _INTEGERS, override="decimal(20,1)", shown="INTEGER"),
    Case("TEXT", "date32", _DATES, fidelity=LOSSY, override="date"),
    Case("TEXT", "timestamp[us]", _MOMENTS, fidelity=LOSSY, override="timestamp"),
    Case(
        "VARCHAR(40)", "timestamp[us, UTC]", _INSTANTS, fidelity=LOSSY, override="timestamptz", shown="TEXT"
    ),
    Case(
        "TIME", "time64[us]", ("'00:00'", "'23:59:59.999999'", "'10:00:00.5'"), override="time", shown="TIME"
    ),
    Case("UUID", "uuid", ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",), override="uuid"),
    Case(
        "BLOB",
        "uuid",
        ("x'a0eebc999c0b4ef8bb6d6bb9bd380a11'", "zeroblob(16)"),
        rendered=_UUID_TEXT,
        fidelity=LOSSY,
        override="uuid",
    ),
    Case("JSON", "json", ("'{\"a\" : 1.10}'", "'[]'", "'null'", "5"), rendered=_DIGITS, override="json"),
    *(
        Case(
            "INTEGER",
            becomes,
            values,
            rendered=rendered,
            fidelity=LOSSY,
            override={"type": asked, "unit": unit},
            shown=shown,
        )
        for becomes, asked, unit, values, rendered, shown in (
            ("date32", "date", "s", ("-62135596800", "1672531200"), "CAST({v} / 86400 AS TEXT)", ""),
            (
                "timestamp[us]",
                "timestamp",
                "s",
                ("-62135596800", "-1", "1672531200", "1672531200.5", "253402300799"),
                "CAST(CAST({v} * 1000000 AS INTEGER) AS TEXT)",
                "INTEGER, REAL",
            ),
            (
                "timestamp[us, UTC]",
                "timestamptz",
                "ms",
                ("-62135596800000", "1672531200001", "1672531200001.25", "253402300799999"),
                "CAST(CAST({v} * 1000 AS INTEGER) AS TEXT)",
                "INTEGER, REAL",
            ),
            ("timestamp[us]", "timestamp", "us", ("-62135596800000000", "1"), "CAST({v} AS TEXT)", ""),
            (
                "timestamp[us, UTC]",
                "timestamptz",
                "ns",
                ("-9223372036854775000", "1672531200000001000"),
                "CAST({v} / 1000 AS TEXT)",
                "",
            ),
        )
    ),
)

ENGINE = Engine(
    heading="SQLite",
    fixtures={"sqlite": "sqlite_database"},
    cases=DECLARED + ASKED,
    rendered=RENDERED,
)
