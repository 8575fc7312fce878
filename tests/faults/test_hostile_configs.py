"""Configs that a stranger has had his hands on: an error or a run, and files in its own root."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from urllib.parse import quote

import pytest
import yaml

from tests.faults.mutating import ESCAPES, mutated_bytes, mutated_value
from tests.faults.planted import assert_no_secret
from tests.faults.test_hostile_trees import TABLE, TOLD, assert_no_escape
from tests.run.command import run_command
from tests.run.trees import snapshot
from tests.servers.sqlite import SqliteDatabase

SECRET = "s3cr3t of the c@nfig"
URL = f"postgresql://me:{quote(SECRET, safe='')}@127.0.0.1:1/none"
SOURCES = (
    {"type": "sqlite", "path": "source.db", "retries": 0},
    {"type": "postgres", "url_env": "RIVET_TEST_URL", "retries": 0, "connect_timeout_seconds": 1},
)
CONFIG = {
    "source": SOURCES[0],
    "defaults": {"compression": "zstd", "partition_granularity": "day"},
    "on_error": "continue",
    "state": "off",
    "exports": [
        {
            "name": "events",
            "table": "events",
            "partition_by": "created_at",
            "partition_key": "day",
            "max_partitions": 100,
            "columns": {"note": "string"},
            "destination": {"type": "local", "path": "out/{partition}/", "manifest_name": "manifest.json"},
        },
        {
            "name": "all",
            "query": "SELECT id, note FROM events",
            "destination": {"type": "local", "path": "all"},
        },
    ],
}


@pytest.mark.parametrize(
    ("seed", "examples"), [(1, 40), *(pytest.param(seed, 700, marks=pytest.mark.long) for seed in (2, 3, 4))]
)
def test_any_config_is_run_or_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    examples: int,
) -> None:
    """Bytes or values changed anywhere end in a run or an error, and write nothing above the folder."""
    jail = tmp_path / "above" / "jail"
    jail.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "above" / "outside").write_text("untouched")
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("HOME", str(jail))
    monkeypatch.setenv("RIVET_TEST_URL", URL)
    database = SqliteDatabase(jail / "source.db")
    database.execute(TABLE)
    before = _around(tmp_path, jail)
    rng = random.Random(seed)
    codes = set()
    for number in range(examples):
        good = CONFIG | {"source": SOURCES[number % 5 == 0]}
        if rng.random() < 0.3:
            data = mutated_bytes(rng, yaml.safe_dump(good).encode())
        else:
            document = mutated_value(rng, copy.deepcopy(good))
            data = yaml.safe_dump(document, allow_unicode=rng.random() < 0.5).encode("utf-8", "surrogatepass")
        config = jail / "rivet.yaml"
        config.write_bytes(data)
        command = "check" if number % 3 == 0 else "run"
        seen = snapshot(jail) if command == "check" else {}
        told = run_command(capsys, command, "--config", config, *(["--json"] if number % 2 else []))
        assert told.exit_code in TOLD, (told.lines, data)
        codes.add(told.exit_code)
        assert command == "run" or snapshot(jail) == seen
        assert_no_escape("\n".join(told.lines))
        assert_no_secret("\n".join(told.lines), json.dumps(told.document), secrets=(SECRET,))
        assert _around(tmp_path, jail) == before, data
    assert codes >= {0, 2}


def test_a_name_that_a_terminal_would_obey(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names of exports, tables and columns are told by their escapes."""
    database = SqliteDatabase(tmp_path / "source.db")
    database.execute(f'CREATE TABLE "t{ESCAPES}" ("c{ESCAPES}" TEXT, day DATE)'.replace("\0", ""))
    config = tmp_path / "rivet.yaml"
    export = {
        "name": "n",
        "query": f'SELECT * FROM "t{ESCAPES}"',
        "destination": {"type": "local", "path": "x"},
    }
    others = {
        "table": f"t{ESCAPES}",
        "name": ESCAPES,
        "partition_by": f"c{ESCAPES}",
        "partition_key": ESCAPES,
    }
    for key, value in others.items():
        changed = {k: v for k, v in export.items() if k != "query" or key != "table"} | {key: value}
        config.write_text(json.dumps({"source": database.source, "state": "off", "exports": [changed]}))
        for command in ("check", "run", "plan"):
            told = run_command(capsys, command, "--config", config)
            assert told.exit_code in TOLD
            assert_no_escape("\n".join(told.lines))


def _around(directory: Path, jail: Path) -> dict[str, bytes]:
    inside = f"{jail.relative_to(directory)}/"
    return {name: data for name, data in snapshot(directory).items() if not name.startswith(inside)}
