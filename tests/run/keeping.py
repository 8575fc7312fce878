"""Runs in chunks that fail on purpose, and how those that go on are watched."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rivet.errors import SourceUnavailable
from rivet.export.pages import Pages
from rivet.plan.scans import Scan
from tests.run.conftest import AnyDatabase
from tests.run.nights import make_events, source_rows
from tests.run.running import by_day, run_one, run_well
from tests.run.trees import Rows, manifests

ROWS = 11
WAYS: dict[str, dict[str, Any]] = {
    "range": {"chunk_column": "id", "chunk_size": 1},
    "page": {"chunk_by_key": ["id"], "chunk_size": 1},
    "composite": {"chunk_by_key": ["created_at", "id"], "chunk_size": 1},
}
STAGED = "_rivet_staging/*/*"
READS = re.compile(r"COPY \(SELECT .*\) TO STDOUT|SELECT rivet\.`id`, rivet\.", re.DOTALL)


@contextmanager
def asked_chunks(failing_at: int | None = None) -> Iterator[list[Scan]]:
    """Collect the chunks that are asked of the source, which goes away at the one of that number."""
    read = Pages.read
    seen: list[Scan] = []

    def reading(pages: Pages, relation: Any, column: Any, scan: Scan) -> Any:
        if len(seen) == failing_at:
            raise SourceUnavailable("the server went away")
        seen.append(scan)
        return read(pages, relation, column, scan)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pages, "read", reading)
        yield seen


def make_indexed_events(database: AnyDatabase, engine: str) -> AnyDatabase:
    """Make a table of a few days, with indexes for each way to cut, and give its database."""
    make_events(database, engine)
    database.execute("CREATE UNIQUE INDEX by_day ON events (created_at, id)")
    return database


def in_chunks(root: Path, way: str, **more: Any) -> dict[str, Any]:
    """Give an export by day that keeps its chunks."""
    return by_day(root, mode="chunked", resume="reuse", **WAYS[way]) | more


def as_one(root: Path, way: str) -> dict[str, Any]:
    """Give an export of all rows as one partition."""
    export = in_chunks(root, way, destination={"type": "local", "path": f"{root}/"})
    return {key: value for key, value in export.items() if not key.startswith("partition_")}


def fail_after(
    directory: Path, database: AnyDatabase, export: dict[str, Any], number: int, **more: Any
) -> list[Scan]:
    """Let a run fail after so many chunks, and give them."""
    with asked_chunks(failing_at=number) as seen:
        outcome = run_one(directory, database.source, export, **more)
    assert (outcome.exit_code, outcome.error) == (3, "the server went away")
    assert len(seen) == number
    return seen


def go_on(directory: Path, database: AnyDatabase, export: dict[str, Any], **more: Any) -> tuple[Any, int]:
    """Let the next run finish, and give its outcome and the number of chunks that it asked for."""
    with asked_chunks() as seen:
        outcome = run_well(directory, database.source, export, validate=True, **more)
    assert outcome.scans == len(seen)
    return outcome, len(seen)


def all_rows(database: AnyDatabase) -> Rows:
    """Give all rows of the table, sorted as `trees` sorts them."""
    return sorted(itertools.chain(*source_rows(database).values()), key=repr)


def moments_of(root: Path) -> dict[str, tuple[str, set[str]]]:
    """Give by label how consistent a partition is, and the runs that have read its rows."""
    return {
        label: (
            manifest["source"]["consistency"],
            {part.get("read_by", manifest["run_id"]) for part in manifest["parts"]},
        )
        for label, manifest in manifests(root).items()
    }
