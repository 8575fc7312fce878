"""A server of the bench's own with the table in it, at rest and on disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.engines import INDEX, Engine
from tests.servers.database import Database, run


@contextmanager
def filled(engine: Engine, rows: int, *, index: bool = False) -> Iterator[Database]:
    """Run a server and make the table `events` in a database of it, as long as the block lasts."""
    with engine.start() as server, server.fresh_database() as database:
        database.execute(engine.fill.format(rows=rows))
        if index:
            database.execute(INDEX)
        settle(engine, database)
        yield database


def settle(engine: Engine, database: Database) -> None:
    """Have the server do now what it would do while something is timed, and the disk take what it has."""
    with database.server.connect(database.name) as connection:
        for statement in engine.settle:
            run(connection, statement)
    os.sync()
