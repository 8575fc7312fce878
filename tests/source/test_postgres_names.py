"""Every name that PostgreSQL allows is quoted in every statement: as schema, table, column and key."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from rivet.plan.calendar import Granularity, days_from_civil
from rivet.plan.scans import Reach, Scan
from rivet.plan.schema import ColumnType, Kind, Override
from rivet.plan.windows import Axis
from rivet.source.relation import Request
from tests.servers.database import Database
from tests.source.reading import column_of, read_scan, source_of

ODD = [
    *('a"b', '"', '""', "a'b", "a.b", ".", "a\\b", "a`b", "[x]", "{v}", "{0}", "{{}}"),
    *("100%", "%s", "%(x)s", "%%", ":x", "::", "$1", "$$", "?", "@x", "#", "x=y", "a/b", "*", ";", "'; drop"),
    *("--", "/*", "*/", " ", "  a ", "Full Name", "tab\t", "line\nline", "\r\n", "\x01", "\x7f"),
    *("select", "SELECT", "user", "NULL", "rivet", "array", "CamelCase", "1", "_", "-"),
    *("ü/é", "créé=le", "日付", "😀", "e\u0301", "\u200b", "\ufeff", "\u2028", "İ", "x" * 63, "é" * 31 + "x"),
]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def test_odd_names_of_columns(postgres_database: Database) -> None:
    """Each is the partition column of one table, ties are broken by it, and what is rendered bears it."""
    names = [_quoted(name) for name in ODD]
    dates, lists = (", ".join(f"{name} {sql_type}" for name in names) for sql_type in ("date", "bytea[]"))
    day, list_of_bytes = "$$2023-01-01$$", r"ARRAY[$$\x01$$::bytea]"
    postgres_database.execute(
        f"CREATE TABLE t ({dates}, PRIMARY KEY ({', '.join(names[:32])}));"
        f"INSERT INTO t VALUES ({', '.join([day] * len(ODD))});"
        f"CREATE TABLE rendered ({lists});"
        f"INSERT INTO rendered VALUES ({', '.join([list_of_bytes] * len(ODD))})"
    )
    row = dict.fromkeys(ODD, date(2023, 1, 1))
    january = Scan(Reach.RANGE, days_from_civil(2023, 1), days_from_civil(2023, 2))
    with source_of(postgres_database).session() as session:
        relation = session.describe(Request("t"))
        assert [c.name for c in relation.columns] == ODD
        assert relation.primary_key == tuple(ODD[:32])
        for name in ODD:
            column = column_of(relation, name)
            axis = Axis(Kind.DATE, Granularity.MONTH)
            assert session.probe(relation, column).rows == 1
            assert [c.rows for c in session.count_windows(relation, column, axis)] == [1]
            assert read_scan(session, relation, column, january).to_pylist() == [row]
            nulled = replace(relation, nulled=frozenset({name}))
            assert session.sort_bytes(nulled, column, Scan(Reach.NULLS)) >= 0
        rendered = session.describe(Request("rendered"))
        assert read_scan(session, rendered).to_pylist() == [{name: [b"\x01"] for name in ODD}]
        text = dict.fromkeys(ODD, Override(ColumnType(Kind.STRING)))
        as_text = session.describe(Request("rendered", overrides=text))
        assert {str(column.type) for column in as_text.columns} == {"string"}


def test_odd_names_of_schemas_and_tables(postgres_database: Database) -> None:
    """A name in double quotes, as in SQL, means itself, whatever signs are in it."""
    postgres_database.execute(
        "".join(
            f"CREATE SCHEMA {name}; CREATE TABLE {name}.{name} ({name} int);"
            f"INSERT INTO {name}.{name} VALUES ({number});"
            for number, name in enumerate(map(_quoted, ODD))
        )
    )
    with source_of(postgres_database).session() as session:
        for number, name in enumerate(ODD):
            relation = session.describe(Request(table=f"{_quoted(name)}.{_quoted(name)}"))
            assert relation.table == f"{name}.{name}"
            assert read_scan(session, relation).to_pylist() == [{name: number}]
