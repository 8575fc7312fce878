"""The command as users have it: a process of its own, a config in a file, a real server."""

from __future__ import annotations

import json
import re
import signal
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml

from tests.cli.conftest import REAL, Command, environment, finish, start
from tests.servers.database import Database

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \d{8}T\d{6}Z-[0-9a-f]{8} events: .+")


@pytest.fixture
def config(tmp_path: Path, postgres_database: Database) -> Path:
    """Give a config that exports two days and a NULL from PostgreSQL."""
    postgres_database.execute("CREATE TABLE events (id int PRIMARY KEY, at timestamp)")
    postgres_database.execute(
        "INSERT INTO events VALUES (1, '2023-01-01'), (2, '2023-01-02 23:59:59.999999'), (3, NULL)"
    )
    return write_config(tmp_path, postgres_database.source)


def write_config(folder: Path, source: dict[str, Any]) -> Path:
    """Write a config with this source into a folder."""
    destination = {"type": "local", "path": "out/{partition}/"}
    export = {"name": "events", "table": "events", "partition_by": "at", "destination": destination}
    path = folder / "c.yaml"
    path.write_text(
        yaml.safe_dump({"source": source, "exports": [export]}, allow_unicode=True), encoding="utf-8"
    )
    return path


def test_a_run_tells_machines_and_people_the_same(config: Path, tmp_path: Path) -> None:
    """Standard output is the document alone, the summary file is its copy, and stderr has stamped lines."""
    file = tmp_path / "summary.json"

    ended = finish(*REAL, "run", "--config", str(config), "--validate", "--json", "--summary-file", str(file))

    document = json.loads(ended.stdout)
    (export,) = document["exports"]
    assert ended.returncode == document["exit_code"] == 0
    assert file.read_bytes() == ended.stdout
    assert (export["rows"], export["null_rows"], export["partitions"], export["scans"]) == (3, 1, 3, 1)
    assert export["verdict"]["passed"] is True
    lines = ended.stderr.decode().splitlines()
    assert LINE.fullmatch(lines[0])
    assert document["run_id"] in lines[0]
    assert any(line.startswith("events: 3 rows (1 with NULL) in 3 partitions, 1 scan") for line in lines)


def test_the_log_tells_how_each_export_ended(config: Path, tmp_path: Path) -> None:
    """The last line but the ending is `finished`, or `failed` where what landed does not validate."""

    def last_kinds(*more: str) -> list[str]:
        ended = finish(*REAL, "run", "--config", str(config), "--log-format", "json", *more)
        return [json.loads(line)["kind"] for line in ended.stderr.splitlines()][-2:]

    assert last_kinds() == ["finished", "ended"]
    (tmp_path / "out" / "foreign.parquet").write_bytes(b"")
    assert last_kinds("--validate") == ["failed", "ended"]


def test_plan_and_check_write_nothing(rivet: Command, config: Path, tmp_path: Path) -> None:
    """Plan, dry run and check find the same export and leave the disk as it was."""
    plan, dry_run, check = (
        rivet(*command, "--config", str(config), "--json").document["exports"][0]
        for command in (("plan",), ("run", "--dry-run"), ("check",))
    )

    assert plan == dry_run
    assert [p["expected_rows"] for p in plan["partitions"]] == [1, 1, 1]
    assert check["columns"] == plan["columns"]
    assert [p.name for p in tmp_path.iterdir()] == [config.name]


def test_what_landed_validates_by_config_and_by_prefix(rivet: Command, config: Path, tmp_path: Path) -> None:
    """A root, a partition of it, and the export of a config are the same tree; a damaged one exits 4."""
    assert rivet("run", "--config", str(config), "--quiet").err == ""

    for arguments in (
        ("--prefix", str(tmp_path / "out")),
        ("--prefix", str(tmp_path / "out" / "at=2023-01-01")),
        ("--config", str(config)),
        ("--config", str(config), "--prefix", "out/at=2023-01-02"),
    ):
        assert rivet("validate", *arguments).exit_code == 0

    (tmp_path / "out" / "at=2023-01-01" / "_SUCCESS").unlink()
    for arguments in (("--prefix", str(tmp_path / "out")), ("--config", str(config))):
        told = rivet("validate", *arguments)

        assert told.exit_code == 4
        assert "marker_missing" in told.err


def test_a_signal_stops_a_run_that_waits_for_the_server(
    config: Path, tmp_path: Path, postgres_database: Database
) -> None:
    """SIGTERM ends a run that the server keeps waiting: exit 130, a document, nothing on disk."""
    postgres_database.execute("ALTER TABLE events RENAME TO stored")
    postgres_database.execute(
        "CREATE VIEW events AS SELECT stored.* FROM stored, (SELECT pg_advisory_xact_lock_shared(7)) AS wait"
    )
    waiting = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'"
    with (
        postgres_database.connect(autocommit=False) as holder,
        start(*REAL, "run", "--config", str(config), "--json") as process,
    ):
        holder.execute("SELECT pg_advisory_xact_lock(7)")
        deadline = time.monotonic() + 60
        while not postgres_database.fetch(waiting):
            assert time.monotonic() < deadline, "the run never came to the table"
            time.sleep(0.01)

        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)

    document = json.loads(out)
    assert process.returncode == document["exit_code"] == 130
    assert [(e["name"], e["status"], e["exit_code"]) for e in document["exports"]] == [
        ("events", "failed", 130)
    ]
    assert b"Error: events: interrupted" in err
    assert b"Traceback" not in err
    assert [p.name for p in tmp_path.iterdir()] == [config.name]


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_no_secret_leaves_a_refused_run(tmp_path: Path, postgres_database: Database, log_format: str) -> None:
    """A wrong password is told as refused credentials, exit 2, and appears in no form anywhere."""
    password = "wr0ng p@ss/w?rd#1%'\"\\é"
    server = postgres_database.server
    login = {"user": server.user, "password_env": "RIVET_PASSWORD"}
    source = {
        "type": "postgres",
        "host": server.host,
        "port": server.port,
        "database": postgres_database.name,
    }
    config = write_config(tmp_path, source | login)
    file = tmp_path / "summary.json"

    ended = finish(
        *REAL,
        *("run", "--config", str(config), "--json", "--summary-file", str(file), "--log-format", log_format),
        env=environment(RIVET_PASSWORD=password),
    )

    assert ended.returncode == json.loads(ended.stdout)["exit_code"] == 2
    told = (ended.stdout + ended.stderr + file.read_bytes()).decode()
    for form in (password, quote(password), quote(password, safe=""), json.dumps(password)[1:-1], "wr0ng"):
        assert form not in told
