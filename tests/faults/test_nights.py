"""Many nights on end over a table that never rests: each tree is a snapshot of it, and nothing piles up."""

from __future__ import annotations

import gc
import io
import json
import os
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rivet.events import Event
from rivet.ledger import store as ledger_store
from rivet.run import run
from tests.faults.apart import ApartDatabase, run_apart
from tests.faults.changing import EXTRA, VERSION_ID, Changing, ChangingTable, Row
from tests.faults.places import Directory, Place, Store, content
from tests.faults.watching import EXPORT_FILE, marker_of
from tests.run.conftest import AnyDatabase
from tests.run.running import by_day, settings
from tests.run.trees import NULL
from tests.servers.sqlite import SqliteDatabase

SHORT, LONG, IN_A_STORE = 15, 200, 60
WARM = 8
"""Nights after which nothing grows any more."""
LEDGER_RUNS = 5


@dataclass(frozen=True)
class Use:
    """What a night has left in use."""

    objects: int
    size_bytes: int
    ledger_bytes: int
    descriptors: int
    threads: int
    temporary_files: int


class Nights:
    """Runs night after night, in this process."""

    def __init__(self, directory: Path, table: ChangingTable, place: Place) -> None:
        self.changes = 0
        self._directory = directory
        self._table = table
        self._place = place
        self._export = by_day(Path(), destination=place.hold({}), vanished="remove")

    def pass_one(self, number: int) -> Use:
        """Change the table, run while it goes on changing, and hold the tree to what the run saw."""
        self._table.change()
        if number % 4 == 3:
            self._table.alter()
        first = self._table.version
        source = self._table.database.source | {"retries": 9}
        warnings: list[str] = []

        def listen(event: Event) -> None:
            if event.kind in {"warning", "failed"}:
                warnings.append(event.message)

        with Changing(self._table) as changing:
            config = settings(self._directory, source, self._export, environ=self._place.environment)
            outcome = run(config, listener=listen, sleep=lambda _: None)
        self.changes += changing.changes
        assert (outcome.cause, outcome.exit_code) == (None, 0), warnings
        objects = content(self._place)
        self._assert_snapshot(objects, first)
        gc.collect()
        ledger = Path(os.environ["XDG_STATE_HOME"]) / "rivet" / "ledger.sqlite"
        return Use(
            len(objects),
            sum(map(len, objects.values())),
            ledger.stat().st_size,
            len(os.listdir("/proc/self/fd")),  # noqa: PTH208 - numbers, not paths
            threading.active_count(),
            sum(1 for _ in Path(tempfile.gettempdir()).iterdir()),
        )

    def _assert_snapshot(self, objects: dict[str, bytes], first: int) -> None:
        """Assert that a tree is one version of the table, which it had while the run was at work."""
        seen: dict[int, Row] = {}
        listed = {EXPORT_FILE}
        for name in (name for name in objects if name.endswith("/manifest.json")):
            directory = name.rpartition("/")[0]
            assert objects[f"{directory}/_SUCCESS"] == marker_of(objects[name])
            listed |= {name, f"{directory}/_SUCCESS"}
            for part in json.loads(objects[name])["parts"]:
                listed.add(f"{directory}/{part['path']}")
                for row in _rows(objects[f"{directory}/{part['path']}"]):
                    assert directory == f"created_at={_label(row)}"
                    assert row["id"] not in seen
                    seen[row.pop("id")] = row
        assert set(objects) == listed
        version = int(seen[VERSION_ID]["note"])
        assert first <= version <= self._table.version
        expected = self._table.at(version)
        has_extra = EXTRA in seen[VERSION_ID]
        assert seen == {key: _as_exported(row, has_extra=has_extra) for key, row in expected.items()}


def _rows(part: bytes) -> list[Row]:
    rows: list[Row] = pq.ParquetFile(io.BytesIO(part)).read().to_pylist()
    return rows


def _label(row: Row) -> str:
    return NULL if row["created_at"] is None else str(row["created_at"].date())


def _as_exported(row: Row, *, has_extra: bool) -> Row:
    told = {name: value for name, value in row.items() if name != EXTRA}
    return told | {EXTRA: row.get(EXTRA)} if has_extra else told


@pytest.mark.parametrize(
    ("engine", "destination", "nights"),
    [
        ("postgres", "local", SHORT),
        pytest.param("postgres", "local", LONG, marks=pytest.mark.long),
        pytest.param("mariadb", "s3", IN_A_STORE, marks=pytest.mark.long),
        pytest.param("sqlite", "gcs", IN_A_STORE, marks=pytest.mark.long),
    ],
)
def test_nights(
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
    destination: str,
    nights: int,
) -> None:
    """Each tree is a version of the table; objects, bytes, ledger, descriptors and threads do not grow."""
    database: AnyDatabase | ApartDatabase = request.getfixturevalue(f"{engine}_database")
    if destination != "local":
        request.getfixturevalue(f"{destination}_bucket")
    # From here on, since servers have directories of their own.
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(ledger_store, "MAX_RUNS", LEDGER_RUNS)
    places: dict[str, Callable[[], Place]] = {
        "local": lambda: Directory(tmp_path / "tree"),
        "s3": lambda: Store(request.getfixturevalue("s3_bucket")),
        "gcs": lambda: Store(request.getfixturevalue("gcs_bucket")),
    }
    with ExitStack() as stack:
        if isinstance(database, SqliteDatabase):
            database = stack.enter_context(run_apart(database))
        table = ChangingTable(database, engine)
        running = Nights(tmp_path, table, places[destination]())
        used = [running.pass_one(number) for number in range(nights)]

    assert running.changes > nights
    assert table.altered > nights // 8
    warm, rest = used[:WARM], used[WARM:]
    assert max(use.objects for use in rest) <= 1 + 3 * 11  # the export file, ten days and NULL
    assert {use.temporary_files for use in used} == {0}
    for what in ("size_bytes", "ledger_bytes"):
        assert max(_all(what, rest)) < 2 * max(_all(what, warm)), what
    for what in ("descriptors", "threads"):
        assert max(_all(what, rest)) <= max(_all(what, warm)) + 2, what


def _all(what: str, used: list[Use]) -> list[Any]:
    return [getattr(use, what) for use in used]
