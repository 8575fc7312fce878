"""PostgreSQL's types: each value arrives with the meaning that the server gives it, or is refused by name."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pyarrow as pa
import pytest

from rivet.errors import ColumnError
from rivet.plan.schema import ColumnType, Fidelity, Kind, Override
from rivet.source.postgres.types import SourceType, becomes
from rivet.source.relation import Request
from tests.servers.database import Database
from tests.source.reading import read_all, source_of


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
    ("date[]", "'{2024-01-01,infinity}'"),
    ("timestamptz[]", "'{0044-03-15 00:00+00 BC}'"),
    ("time[]", "'{24:00:00}'"),
    ("numeric(5,2)[]", "'{NaN}'"),
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


@pytest.mark.parametrize("literal", ["'{{1,2},{3,4}}'", "'{{1}}'", "'{{{1}}}'", "'{{NULL}}'"])
def test_arrays_of_more_dimensions_are_never_flattened(postgres_database: Database, literal: str) -> None:
    """A column of lists that meets an array of arrays fails by name, and is exported as JSON on request."""
    postgres_database.execute(
        f"CREATE TABLE t (i int, \"the value\" int[]); INSERT INTO t VALUES (1, '{{1}}'), (2, {literal})"
    )
    with pytest.raises(ColumnError, match="'the value'") as caught:
        read_all(postgres_database, table="t")

    assert caught.value.hint is not None
    assert "string" in caught.value.hint
    as_json = {"the value": Override(ColumnType(Kind.STRING))}
    (expected,) = postgres_database.fetch('SELECT to_json("the value")::text FROM t WHERE i = 2')[0]
    assert read_all(postgres_database, table="t", overrides=as_json).column(1).to_pylist() == [
        "[1]",
        expected,
    ]


def test_a_list_begins_with_its_first_element(postgres_database: Database) -> None:
    """An array whose first element has another number than 1 is the list of its elements."""
    assert read_all(postgres_database, query="SELECT '[0:2]={1,NULL,3}'::int[] AS v").to_pylist() == [
        {"v": [1, None, 3]}
    ]


TYPMOD_QUERIES = [
    "SELECT n, c, a FROM t",
    "SELECT * FROM (SELECT n, c, a FROM t OFFSET 0) AS s",
    "SELECT * FROM v",
    "SELECT l.n, r.c, r.a FROM t l LEFT JOIN t r USING (i)",
    "WITH w AS MATERIALIZED (SELECT * FROM v) SELECT n, c, a FROM w",
    "SELECT n, c, a FROM t UNION ALL SELECT n, c, a FROM v",
    "SELECT max(n) OVER () * 0 + 1 AS other, n, c, a FROM t",
    "SELECT d AS n, c, a FROM t",
]


def test_precision_comes_through_queries(postgres_database: Database) -> None:
    """A numeric's digits come out of subqueries, views, joins, unions and domains; expressions have none."""
    postgres_database.execute(
        "CREATE DOMAIN money_like AS numeric(12,2); CREATE DOMAIN more AS money_like;"
        " CREATE TABLE t (i int, n numeric(12,2), c varchar(3), a numeric(12,2)[], d more);"
        " CREATE VIEW v AS SELECT * FROM t"
    )
    with source_of(postgres_database).session() as session:
        for query in TYPMOD_QUERIES:
            described = {c.name: c for c in session.describe(Request(query=query)).columns}

            assert str(described["n"].type) == "decimal128(12,2)", query
            assert str(described["a"].type) == "list<decimal128(12,2)>", query
            assert described["c"].source_type == "character varying(3)", query
        (summed,) = session.describe(Request(query="SELECT sum(n) AS n FROM t")).columns
        assert (str(summed.type), summed.source_type, summed.fidelity) == ("string", "numeric", Fidelity.TEXT)


ODD_TYPES = [
    ("SELECT ROW(1, 'a b') AS v", '(1,"a b")'),
    ("SELECT ARRAY[ROW(1, 'a b')] AS v", '[{"f1":1,"f2":"a b"}]'),
    ("SELECT 'x' AS v", "x"),
    ("SELECT pg_typeof(1) AS v", "integer"),
    ("SELECT '(1,2)'::tid AS v", "(1,2)"),
    ("SELECT histogram_bounds AS v FROM pg_stats WHERE false UNION ALL SELECT NULL", None),
    ("SELECT current_user AS v", "CURRENT_USER"),
    ('SELECT "odd types" AS v FROM "odd types"', "(1,)"),
]


def test_no_type_is_refused(postgres_database: Database) -> None:
    """What has no place of its own is the server's own text: records, pseudo-types, rows of tables."""
    postgres_database.execute(
        'CREATE TABLE "odd types" (v int, w text); INSERT INTO "odd types" VALUES (1, NULL)'
    )
    (user,) = postgres_database.fetch("SELECT current_user")[0]
    for query, expected in ODD_TYPES:
        (row,) = read_all(postgres_database, query=query).to_pylist()

        assert row == {"v": user if expected == "CURRENT_USER" else expected}, query


def test_the_text_of_an_extension_is_told_of(postgres_database: Database) -> None:
    """A type that only an extension knows comes with a warning, until the config says that text is meant."""
    postgres_database.execute(
        "CREATE EXTENSION hstore; CREATE EXTENSION citext; CREATE TYPE mood AS ENUM ('well');"
        " CREATE DOMAIN pairs AS hstore;"
        " CREATE TABLE t (h hstore, d pairs, l hstore[], c citext, m mood, p pg_lsn)"
    )
    with source_of(postgres_database).session() as session:
        told = session.describe(Request("t")).warnings
        assert [warning.split("'")[1] for warning in told] == ["h", "d", "l"]
        text = dict.fromkeys("hdl", Override(ColumnType(Kind.STRING)))
        assert session.describe(Request("t", overrides=text)).warnings == ()


@pytest.mark.parametrize(
    ("precision", "scale", "expected"),
    [(5, -2, "decimal128(7,0)"), (3, 5, "decimal128(5,5)"), (38, 0, "decimal128(38,0)"), (38, -1, "string")],
)
def test_odd_scales_are_widened(precision: int, scale: int, expected: str) -> None:
    """A scale below zero or above the precision is widened to a decimal that holds every value."""
    typmod = (precision << 16 | scale & 0x7FF) + 4
    assert str(becomes(SourceType("numeric", "numeric", typmod))[0]) == expected


@pytest.fixture
def raw_bytes(postgres_database: Database) -> Iterator[Database]:
    """Give a database without an encoding."""
    name = f"{postgres_database.name}_raw"
    postgres_database.server.execute(
        f"CREATE DATABASE {name} OWNER rivet ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0"
    )
    yield Database(postgres_database.server, name)
    postgres_database.server.drop_database(name)


def test_a_server_without_encoding_is_refused_by_column(raw_bytes: Database) -> None:
    """Bytes that are no UTF-8, in a database that checks none, fail with the column's name."""
    raw_bytes.execute(r"CREATE TABLE t AS SELECT E'\xe9t\xe9' AS note, ARRAY[E'\xe9'] AS notes")
    for column in ("note", "notes"):
        with pytest.raises(ColumnError, match=f"'{column}'"):
            read_all(raw_bytes, query=f"SELECT {column} FROM t")
    assert read_all(raw_bytes, query="SELECT 'été' AS \"Été\"").to_pylist() == [{"Été": "été"}]


def test_bytes_that_are_no_text_are_had_as_binary(raw_bytes: Database) -> None:
    """The override `binary` gives the bytes of a text as they lie in the database."""
    raw_bytes.execute(r"CREATE TABLE t AS SELECT E'\xe9t\xe9' AS note, E'\xff '::char(3) AS padded")
    table = read_all(
        raw_bytes,
        table="t",
        overrides=dict.fromkeys(("note", "padded"), Override(ColumnType(Kind.BINARY))),
    )
    assert table.to_pylist() == [{"note": b"\xe9t\xe9", "padded": b"\xff  "}]
