"""Writes runs into the ledger's tables, reads them back, and prunes old ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, fields, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from rivet.config.settings import StateSettings
from rivet.ledger import making
from rivet.ledger.connecting import Database
from rivet.ledger.entries import ChangeEntry, ExportEntry, HistoryEntry, RunEntry
from rivet.ledger.schema import MAX_NAME, bring_forward, changes, exports, refuse_newer, runs, version_of

# What is older is pruned, and so are the oldest above these numbers. docs/history.md states them.
MAX_AGE_DAYS = 400
MAX_RUNS = 10_000
MAX_CHANGES = 100_000

_MAX_TEXT = 10_000  # characters, and MySQL's TEXT takes 64 KiB
_MANY = 500  # bound parameters of one statement: SQLite before 3.32 takes 999


class Ledger:
    """A ledger, which is made when it is first written to with `make`."""

    def __init__(
        self, state: StateSettings, environ: Mapping[str, str], *, wait_seconds: float = 3.0
    ) -> None:
        """Decide where it is, without looking.

        Raises:
            LedgerError: There is no place for it.
        """
        self._database = Database(state, environ, wait_seconds)
        self._is_made = False

    @property
    def label(self) -> str:
        """Say where it is, for people."""
        return self._database.label

    def put(
        self, run: RunEntry, export: ExportEntry | None, *, make: bool, source: Path | None = None
    ) -> None:
        """Write a run, and one of its exports, in place of what is known of them; with its end, prune.

        All of it is one transaction, since a run waits for the last one.

        Args:
            make: Make the ledger where there is none; else nothing is written then.
            source: The file that the run reads, which must not be the ledger.

        Raises:
            LedgerError: It cannot be written.
        """
        self._database.refuse_source(source)
        if self._database.is_missing() and not make:
            return
        if make and not self._is_made:
            making.make(self._database)
            self._is_made = True
        with self._database.writing() as connection:
            version = version_of(connection)
            if version is None:
                return
            bring_forward(connection, version)
            connection.execute(runs.delete().where(runs.c.run_id == run.run_id))
            connection.execute(runs.insert().values(**_stored(asdict(run) | {"host": run.host[:MAX_NAME]})))
            if export is not None:
                _put_export(connection, run.run_id, export)
            if run.finished_at is not None:
                _prune(connection, run.finished_at)

    def recent(
        self,
        limit: int,
        *,
        names: Collection[str] = (),
        trees: Collection[tuple[str, str]] | None = None,
    ) -> list[HistoryEntry] | None:
        """Give the latest exports of runs, the latest first; None where there is no ledger.

        Args:
            names: Only exports of these names; empty: all.
            trees: Only exports of these names and destinations.

        Raises:
            LedgerError: It cannot be read, or a later Rivet made it.
        """
        if self._database.is_missing():
            return None
        with self._database.reading() as connection:
            version = version_of(connection)
            if version is None:
                return None
            refuse_newer(version)
            wanted = sa.select(runs, exports).join(exports, runs.c.run_id == exports.c.run_id)
            if names:
                wanted = wanted.where(exports.c.name.in_([_text(name) for name in names]))
            if trees is not None:
                either = [
                    sa.and_(exports.c.name == _text(name), exports.c.destination == _text(tree))
                    for name, tree in trees
                ]
                wanted = wanted.where(sa.or_(sa.false(), *either))
            newest = (runs.c.started_at.desc(), runs.c.run_id.desc(), exports.c.position.desc())
            rows = connection.execute(wanted.order_by(*newest).limit(limit)).all()
            return [_with_changes(connection, _entry(row)) for row in rows]


def _put_export(connection: sa.Connection, run_id: str, export: ExportEntry) -> None:
    for table in (exports, changes):
        of_export = sa.and_(table.c.run_id == run_id, table.c.position == export.position)
        connection.execute(table.delete().where(of_export))
    values = {f.name: getattr(export, f.name) for f in fields(export) if f.name != "changes"}
    values["rows_total"] = values.pop("rows")
    connection.execute(exports.insert().values(run_id=run_id, **_stored(values)))
    rows = [
        {
            "run_id": run_id,
            "position": export.position,
            "number": number,
            "value": _text(change.value),
            "change_made": change.change,
            "rows_total": change.rows,
            "size_bytes": change.size_bytes,
        }
        for number, change in enumerate(export.changes)
    ]
    if rows:
        connection.execute(changes.insert(), rows)


def _prune(connection: sa.Connection, now: str) -> None:
    moment = datetime.fromisoformat(now) - timedelta(days=MAX_AGE_DAYS)
    oldest = moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    by_age = connection.scalars(sa.select(runs.c.run_id).where(runs.c.started_at < oldest)).all()
    newest = sa.select(runs.c.run_id).order_by(runs.c.started_at.desc(), runs.c.run_id.desc())
    by_count = connection.scalars(newest.offset(MAX_RUNS).limit(MAX_RUNS)).all()
    _remove(connection, {*by_age, *by_count}, (changes, exports, runs))
    total = connection.scalar(sa.select(sa.func.count()).select_from(changes)) or 0
    if total <= MAX_CHANGES:
        return
    counts = (
        sa.select(changes.c.run_id, sa.func.count())
        .select_from(changes.outerjoin(runs, runs.c.run_id == changes.c.run_id))
        .group_by(changes.c.run_id, runs.c.started_at)
        .order_by(runs.c.started_at, changes.c.run_id)
    )
    too_many = set()
    for run_id, count in connection.execute(counts).all():
        if total <= MAX_CHANGES:
            break
        too_many.add(run_id)
        total -= count
    _remove(connection, too_many, (changes,))


def _remove(connection: sa.Connection, run_ids: Collection[str], tables: tuple[sa.Table, ...]) -> None:
    listed = sorted(run_ids)
    for start in range(0, len(listed), _MANY):
        for table in tables:
            connection.execute(table.delete().where(table.c.run_id.in_(listed[start : start + _MANY])))


def _entry(row: sa.Row[Any]) -> HistoryEntry:
    found = row._mapping  # noqa: SLF001 - its public name for rows by column
    run = RunEntry(**{f.name: found[runs.c[f.name]] for f in fields(RunEntry)})
    names = [f.name for f in fields(ExportEntry) if f.name not in ("changes", "rows")]
    values = {name: found[exports.c[name]] for name in names}
    return HistoryEntry(run, ExportEntry(rows=found[exports.c.rows_total], **values))


def _with_changes(connection: sa.Connection, entry: HistoryEntry) -> HistoryEntry:
    of_export = sa.and_(changes.c.run_id == entry.run.run_id, changes.c.position == entry.export.position)
    rows = connection.execute(changes.select().where(of_export).order_by(changes.c.number)).all()
    made = tuple(ChangeEntry(r.value, r.change_made, r.rows_total, r.size_bytes) for r in rows)
    return replace(entry, export=replace(entry.export, changes=made))


def _stored(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _text(value) if isinstance(value, str) else value for key, value in values.items()}


def _text(text: str | None) -> str | None:
    """Make a text one that every engine stores: no lone surrogates, no zero characters, not too long."""
    if text is None:
        return None
    return text[:_MAX_TEXT].replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()
