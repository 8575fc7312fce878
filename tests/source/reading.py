"""What tests of sources share: settings for a database, and a whole scan read into one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, TypeVar

import pyarrow as pa
import pytest

from rivet.config.settings import SourceSettings
from rivet.config.url import parse_url
from rivet.errors import SourceError
from rivet.export.order import Order
from rivet.export.sort import SortedBatches
from rivet.plan.scans import Reach, Scan, Sorter
from rivet.plan.schema import Column, Override
from rivet.source.arrow import arrow_schema
from rivet.source.opening import open_source
from rivet.source.protocol import Session, Source
from rivet.source.relation import Consistency, Relation, Request
from tests.servers.database import Database

EVERYTHING = Scan(Reach.EVERYTHING)

T = TypeVar("T")


def settings_of(database: Database, **changes: Any) -> SourceSettings:
    """Give the settings of a database as a config would, with changes."""
    location = parse_url(database.url)
    named: dict[str, Any] = {
        "type": location.engine,
        "host": location.host,
        "port": location.port,
        "user": location.user,
        "password": location.password,
        "database": location.database,
    }
    return SourceSettings(**(named | changes))


def source_of(database: Database, **changes: Any) -> Source:
    """Give the source of a database."""
    return open_source(settings_of(database, **changes))


def in_session(database: Database, ask: Callable[[Session], T], **changes: Any) -> T:
    """Ask something in a session of its own."""
    with source_of(database, **changes).session() as session:
        return ask(session)


def column_of(relation: Relation, name: str) -> Column:
    """Give a column by its exact name."""
    return next(c for c in relation.columns if c.name == name)


def said_as(translated: Callable[[str], AbstractContextManager[None]], error: BaseException) -> SourceError:
    """Give what an engine makes of a driver's error while it is reading."""
    with pytest.raises(SourceError) as caught, translated("reading"):
        raise error
    return caught.value


def read_scan(
    session: Session, relation: Relation, column: Column | None = None, scan: Scan = EVERYTHING
) -> pa.Table:
    """Read a scan of all columns, with the markers after them, and hold the stream to its contract.

    A scan that Rivet may sort is read once more as it comes, sorted here, and must give the same rows.
    """
    table = _read(session, relation, column, scan)
    if scan == EVERYTHING and relation.consistency is Consistency.SNAPSHOT:
        again = _read(session, relation, column, replace(scan, sorter=Sorter.RIVET))
        if not again.equals(table):
            assert sorted(map(repr, again.to_pylist())) == sorted(map(repr, table.to_pylist()))
    return table


def _read(session: Session, relation: Relation, column: Column | None, scan: Scan) -> pa.Table:
    markers = [pa.field(c.name, pa.bool_()) for c in relation.columns if c.name in relation.nulled]
    schema = pa.schema([*arrow_schema(relation.columns), *markers])
    batches = session.read(relation, relation.columns, column, scan)
    if scan.sorter is Sorter.RIVET and column is not None:
        batches = SortedBatches(batches, Order(column.name, relation.primary_key))
    with batches:
        read = list(batches)
        rows = batches.server_rows
    for batch in read:
        assert batch.schema.equals(schema, check_metadata=True)
        assert batch.num_rows > 0
        batch.validate(full=True)
    table = pa.Table.from_batches(read, schema)
    assert table.num_rows == rows
    return table


def read_all(
    database: Database,
    *,
    table: str | None = None,
    query: str | None = None,
    order: str | None = None,
    overrides: Mapping[str, Override] | None = None,
) -> pa.Table:
    """Describe and read a table or a query in one session."""

    def ask(session: Session) -> pa.Table:
        relation = session.describe(Request(table, query, overrides=overrides or {}))
        return read_scan(session, relation, column_of(relation, order) if order else None)

    return in_session(database, ask)
