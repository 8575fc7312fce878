"""The ledger's tables, their version, and the way from each version to the next.

Names begin with `rivet_`, since the database may serve others too. Texts compare by their bytes on every
engine. Times are texts, RFC 3339 in UTC, which sort by time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sqlalchemy as sa

from rivet.errors import LedgerError

_MYSQL = {"mysql_engine": "InnoDB", "mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin"}
MAX_NAME = 255
_ID = sa.String(64)
_TIME = sa.String(40)

_metadata = sa.MetaData()

version_table = sa.Table("rivet_ledger", _metadata, sa.Column("version", sa.Integer, nullable=False))

runs = sa.Table(
    "rivet_runs",
    _metadata,
    sa.Column("run_id", _ID, primary_key=True),
    sa.Column("tool", sa.String(64), nullable=False),
    sa.Column("host", sa.String(MAX_NAME), nullable=False),
    sa.Column("pid", sa.Integer, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("started_at", _TIME, nullable=False, index=True),
    sa.Column("finished_at", _TIME),
    sa.Column("exit_code", sa.Integer),
)

exports = sa.Table(
    "rivet_exports",
    _metadata,
    sa.Column("run_id", _ID, primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("destination", sa.Text, nullable=False),
    sa.Column("status", sa.String(32), nullable=False),
    sa.Column("exit_code", sa.Integer),
    sa.Column("rows_total", sa.BigInteger),
    sa.Column("null_rows", sa.BigInteger),
    sa.Column("partitions", sa.Integer, nullable=False),
    sa.Column("partitions_written", sa.Integer, nullable=False),
    sa.Column("partitions_unchanged", sa.Integer, nullable=False),
    sa.Column("partitions_removed", sa.Integer, nullable=False),
    sa.Column("partitions_kept", sa.Integer, nullable=False),
    sa.Column("bytes_written", sa.BigInteger, nullable=False),
    sa.Column("scans", sa.Integer, nullable=False),
    sa.Column("consistency", sa.String(32)),
    sa.Column("duration_seconds", sa.Double),
    sa.Column("error", sa.Text),
    sa.Column("hint", sa.Text),
)

changes = sa.Table(
    "rivet_partitions",
    _metadata,
    sa.Column("run_id", _ID, primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("value", sa.Text),
    sa.Column("change_made", sa.String(32), nullable=False),
    sa.Column("rows_total", sa.BigInteger),
    sa.Column("size_bytes", sa.BigInteger),
)

_metadata_2 = sa.MetaData()

locks = sa.Table(
    "rivet_locks",
    _metadata_2,
    sa.Column("name", _ID, primary_key=True),
    sa.Column("data", sa.Text, nullable=False),
    sa.Column("version", _ID, nullable=False),
    sa.Column("written_at", sa.Double, nullable=False),  # seconds since 1970 by the database's clock
)

Step = Callable[[sa.Connection], None]


def _create(connection: sa.Connection, metadata: sa.MetaData) -> None:
    if connection.dialect.name == "mysql":
        # Not where the tables stand above: there they would load that dialect for every ledger.
        for table in metadata.tables.values():
            table.dialect_kwargs.update(_MYSQL)
    metadata.create_all(connection)


# The n-th leads from version n to n + 1. A ledger is only ever led forwards.
STEPS: Sequence[Step] = (
    lambda connection: _create(connection, _metadata),
    lambda connection: _create(connection, _metadata_2),
)


def version_of(connection: sa.Connection) -> int | None:
    """Give the version of the tables, or None where there are none."""
    if not sa.inspect(connection).has_table(version_table.name):
        return None
    # No row: whoever began to make the tables did not come to the end.
    version: int | None = connection.scalar(sa.select(sa.func.max(version_table.c.version)))
    return version


def bring_forward(connection: sa.Connection, version: int | None, steps: Sequence[Step] = STEPS) -> None:
    """Lead the tables from a version to the one that this Rivet knows, making them where there are none.

    Raises:
        LedgerError: They are a later Rivet's.
    """
    known = len(steps)
    refuse_newer(version, known)
    if version == known:
        return
    for step in steps[version or 0 :]:
        step(connection)
    connection.execute(version_table.delete())
    connection.execute(version_table.insert().values(version=known))


def refuse_newer(version: int | None, known: int = len(STEPS)) -> None:
    """Leave a later Rivet's tables alone.

    Raises:
        LedgerError: They are a later Rivet's.
    """
    if version is not None and version > known:
        raise LedgerError(
            f"its tables are of version {version}, and this Rivet knows them up to {known}",
            hint="use the Rivet that made them, or another ledger",
        )
