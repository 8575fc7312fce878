"""Several scans at once, each with a moment of its own, in a run that is killed at any moment."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.faults.places import Directory
from tests.faults.watching import Reader, by_label
from tests.run.nights import assert_valid
from tests.run.running import by_day, run_well
from tests.run.trees import rows_by_manifest
from tests.servers.database import Database

ROWS = 24_000
"""Enough for each of two connections to be worth it."""
KILLS = 50


@pytest.mark.long
def test_killed_at_any_moment_the_tree_is_old_or_new(tmp_path: Path, mariadb_database: Database) -> None:
    """Each partition is the old one or the new one; the next run ends right."""
    mariadb_database.execute(
        "CREATE TABLE events (id int, created_at datetime, note varchar(99), PRIMARY KEY (created_at, id));"
        f"INSERT INTO events SELECT seq, '2024-02-26' + INTERVAL seq * 12 DIV {ROWS + 1} DAY,"
        f" REPEAT('o', 99) FROM seq_1_to_{ROWS}; ANALYZE TABLE events"
    )
    root, before = tmp_path / "tree", tmp_path / "before"
    source = mariadb_database.source | {"parallel": 2, "consistency": "statement"}
    assert run_well(tmp_path, source, by_day(root)).scans_at_once == 2
    shutil.copytree(root, before)
    old = by_label(mariadb_database.fetch("SELECT * FROM events"))
    mariadb_database.execute("UPDATE events SET note = REPEAT('n', 99)")
    new = by_label(mariadb_database.fetch("SELECT * FROM events"))
    reader, dice = Reader(Directory(root), old, new), random.Random(KILLS)
    killed = 0
    for number in range(KILLS):
        shutil.rmtree(root)
        shutil.copytree(before, root)
        killed += _is_killed(tmp_path / "rivet.yaml", mariadb_database, dice.uniform(0, 0.5))
        reader.look()
        run_well(tmp_path, source, by_day(root))

        assert rows_by_manifest(root) == new, number
        assert_valid(root)
        assert not (root / "_rivet_staging").exists()
    assert killed > 0


def _is_killed(config: Path, database: Database, seconds: float) -> bool:
    """Run a config, and kill it so long after it has connected, unless it has ended."""
    command = [sys.executable, "-m", "rivet", "run", "--config", str(config), "--quiet"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        while running.poll() is None and not _connections(database):
            time.sleep(0.005)
        time.sleep(seconds)
        running.kill()
        _, told = running.communicate()
    assert running.returncode in (0, -signal.SIGKILL), told
    return running.returncode != 0


def _connections(database: Database) -> int:
    """Count the connections to a database."""
    where = f"WHERE db = '{database.name}'"
    ((number,),) = database.server.fetch(f"SELECT count(*) FROM information_schema.processlist {where}")
    return int(number)
