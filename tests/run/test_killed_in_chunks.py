"""A run in chunks that is killed at any moment: old or new to readers, and the next run ends right.

With `resume: reuse` the server's own log of statements says that no finished chunk was read again.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from glob import glob
from itertools import product
from pathlib import Path

import pytest

from tests.faults.places import Directory
from tests.faults.watching import Reader, Watch
from tests.run.conftest import AnyDatabase
from tests.run.keeping import READS, ROWS, STAGED, in_chunks, make_indexed_events
from tests.run.nights import assert_valid, export_file, source_rows
from tests.run.running import run_well, settings
from tests.run.trees import rows_by_manifest
from tests.servers.database import Database

KILLS = 50
NOTES = "_rivet_staging/*/*.json"


@pytest.fixture
def events(database: AnyDatabase, engine: str) -> AnyDatabase:
    """Give a table of a few days, with indexes for each way to cut."""
    return make_indexed_events(database, engine)


@pytest.mark.parametrize(
    ("engine", "way", "resume", "parallel", "kills"),
    [
        ("postgres", "range", "reuse", 2, 1),
        ("mariadb", "page", "reuse", 1, 1),
        ("postgres", "page", "redo", 1, 1),
        *(
            pytest.param(engine, way, resume, parallel, KILLS, marks=pytest.mark.long)
            for engine, way, resume, parallel in product(
                ("postgres", "mariadb"), ("range", "page"), ("reuse", "redo"), (1, 2)
            )
            if engine == "postgres" or parallel == 1  # MariaDB's chunks share the snapshot of one connection
        ),
    ],
)
def test_killed_at_any_moment_no_finished_chunk_is_read_again(
    tmp_path: Path, events: Database, way: str, resume: str, parallel: int, kills: int
) -> None:
    """A reader that loops sees the old rows or the new ones, and who goes on asks for what was not noted."""
    root, source = tmp_path / "tree", {**events.source, "parallel": parallel}
    export = in_chunks(root, way, resume=resume)
    assert run_well(tmp_path, source, export).scans_at_once == parallel
    before = tmp_path / "before"
    shutil.copytree(root, before)
    old = source_rows(events)
    events.execute("UPDATE events SET note = 'new'")
    new = source_rows(events)
    settings(tmp_path, source, export)
    reader = Reader(Directory(root), old, new)
    dice, staged = random.Random(kills), NOTES if resume == "reuse" else STAGED
    killed = 0
    for _ in range(kills):
        _restore(before, root)
        with Watch(reader):
            # Whatever it has come to by then: only what is noted counts.
            killed += _is_killed(tmp_path / "rivet.yaml", dice.uniform(0, ROWS), root, staged)
            reader.look()
            can_go_on = resume == "reuse" and "pending" in export_file(root)
            left = ROWS - (len(_noted(root)) if can_go_on else 0)
            with events.recording() as statements:
                run_well(tmp_path, source, export)

        assert len([text for text in statements if READS.match(text)]) == left
        assert rows_by_manifest(root) == new
        assert_valid(root)
        assert not (root / "_rivet_staging").exists()
    assert killed >= kills // 2


def _restore(before: Path, root: Path) -> None:
    shutil.rmtree(root)
    shutil.copytree(before, root)


def _is_killed(config: Path, moment: float, root: Path, staged: str) -> bool:
    """Run a config, and kill it once so many files are staged, or a moment later, unless it has ended."""
    command = [sys.executable, "-m", "rivet", "run", "--config", str(config), "--quiet"]
    with subprocess.Popen(command) as running:
        # A glob of pathlib fails where a directory goes away meanwhile.
        while running.poll() is None and len(glob(staged, root_dir=root)) < int(moment):  # noqa: PTH207
            time.sleep(0.001)
        time.sleep((moment % 1) * 0.02)
        running.kill()
    return running.returncode < 0


def _noted(root: Path) -> set[tuple[str, str]]:
    """Give the chunks that a killed run has noted whole: of which partition, and which."""
    noted = set()
    for path in root.glob(NOTES):
        with suppress(json.JSONDecodeError):
            note = json.loads(path.read_text())
            noted.add((note["path"], str(note["chunk"])))
    return noted
