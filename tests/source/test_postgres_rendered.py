"""What becomes text is the text that the server itself writes, whatever a cast or another form would give."""

from __future__ import annotations

from collections.abc import Mapping

from tests.servers.database import Database
from tests.source.reading import read_all

TYPES = (
    "CREATE SCHEMA own; CREATE TYPE own.citext AS (a int, b text); CREATE TYPE own.text AS (a int);"
    " CREATE TYPE own.name AS RANGE (subtype = int4); CREATE TYPE own.json AS ENUM ('', 'it''s');"
    " CREATE TYPE own.pair AS (a own.citext, b numeric(5,2)[]);"
    " CREATE DOMAIN own.int4 AS text; CREATE DOMAIN own.mark AS xml; CREATE DOMAIN own.padded AS char(5)"
)
# Each is the server's own text of a value; where a cast gives another, that is why it stands here.
VALUES: Mapping[str, tuple[str, ...]] = {
    "own.citext": ("(1,x)", "(,)", '(,"")'),
    "own.text": ("(1)", "()"),
    "own.name": ("[1,2)", "empty"),
    "own.json": ("", "it's"),
    "own.pair": ('("(1,x)","{1.50,NULL}")', "(,)"),
    "own.int4": ("", "not a number"),
    "own.mark": ('<?xml version="1.0" encoding="ISO-8859-1"?><é/>',),
    "own.padded": ("ab", ""),
    "xml": (
        '<?xml version="1.0" encoding="ISO-8859-1"?><é/>',
        '<?xml version="1.0" standalone="yes"?><a/>',
        " text\n",
    ),
    "char(4)": ("a", "", "éé"),
    "bpchar": ("a  ", ""),
    '"char"': ("a", ""),
    "inet": ("10.0.0.1", "10.0.0.1/8", "::1"),
    "cidr": ("10.0.0.0/8", "10.1.2.3/32"),
    "json": ('{"a":1,  "a": 2}\n',),
    "jsonb": ('{"a":1,  "a": 2}',),
    "money": ("-1234567.89",),
    "interval": ("1 year -2 days 03:04:05.6", "0"),
    "timetz": ("24:00:00-15:59",),
    "oidvector": ("1 2", ""),
    "numeric": ("NaN", "-Infinity", "1e40", "1.500"),
    "int4multirange": ("{[1,3),[5,8)}", "{}"),
    "bit varying": ("", "0101"),
    "tsvector": ("a:1A 'b c':3", ""),
}


def test_text_is_the_servers_own(postgres_database: Database) -> None:
    """Types without a kind of their own, and those whose names are another's, come as `COPY` writes them."""
    columns = ", ".join(f"c{place} {kind}" for place, kind in enumerate(VALUES))
    postgres_database.execute(f"{TYPES}; CREATE TABLE t (i serial, {columns})")
    for place, (kind, literals) in enumerate(VALUES.items()):
        rows = ", ".join(f"($${literal}$$::{kind})" for literal in literals)
        postgres_database.execute(f"INSERT INTO t (c{place}) VALUES {rows}")

    with postgres_database.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET IntervalStyle = 'iso_8601'; SET lc_monetary = 'C'")
        with cursor.copy("COPY (SELECT * FROM t ORDER BY i) TO STDOUT") as copied:
            expected = [row[1:] for row in copied.rows()]
    table = read_all(postgres_database, query="SELECT * FROM t ORDER BY i").drop_columns("i")

    assert [tuple(row.values()) for row in table.to_pylist()] == expected


def test_truth_values_are_known_in_lists(postgres_database: Database) -> None:
    """A list of truth values has each of them, and NULL, also where the element is a domain."""
    query = "SELECT * FROM (VALUES ('{t,f,NULL}'::bool[]), ('{}'), (NULL)) AS t (v)"

    assert read_all(postgres_database, query=query).column("v").to_pylist() == [[True, False, None], [], None]
