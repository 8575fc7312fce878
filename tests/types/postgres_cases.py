"""The types of PostgreSQL, with their edge values."""

from __future__ import annotations

from rivet.plan.schema import Fidelity
from tests.types.cases import Case, Engine

TEXT, LOSSY = Fidelity.TEXT, Fidelity.LOSSY
NINES = "9" * 38

SETUP = """
CREATE EXTENSION IF NOT EXISTS citext;
CREATE EXTENSION IF NOT EXISTS hstore;
CREATE TYPE mood AS ENUM ('so; so', 'well "put"');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN amount AS numeric(7,3);
CREATE DOMAIN price AS amount CHECK (value > 0);
CREATE DOMAIN photo AS bytea;
CREATE DOMAIN tags AS text[];
CREATE DOMAIN flag AS boolean;
CREATE DOMAIN prices AS numeric(5,2)[];
"""

# Numbers by their digits, moments by the server's own count of microseconds, bytes by their hexadecimal
# digits, truth by a number; what is text by the text itself.
_DIGITS = "({v})::text"
_MICROSECONDS = "(extract(epoch FROM {v}) * 1000000)::bigint::text"
RENDERED = {
    **dict.fromkeys(("int16", "int32", "int64", "uint32", "decimal128", "float32", "float64"), _DIGITS),
    "bool": "({v})::int::text",
    "string": "CASE WHEN num_nulls({v}) = 0 THEN format('%s', {v}) END",
    "uuid": "({v})::text",
    "json": "({v})::text",
    "binary": "encode({v}, 'hex')",
    "date32": "({v} - date '1970-01-01')::text",
    "time64[us]": "(extract(epoch FROM {v}) * 1000000)::bigint::text",
    "timestamp[us]": _MICROSECONDS,
    "timestamp[us, UTC]": _MICROSECONDS,
}


def _list(element: str) -> str:
    """Render a list by its elements, one by one."""
    rendered = element.replace("{v}", "({v})[n]")
    elements = f"SELECT json_agg({rendered} ORDER BY n) FROM generate_subscripts({{v}}, 1) AS n"
    return f"CASE WHEN {{v}} IS NOT NULL THEN coalesce(({elements}), '[]')::text END"


_DATES = ("'0001-01-01'", "'1582-10-10'", "'1899-12-31'", "'1969-12-31'", "'2024-02-29'", "'9999-12-31'")
_MOMENTS = (
    "'0001-01-01 00:00:00'",
    "'1582-10-10 12:00:00.000001'",
    "'1969-12-31 23:59:59.999999'",
    "'2021-10-31 01:30:00.5'",
    "'9999-12-31 23:59:59.999999'",
)
_WORDS = (
    "''",
    "'NULL'",
    r"'\N'",
    r"'\.'",
    "'NaN'",
    "' x '",
    r"E'a\r\nb\t\"c\",😀\\'",
    "'\ufeffx'",
    "'\"'",
    "','",
)

SCALARS = (
    Case("boolean", "bool", ("true", "false")),
    Case("smallint", "int16", ("-32768", "0", "32767")),
    Case("integer", "int32", ("-2147483648", "2147483647")),
    Case("bigint", "int64", ("-9223372036854775808", "9007199254740993", "9223372036854775807")),
    Case("real", "float32", ("0.1", "'-0'", "'NaN'", "'-Infinity'", "'Infinity'", "3.4028235e38", "1e-45")),
    Case(
        "double precision",
        "float64",
        ("0.1", "'-0'", "'NaN'", "'-Infinity'", "'Infinity'", "1.7976931348623157e308", "4.9e-324"),
    ),
    Case("numeric(12,2)", "decimal128(12,2)", ("1234567890.12", "-0.01", "0"), shown="numeric(p,s)"),
    Case("numeric(38,0)", "decimal128(38,0)", (NINES, f"-{NINES}"), shown=""),
    Case("numeric(38,38)", "decimal128(38,38)", (f"0.{NINES}", f"-0.{NINES}"), shown=""),
    Case(
        "numeric(5,-2)",
        "decimal128(7,0)",
        ("9999900", "-9999949"),
        note="a scale below zero or above the precision widens it",
    ),
    Case("numeric(3,5)", "decimal128(5,5)", ("0.00999", "-0.00999")),
    Case(
        "numeric(60,10)",
        "string",
        (f"{NINES}.0123456789", "'NaN'"),
        fidelity=TEXT,
        shown="numeric(p,s), p > 38",
    ),
    Case(
        "numeric",
        "string",
        ("0.1", "12345678901234567890.123456789", "1e-30", "1.10", "'NaN'", "'-Infinity'"),
        fidelity=TEXT,
    ),
    Case("date", "date32", _DATES),
    Case("timestamp", "timestamp[us]", _MOMENTS),
    Case("timestamp(3)", "timestamp[us]", ("'2024-02-29 23:59:59.9994'",), shown=""),
    Case(
        "timestamptz",
        "timestamp[us, UTC]",
        (
            *(f"timestamptz {m[:-1]}+00'" for m in _MOMENTS),
            "'2021-10-31 00:30:00+00'",
            "'2021-10-31 03:30:00+02'",
            "'1890-01-01 00:00:00+00:53:28'",
        ),
    ),
    Case("time", "time64[us]", ("'00:00'", "'23:59:59.999999'"), note="24:00:00 is an error"),
    Case("timetz", "string", ("'12:00+02'", "'24:00:00-15:59:59'"), fidelity=TEXT),
    Case(
        "interval",
        "string",
        ("'1 year -2 days 03:04:05.000006'", "'0'", "'-1 day 24:00:00'"),
        fidelity=TEXT,
        note="ISO 8601",
    ),
    Case("text", "string", _WORDS),
    Case("varchar(5)", "string", ("'abcde'", "''"), shown="varchar(n)"),
    Case("char(4)", "string", ("'ab'", "''"), shown="char(n)", note="with its blanks"),
    Case("name", "string", ("'x'", "''")),
    Case('"char"', "string", ("'x'", "''")),
    Case("citext", "string", ("'MiXed'",)),
    Case("mood", "string", ("'so; so'", "'well \"put\"'"), fidelity=TEXT, shown="enums"),
    Case(
        "uuid",
        "string",
        ("'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "'00000000-0000-0000-0000-000000000000'"),
        fidelity=TEXT,
    ),
    Case("json", "string", ("'{\"a\" : 1.10}'", "'null'", "'\"\\u0000\"'"), fidelity=TEXT),
    Case("jsonb", "string", ('\'{"b":1.10,"a":[]}\'', "'null'"), fidelity=TEXT),
    Case("xml", "string", ("'<a>&amp;</a>'",), fidelity=TEXT),
    Case(
        "money",
        "string",
        ("'1234.5'", "'-92233720368547758.08'"),
        fidelity=TEXT,
        note="as the locale C has it",
    ),
    Case("inet", "string", ("'10.0.0.1'", "'10.0.0.1/8'", "'::ffff:1.2.3.4/128'"), fidelity=TEXT),
    Case("cidr", "string", ("'10.0.0.0/8'", "'10.1.2.3/32'"), fidelity=TEXT),
    Case("macaddr", "string", ("'08:00:2b:01:02:03'",), fidelity=TEXT),
    Case("macaddr8", "string", ("'08:00:2b:01:02:03:04:05'",), fidelity=TEXT),
    Case("bit(3)", "string", ("B'101'",), fidelity=TEXT, shown="bit strings"),
    Case("varbit", "string", ("B''", "B'0'"), fidelity=TEXT, shown=""),
    Case("tsvector", "string", ("'b a:1A'", "''"), fidelity=TEXT),
    Case("tsquery", "string", ("'a & !b'",), fidelity=TEXT),
    Case("int4range", "string", ("'[1,5)'", "'empty'", "'(,)'"), fidelity=TEXT, shown="ranges, multiranges"),
    Case("tstzrange", "string", ("'[2024-01-01 00:00+02,)'",), fidelity=TEXT, shown=""),
    Case("int4multirange", "string", ("'{[1,5),[7,9)}'", "'{}'"), fidelity=TEXT, shown=""),
    Case("point", "string", ("'(0.1,-0)'", "'(NaN,Infinity)'"), fidelity=TEXT, shown="geometric types"),
    *(
        Case(sql_type, "string", (literal,), fidelity=TEXT, shown="")
        for sql_type, literal in (
            ("line", "'{1,2,3}'"),
            ("lseg", "'[(0,0),(0.1,1)]'"),
            ("box", "'(1,1),(0.1,0)'"),
            ("path", "'[(0,0),(0.1,1)]'"),
            ("polygon", "'((0,0),(0.1,1))'"),
            ("circle", "'<(0,0),0.1>'"),
        )
    ),
    Case("pair", "string", ("ROW(1, 'a \"b\"')", "ROW(NULL, NULL)"), fidelity=TEXT, shown="composite types"),
    Case(
        "hstore",
        "string",
        ("'a=>1, b=>NULL'", "''"),
        fidelity=TEXT,
        shown="types of extensions, and all others",
    ),
    *(
        Case(sql_type, "string", literals, fidelity=TEXT, shown="")
        for sql_type, literals in (
            ("oid", ("0", "4294967295")),
            ("regclass", ("'pg_catalog.pg_class'",)),
            ("regtype", ("'int4'",)),
            ("xid", ("'4294967295'",)),
            ("xid8", ("'18446744073709551615'",)),
            ("tid", ("'(0,1)'",)),
            ("pg_lsn", ("'FFFFFFFF/FFFFFFFF'",)),
            ("txid_snapshot", ("'10:20:10,14'",)),
            ("pg_snapshot", ("'10:20:10,14'",)),
            ("jsonpath", ("'$.a[*] ? (@ > 1)'",)),
            ("int2vector", ("'1 2 3'",)),
            ("oidvector", ("'1 2 3'",)),
            ("refcursor", ("'c'",)),
            ("aclitem", ("'=r/pg_monitor'",)),
        )
    ),
    Case("bytea", "binary", (r"'\x'", r"'\x00ff225c0a'")),
    Case(
        "price",
        "decimal128(7,3)",
        ("1234.567", "0.001"),
        shown="a domain over numeric(7,3)",
        note="as the type it rests on",
    ),
    Case("photo", "binary", (r"'\x01'",), shown=""),
    Case("flag", "bool", ("true", "false"), shown=""),
)

LISTS = (
    Case(
        "integer[]",
        "list<int32>",
        ("'{}'", "'{1,NULL,-2147483648}'", "'{NULL}'"),
        rendered=_list("{v}::text"),
        note="so for every type: a list of what the element becomes; arrays of more dimensions are an error",
    ),
    *(
        Case(
            f"{element}[]",
            f"list<{becomes}>",
            values,
            rendered=_list(RENDERED[kind]),
            fidelity=fidelity,
            shown="",
        )
        for element, becomes, kind, values, fidelity in (
            ("boolean", "bool", "bool", ("'{t,f,NULL}'",), Fidelity.EXACT),
            ("bigint", "int64", "int64", ("'{9223372036854775807,NULL}'",), Fidelity.EXACT),
            ("real", "float32", "float32", ("'{0.1,NaN,Infinity,NULL}'",), Fidelity.EXACT),
            ("double precision", "float64", "float64", ("'{0.1,-0,NaN,-Infinity,5e-324}'",), Fidelity.EXACT),
            ("numeric(12,2)", "decimal128(12,2)", "decimal128", ("'{1.10,NULL,-0.01}'",), Fidelity.EXACT),
            ("numeric", "string", "string", ("'{1.10,NaN,1e-30}'",), TEXT),
            ("date", "date32", "date32", ("'{0001-01-01,NULL,9999-12-31}'",), Fidelity.EXACT),
            (
                "timestamp",
                "timestamp[us]",
                "timestamp[us]",
                ("'{2021-10-31 01:30:00.000001,NULL}'",),
                Fidelity.EXACT,
            ),
            (
                "timestamptz",
                "timestamp[us, UTC]",
                "timestamp[us, UTC]",
                ("'{2021-10-31 03:30:00+02,0001-01-01 00:00:00+00}'",),
                Fidelity.EXACT,
            ),
            ("time", "time64[us]", "time64[us]", ("'{23:59:59.999999,NULL}'",), Fidelity.EXACT),
            ("interval", "string", "string", ("'{1 day}'",), TEXT),
            (
                "text",
                "string",
                "string",
                (r"""ARRAY['', 'NULL', NULL, '"', ',', E'\r\n\\\t', '😀', '[1]', '\N', E'\x01']""", "'{}'"),
                Fidelity.EXACT,
            ),
            ("varchar(5)", "string", "string", ("'{abcde}'",), Fidelity.EXACT),
            ("char(4)", "string", "string", ("'{ab,NULL}'",), Fidelity.EXACT),
            ("name", "string", "string", ("'{ab,NULL}'",), Fidelity.EXACT),
            ('"char"', "string", "string", ("'{a,NULL}'",), Fidelity.EXACT),
            ("citext", "string", "string", ("'{Ab,NULL}'",), Fidelity.EXACT),
            ("mood", "string", "string", ("ARRAY['so; so', 'well \"put\"', NULL]::mood[]",), TEXT),
            ("uuid", "string", "string", ("'{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11,NULL}'",), TEXT),
            ("jsonb", "string", "string", ("ARRAY['{\"a\": [1]}', 'null', NULL]::jsonb[]",), TEXT),
            ("json", "string", "string", ("ARRAY['{\"a\" : [1]}', NULL]::json[]",), TEXT),
            ("inet", "string", "string", ("'{10.0.0.1,10.0.0.1/8,NULL}'",), TEXT),
            ("cidr", "string", "string", ("'{10.0.0.0/8,NULL}'",), TEXT),
            ("int4range", "string", "string", ("'{\"[1,5)\",NULL}'",), TEXT),
            ("box", "string", "string", ("'{(1,1),(0,0);(2,2),(0,0)}'",), TEXT),
            ("pair", "string", "string", ("ARRAY[ROW(1, 'a'), ROW(NULL, '\"')]::pair[]",), TEXT),
            ("hstore", "string", "string", ("ARRAY['a=>1', NULL]::hstore[]",), TEXT),
            ("bytea", "binary", "binary", (r"ARRAY['\x', '\x00ff225c', NULL]::bytea[]",), Fidelity.EXACT),
            ("price", "decimal128(7,3)", "decimal128", ("ARRAY[1.5, NULL]::price[]",), Fidelity.EXACT),
            ("photo", "binary", "binary", (r"ARRAY['\x01', NULL]::photo[]",), Fidelity.EXACT),
            ("flag", "bool", "bool", ("ARRAY[true, NULL]::flag[]",), Fidelity.EXACT),
        )
    ),
    Case("tags", "list<string>", ("'{a,NULL}'",), rendered=_list("{v}::text"), shown=""),
    Case("prices", "list<decimal128(5,2)>", ("'{1.5,NULL}'",), rendered=_list("{v}::text"), shown=""),
    Case(
        "tags[]",
        "string",
        ("ARRAY['{a,b}', NULL]::tags[]",),
        rendered="to_json({v})::text",
        fidelity=TEXT,
        shown="arrays of domains over arrays",
        note="JSON",
    ),
)

OVERRIDDEN = (
    Case("uuid", "uuid", ("'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'",), override="uuid"),
    Case("json", "json", ("'{\"a\" : 1.10}'", "'null'"), override="json"),
    Case("jsonb", "json", ("'[1, \"é\"]'",), override="json"),
    Case("time", "string", ("'24:00:00'", "'12:00'"), override="string", fidelity=TEXT),
    Case("date", "string", ("'infinity'", "'0044-03-15 BC'"), override="string", fidelity=TEXT),
    Case("bytea", "string", (r"'\x00ff'",), override="string", fidelity=TEXT),
    Case("boolean", "string", ("true",), override="string", fidelity=TEXT),
    Case("inet", "string", ("'10.0.0.1'",), override="string", fidelity=TEXT, shown=""),
    Case(
        "integer[]",
        "string",
        ("'{{1,2},{3,NULL}}'", "'{1}'", "'{}'"),
        rendered="to_json({v})::text",
        override="string",
        fidelity=TEXT,
    ),
    Case(
        "integer[]",
        "json",
        ("'{{1,2},{3,NULL}}'", "'{1}'"),
        rendered="to_json({v})::text",
        override="json",
        fidelity=TEXT,
    ),
    Case("text", "binary", _WORDS, rendered="encode(textsend({v}), 'hex')", override="binary"),
    Case(
        "char(4)",
        "binary",
        ("'ab'",),
        rendered="encode(bpcharsend({v}), 'hex')",
        override="binary",
        shown="",
    ),
    Case(
        "numeric",
        "decimal128(20,6)",
        ("1.100000000", "-99999999999999.999999", "0"),
        override="decimal(20,6)",
        fidelity=LOSSY,
    ),
    Case("numeric(12,2)", "decimal128(20,6)", ("1.10",), override="decimal(20,6)"),
    Case(
        "numeric",
        "float64",
        ("0.1", "-1e300", "'NaN'", "0.00", "123456789.125"),
        override="float64",
        fidelity=LOSSY,
    ),
    Case("numeric", "float32", ("0.1", "-1e30", "'NaN'"), override="float32", fidelity=LOSSY),
    Case(
        "numeric",
        "int64",
        ("5.000", "-9223372036854775808"),
        override="int64",
        fidelity=LOSSY,
        rendered="trunc({v})::text",
    ),
    Case("numeric(4,0)", "int16", ("9999",), override="int16"),
    Case("bigint", "int16", ("32767",), override="int16", fidelity=LOSSY),
    Case("bigint", "float64", ("9007199254740992",), override="float64", fidelity=LOSSY),
    Case("bigint", "decimal128(19,0)", ("-9223372036854775808",), override="decimal(19,0)"),
    Case("integer", "float64", ("-2147483648",), override="float64"),
    Case("integer", "uint32", ("2147483647",), override="uint32", fidelity=LOSSY),
    Case("integer", "bool", ("0", "1"), override="bool", fidelity=LOSSY),
    Case("real", "float64", ("0.1",), override="float64", rendered="({v})::float8::text"),
    Case(
        "double precision",
        "float32",
        ("0.5", "-1024.03125", "'NaN'", "'-Infinity'", "0"),
        override="float32",
        fidelity=LOSSY,
    ),
    Case(
        "double precision",
        "int64",
        ("5", "1e15", "-3"),
        override="int64",
        fidelity=LOSSY,
        rendered="{v}::bigint::text",
    ),
    Case(
        "double precision",
        "decimal128(10,2)",
        ("0.1", "-3", "1e7"),
        override="decimal(10,2)",
        fidelity=LOSSY,
        rendered="{v}::text::numeric::text",
    ),
    Case("text", "int64", ("'42'", "'-1'"), override="int64", fidelity=LOSSY),
    Case("text", "float64", ("'0.5'", "'-1e10'", "'NaN'", "'.5'"), override="float64", fidelity=LOSSY),
    Case("text", "decimal128(10,2)", ("'42.5'",), override="decimal(10,2)", fidelity=LOSSY),
    Case(
        "text",
        "date32",
        ("'2024-02-29'", "'0001-01-01'"),
        override="date",
        fidelity=LOSSY,
        rendered="({v}::date - date '1970-01-01')::text",
    ),
    Case(
        "text",
        "timestamp[us]",
        ("'2024-02-29 12:00:00'", "'2024-02-29T12:00:00.123456'"),
        override="timestamp",
        fidelity=LOSSY,
        rendered="(extract(epoch FROM {v}::timestamp) * 1000000)::bigint::text",
    ),
    Case(
        "text",
        "timestamp[us, UTC]",
        ("'2024-02-29 12:00:00+02'", "'2024-02-29T12:00:00Z'"),
        override="timestamptz",
        fidelity=LOSSY,
        rendered="(extract(epoch FROM {v}::timestamptz) * 1000000)::bigint::text",
    ),
    Case(
        "text",
        "time64[us]",
        ("'12:00:00.5'",),
        override="time",
        fidelity=LOSSY,
        rendered="(extract(epoch FROM {v}::time) * 1000000)::bigint::text",
    ),
    Case("text", "uuid", ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",), override="uuid", fidelity=LOSSY),
    Case("text", "json", ("'{\"a\": [1]}'",), override="json", fidelity=LOSSY),
    Case(
        "money",
        "decimal128(19,2)",
        ("'1234.5'", "'-92233720368547758.08'"),
        override="decimal(19,2)",
        rendered="{v}::numeric::text",
    ),
    Case("oid", "uint32", ("4294967295",), override="uint32"),
    Case("oid", "int64", ("4294967295",), override="int64", shown=""),
)

ENGINE = Engine(
    heading="PostgreSQL",
    fixtures={"postgres": "postgres_database"},
    cases=(*SCALARS, *LISTS, *OVERRIDDEN),
    rendered=RENDERED,
    setup=SETUP,
    session="SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET IntervalStyle = 'iso_8601';"
    " SET lc_monetary = 'C';",
)
