"""Several scans at once, each with a moment of its own: a connection of one is killed, or the run itself."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Literal

import pymysql
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
Whom = Literal["connection", "run"]


@pytest.mark.parametrize(
    ("whom", "kills"),
    [
        ("connection", 1),
        *(pytest.param(whom, KILLS, marks=pytest.mark.long) for whom in ("connection", "run")),
    ],
)
def test_killed_at_any_moment_the_tree_is_old_or_new(
    tmp_path: Path, mariadb_database: Database, whom: Whom, kills: int
) -> None:
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
    reader, dice = Reader(Directory(root), old, new), random.Random(whom)
    killed = 0
    for number in range(kills):
        shutil.rmtree(root)
        shutil.copytree(before, root)
        # At first when both workers are there, then at any moment.
        connections, seconds = (dice.randint(1, 3), dice.uniform(0, 0.4)) if number else (3, 0.0)
        killed += _is_struck(tmp_path / "rivet.yaml", mariadb_database, whom, connections, seconds)
        reader.look()
        run_well(tmp_path, source, by_day(root))

        assert rows_by_manifest(root) == new, number
        assert_valid(root)
        assert not (root / "_rivet_staging").exists()
    assert killed >= kills // 2


def _is_struck(config: Path, database: Database, whom: Whom, connections: int, seconds: float) -> bool:
    """Run a config, and kill it, or a connection of it, so long after it had so many, unless it has ended."""
    command = [sys.executable, "-m", "rivet", "run", "--config", str(config), "--quiet"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        while running.poll() is None and len(_connections(database)) < connections:
            time.sleep(0.005)
        time.sleep(seconds)
        if whom == "run":
            running.kill()
        else:
            for number in _connections(database)[-1:]:
                with suppress(pymysql.Error):  # it may have gone by itself
                    database.server.execute(f"KILL {number}")
        _, told = running.communicate()
    assert running.returncode in ({0, 3} if whom == "connection" else {0, -signal.SIGKILL}), told
    return running.returncode != 0


def _connections(database: Database) -> list[int]:
    """List the connections to a database, the last one last: it is a worker's, where there are several."""
    rows = database.server.fetch(
        f"SELECT id FROM information_schema.processlist WHERE db = '{database.name}' ORDER BY id"
    )
    return [number for (number,) in rows]
