"""Values of PostgreSQL that no date and no decimal holds: counted in every column, read as NULL by policy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from rivet.plan.calendar import days_from_civil
from rivet.plan.scans import Reach, Scan
from rivet.plan.schema import Column, ColumnType, Kind, Override
from rivet.source.arrow import arrow_schema
from rivet.source.protocol import Session
from rivet.source.relation import Relation, Request
from tests.servers.database import Database
from tests.source.reading import EVERYTHING, column_of, source_of

ROWS = """
CREATE TABLE t (
    i int PRIMARY KEY, d date, n timestamp, z timestamptz, p numeric(5,2), f float8, a date[], u numeric
);
CREATE INDEX ON t (d);
INSERT INTO t VALUES
    (1, 'infinity', 'infinity', '-infinity', 'NaN', 'NaN', '{2024-01-01}', 'NaN'),
    (2, '-infinity', NULL, '2024-01-01 12:00+00', NULL, 'Infinity', NULL, NULL),
    (3, '0044-03-15 BC', '0001-12-31 BC 23:59:59.999999', '10000-01-01 00:00+00', '-1.5', 1, '{}', 1),
    (4, '2024-01-02', '2024-01-02', NULL, 1.25, 2, NULL, 2),
    (5, '10000-06-23', '294276-12-31 23:59:59', '0044-03-15 BC', 'NaN', 3, NULL, 3),
    (6, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (7, '0001-01-01', '0001-01-01', '0001-01-01 00:00+00', 0, 4, NULL, 4),
    (8, '9999-12-31', '9999-12-31 23:59:59.999999', '9999-12-31 23:59:59.999999+00', -999.99, 5, NULL, 5);
"""
HELD = {"d": [1, 2, 3, 5], "n": [1, 3, 5], "z": [1, 3, 5], "p": [1, 5]}
SCHEMA_TYPES = {"d": "date", "n": "timestamp", "z": "timestamptz"}


@pytest.fixture
def session(postgres_database: Database) -> Iterator[Session]:
    """Give a session over a table in which every column but two holds values that fit nothing."""
    postgres_database.execute(ROWS)
    with source_of(postgres_database).session() as opened:
        yield opened


def _read(session: Session, relation: Relation, column: Column | None, scan: Scan = EVERYTHING) -> pa.Table:
    """Read a scan, the markers too."""
    nulled = [c.name for c in relation.columns if c.name in relation.nulled]
    schema = pa.schema([*arrow_schema(relation.columns), *(pa.field(name, pa.bool_()) for name in nulled)])
    with session.read(relation, relation.columns, column, scan) as batches:
        read = list(batches)
    return pa.Table.from_batches(read, schema)


def test_every_column_is_counted_in_the_same_statement(session: Session) -> None:
    """The probe counts them with and without a partition column; floats and lists hold what they hold."""
    relation = session.describe(Request("t"))
    counted = tuple((name, len(rows)) for name, rows in HELD.items())

    assert session.probe(relation, None).unrepresentable == counted
    for name in SCHEMA_TYPES:
        probe = session.probe(relation, column_of(relation, name))
        assert (probe.rows, probe.unrepresentable) == (8, counted)
        assert probe.unrepresentable_rows == len(HELD[name])
        assert probe.span is not None


def test_what_becomes_text_is_not_counted_and_what_becomes_a_decimal_is(session: Session) -> None:
    """Text holds every value; a decimal that the config asks for holds no NaN."""
    text, decimal = Override(ColumnType(Kind.STRING)), Override(ColumnType(Kind.DECIMAL, 10, 2))
    overrides = {"d": text, "n": text, "p": text, "u": decimal}

    probe = session.probe(session.describe(Request("t", overrides=overrides)), None)

    assert probe.unrepresentable == (("z", 3), ("u", 1))


def test_they_are_read_as_null_with_a_marker(session: Session) -> None:
    """The NULLs that stand for them are told from those of the database, column by column."""
    relation = replace(session.describe(Request("t")), nulled=frozenset(HELD))

    table = _read(session, relation, None).sort_by("i")

    ids = table.column(0).to_pylist()
    nulls = {"d": [6], "n": [2, 6], "z": [4, 6], "p": [2, 6]}
    for position, name in enumerate(HELD):
        values = table.column(relation.columns.index(column_of(relation, name))).to_pylist()
        markers = table.column(len(relation.columns) + position).to_pylist()
        assert [i for i, marked in zip(ids, markers, strict=True) if marked] == HELD[name]
        null = [i for i, value in zip(ids, values, strict=True) if value is None]
        assert null == sorted([*HELD[name], *nulls[name]])


@pytest.mark.parametrize("name", SCHEMA_TYPES)
def test_in_the_partition_column_they_stand_with_the_null_rows(session: Session, name: str) -> None:
    """A scan of everything has them at its end, one of the NULL rows finds them, and ranges do not."""
    described = session.describe(Request("t"))
    relation = replace(described, nulled=frozenset(HELD))
    column = column_of(relation, name)

    everything = _read(session, relation, column)
    nulls = _read(session, relation, column, Scan(Reach.NULLS))
    day = 1 if name == "d" else 86_400_000_000
    start, end = (days_from_civil(year, 1) * day for year in (1, 10_000))
    fitting = _read(session, relation, column, Scan(Reach.RANGE, start, end))

    values = _values(everything, relation, name)
    first_null = values.index(None)
    assert values[:first_null] == sorted(v for v in values if v is not None)
    assert set(values[first_null:]) == {None}
    assert len(values) == 8
    assert nulls.column(0).to_pylist() == everything.column(0).to_pylist()[first_null:]
    assert set(_values(nulls, relation, name)) == {None}
    assert fitting.column(0).to_pylist() == everything.column(0).to_pylist()[:first_null]


def _values(table: pa.Table, relation: Relation, name: str) -> list[Any]:
    position = [c.name for c in relation.columns].index(name)
    values: list[Any] = table.column(position).to_pylist()
    return values


def test_ranges_are_served_by_an_index_all_the_same(postgres_database: Database) -> None:
    """A range asks for the bare column, so that no sort is needed where an index gives the order."""
    postgres_database.execute(
        "CREATE TABLE t (d date PRIMARY KEY); INSERT INTO t SELECT date '1900-01-01' + i"
        " FROM generate_series(1, 30000) i; INSERT INTO t VALUES ('infinity'); ANALYZE t"
    )
    with source_of(postgres_database).session() as session:
        relation = replace(session.describe(Request("t")), nulled=frozenset({"d"}))
        year = Scan(Reach.RANGE, days_from_civil(1920, 1), days_from_civil(1921, 1))
        assert session.sort_bytes(relation, column_of(relation, "d"), year) == 0
        assert session.sort_bytes(relation, column_of(relation, "d"), EVERYTHING) > 0
