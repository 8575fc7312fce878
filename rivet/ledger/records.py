"""Small records in the ledger's database, which are changed on a condition: what a lock is made of.

Each is one row. A condition is the row's version in the statement that changes it, so of many that try one
wins, at whatever isolation; ages are told by the database's clock, which writes and reads the times alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import sqlalchemy as sa

from rivet.config.settings import StateSettings
from rivet.errors import LedgerError, LedgerUnavailable, ObjectNotFound
from rivet.ledger.connecting import Database
from rivet.ledger.making import make
from rivet.ledger.schema import STEPS, locks, refuse_newer, version_of

_ATTEMPTS = 5
# A deadlock, and a transaction that another was faster than: one of the two is told to try again.
_TRY_AGAIN = ("40001", "40P01", 1213)
_FORGOTTEN_SECONDS = 400 * 86_400.0
# The present in seconds since 1970. Of MySQL no time of a zone: an hour that comes twice tells no age.
_NOW = {
    "postgresql": "EXTRACT(EPOCH FROM clock_timestamp())",
    "mysql": "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) / 1e6",
    "sqlite": "(julianday('now') - 2440587.5) * 86400.0",
}

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Kept:
    """A record as it stood at one moment."""

    data: bytes
    version: str


class LedgerRecords:
    """Records of text in the table `rivet_locks`; may be used by several threads.

    What fails raises `LedgerError`, after some seconds at most.

    Args:
        source: The file that the run reads, which must not be the ledger.
        wait_seconds: How long one lock or one answer of the database is waited for.
    """

    def __init__(
        self,
        state: StateSettings,
        environ: Mapping[str, str],
        *,
        source: Path | None = None,
        wait_seconds: float,
    ) -> None:
        self._database = Database(state, environ, wait_seconds)
        self._source = source
        self._wait_seconds = wait_seconds
        self._now: sa.ColumnElement[float] = sa.literal_column(_NOW[self._database.dialect])
        self._is_made = False

    @property
    def label(self) -> str:
        """Say which database it is, for people."""
        return self._database.label

    def inspect(self, name: str, limit_bytes: int | None = None) -> Kept:
        """Look at a record, or raise `ObjectNotFound`."""
        row = self._row(name, locks.c.data, locks.c.version)
        return Kept(row.data.encode()[:limit_bytes], row.version)

    def age_seconds(self, name: str) -> float:
        """Tell how long ago a record was written, or raise `ObjectNotFound`."""
        row = self._row(name, (self._now - locks.c.written_at).label("age"))
        return max(0.0, float(row.age))

    def create(self, name: str, data: bytes, *, private: bool = False) -> str | None:  # noqa: ARG002
        """Write a record where there is none; who may read it is the database's to say."""
        version = uuid4().hex

        def insert(connection: sa.Connection) -> bool:
            connection.execute(locks.delete().where(locks.c.written_at < self._now - _FORGOTTEN_SECONDS))
            try:
                with connection.begin_nested():
                    connection.execute(locks.insert().values(name=name, **self._written(data, version)))
            except sa.exc.IntegrityError:
                return False
            return True

        return version if self._change(insert) else None

    def replace(self, name: str, data: bytes, version: str, *, private: bool = False) -> str | None:  # noqa: ARG002
        """Write a record where that version still stands."""
        new = uuid4().hex
        update = locks.update().where(_is(name, version)).values(**self._written(data, new))
        return new if self._change(lambda connection: connection.execute(update).rowcount == 1) else None

    def remove(self, name: str, version: str) -> bool:
        """Delete a record where that version still stands."""
        delete = locks.delete().where(_is(name, version))
        return self._change(lambda connection: connection.execute(delete).rowcount == 1)

    def _written(self, data: bytes, version: str) -> dict[str, Any]:
        return {"data": data.decode(), "version": version, "written_at": self._now}

    def _row(self, name: str, *columns: sa.ColumnElement[Any]) -> sa.Row[Any]:
        def select() -> sa.Row[Any] | None:
            self._database.refuse_source(self._source)
            if self._database.is_missing():
                return None
            with self._database.reading() as connection:
                version = version_of(connection)
                refuse_newer(version)
                if version != len(STEPS):
                    return None
                return connection.execute(sa.select(*columns).where(locks.c.name == name)).one_or_none()

        row = self._bounded(select)
        if row is None:
            raise ObjectNotFound(f"there is no {name!r} in {self.label}")
        return row

    def _change(self, change: Callable[[sa.Connection], bool]) -> bool:
        def work() -> bool:
            self._database.refuse_source(self._source)
            if not self._is_made:
                make(self._database)
                self._is_made = True
            with self._database.writing() as connection:
                return change(connection)

        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._bounded(work)
            except LedgerError as error:
                if attempt == _ATTEMPTS or not _is_to_be_tried_again(error):
                    raise
        raise AssertionError("a change neither ended nor failed")

    def _bounded(self, work: Callable[[], Result]) -> Result:
        """Do work on a thread that is left behind where the database says nothing at all.

        Raises:
            LedgerUnavailable: It has not answered for as long as connecting and asking may take.
        """
        results: list[Result] = []
        failures: list[BaseException] = []

        def do() -> None:
            try:
                results.append(work())
            except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
                failures.append(error)

        seconds = self._wait_seconds * 3
        thread = threading.Thread(target=do, name="rivet-ledger-lock", daemon=True)
        thread.start()
        thread.join(seconds)
        if failures:
            raise failures[0]
        if not results:
            raise LedgerUnavailable(f"it did not answer within {seconds:g} seconds")
        return results[0]


def _is(name: str, version: str) -> sa.ColumnElement[bool]:
    return sa.and_(locks.c.name == name, locks.c.version == version)


def _is_to_be_tried_again(error: LedgerError) -> bool:
    cause = error.__cause__
    original = cause.orig if isinstance(cause, sa.exc.DBAPIError) else None
    codes = (getattr(original, "sqlstate", None), *getattr(original, "args", ())[:1])
    return any(code in _TRY_AGAIN for code in codes)
