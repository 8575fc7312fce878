"""Several exports in one config: who runs after a failure, which exit code counts, and how it is all told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rivet.events import Event
from rivet.run import run
from tests.cli.conftest import REAL, finish
from tests.run.command import Told, run_command, write_config
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.nights import assert_equal, assert_valid, make_events
from tests.run.running import by_day, settings
from tests.run.trees import snapshot
from tests.servers.sqlite import SqliteDatabase


def _export(directory: Path, name: str, **more: Any) -> dict[str, Any]:
    return by_day(directory / "out" / name, name=name, **more)


def _config(directory: Path, database: AnyDatabase, *names: str, **more: Any) -> Path:
    """Write a config of exports that are good, have a `lost` table (2) or a `broken` tree (4), by name."""
    exports = []
    for name in names:
        exports.append(_export(directory, name, table="evnts" if name.startswith("lost") else "events"))
        if name.startswith("broken"):
            (directory / "out" / name).mkdir(parents=True)
            (directory / "out" / name / "_rivet_export.json").write_text("{}")
    return write_config(directory, database.source, *exports, **more)


def _ended(told: Told) -> list[tuple[str, str, int]]:
    return [(e["name"], e["status"], e["exit_code"]) for e in told.exports]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_failed_export_does_not_keep_others_from_running(
    tmp_path: Path, database: AnyDatabase, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With `continue`, the default, all run; the gravest code is the process's, and each has its own line."""
    make_events(database, engine)
    config = _config(tmp_path, database, "first", "lost", "broken", "last")

    told = run_command(capsys, "run", "--config", config, "--validate", "--json")

    assert told.exit_code == 4
    assert _ended(told) == [
        ("first", "complete", 0),
        ("lost", "failed", 2),
        ("broken", "failed", 4),
        ("last", "complete", 0),
    ]
    assert [line.partition(": ")[2].partition(":")[0] for line in told.errors[::2]] == ["lost", "broken"]
    assert not (tmp_path / "out" / "lost").exists()
    for name in ("first", "last"):
        assert_equal(tmp_path / "out" / name, database)


@pytest.mark.parametrize("engine", ENGINES)
def test_stop_skips_what_comes_after_a_failure(
    tmp_path: Path, database: AnyDatabase, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With `stop` later exports are skipped and their trees are as they were; what ended before stays."""
    make_events(database, engine)
    config = _config(tmp_path, database, "first", "lost", "broken", "last", on_error="stop")
    before = snapshot(tmp_path / "out" / "broken")

    told = run_command(capsys, "run", "--config", config, "--json")

    assert told.exit_code == 2
    assert _ended(told) == [
        ("first", "complete", 0),
        ("lost", "failed", 2),
        ("broken", "skipped", 0),
        ("last", "skipped", 0),
    ]
    assert "last: skipped, since the run stopped before it" in told.lines
    assert snapshot(tmp_path / "out" / "broken") == before
    assert not (tmp_path / "out" / "last").exists()
    assert_equal(tmp_path / "out" / "first", database)


@pytest.mark.parametrize(
    ("names", "exit_code"),
    [
        (("first",), 0),
        (("lost", "first"), 2),
        (("first", "broken"), 4),
        (("lost", "broken"), 4),
        (("broken", "lost"), 4),
    ],
)
def test_the_gravest_exit_code_counts(
    tmp_path: Path,
    sqlite_database: SqliteDatabase,
    capsys: pytest.CaptureFixture[str],
    names: tuple[str, ...],
    exit_code: int,
) -> None:
    """Integrity comes before what must change first, whichever came first in the run."""
    make_events(sqlite_database, "sqlite")
    config = _config(tmp_path, sqlite_database, *names)

    assert run_command(capsys, "run", "--config", config).exit_code == exit_code


def test_an_unreachable_server_may_be_tried_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where nobody listens every export fails with 3, and no directory is made."""
    source = {"type": "postgres", "url": "postgresql://rivet:pw@127.0.0.1:1/shop", "retries": 0}
    config = write_config(tmp_path, source, *(_export(tmp_path, name) for name in ("first", "last")))

    told = run_command(capsys, "run", "--config", config, "--json")

    assert told.exit_code == 3
    assert _ended(told) == [("first", "failed", 3), ("last", "failed", 3)]
    assert not (tmp_path / "out").exists()


def test_named_exports_run_alone(
    tmp_path: Path, sqlite_database: SqliteDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--export` chooses, in the config's order; a name that is not there runs nothing and is told."""
    make_events(sqlite_database, "sqlite")
    config = _config(tmp_path, sqlite_database, "first", "lost", "last")

    told = run_command(capsys, "run", "--config", config, "--export", "last", "--export", "first", "--json")
    assert _ended(told) == [("first", "complete", 0), ("last", "complete", 0)]
    before = snapshot(tmp_path)

    told = run_command(capsys, "run", "--config", config, "--export", "first", "--export", "lat", "--json")
    assert (told.exit_code, told.exports) == (2, [])
    assert told.errors == ["Error: --export: no export 'lat' in the config", "Hint: did you mean 'last'?"]
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("names", [("first", "last"), ("first", "lost")])
def test_the_summary_file_is_the_document(
    tmp_path: Path, sqlite_database: SqliteDatabase, names: tuple[str, ...]
) -> None:
    """A quiet process prints nothing on success and the errors otherwise; the file tells it all each time."""
    make_events(sqlite_database, "sqlite")
    config, file = _config(tmp_path, sqlite_database, *names), tmp_path / "summary.json"
    file.write_text("of the night before")

    ended = finish(*REAL, "run", "--config", str(config), "--quiet", "--json", "--summary-file", str(file))

    assert file.read_bytes() == ended.stdout
    document = json.loads(ended.stdout)
    assert document["exit_code"] == ended.returncode == (2 if "lost" in names else 0)
    assert [e["name"] for e in document["exports"]] == list(names)
    lines = ended.stderr.decode().splitlines()
    if ended.returncode:
        assert lines == [
            "Error: lost: no table 'evnts' in the source",
            "Hint: did you mean 'events'?",
        ]
    else:
        assert lines == []
    assert_valid(tmp_path / "out" / "first")


def test_a_log_of_json_lines_tells_the_whole_run(tmp_path: Path, postgres_database: AnyDatabase) -> None:
    """Each line is an object with time, run id, level and kind; the last holds the document itself."""
    make_events(postgres_database, "postgres")
    config = _config(tmp_path, postgres_database, "first", "lost")

    ended = finish(*REAL, "run", "--config", str(config), "--log-format", "json", "--json")

    document = json.loads(ended.stdout)
    lines = [json.loads(line) for line in ended.stderr.splitlines()]
    assert all(
        list(line) == ["time", "run_id", "level", "export", "kind", "message", "facts"] for line in lines
    )
    assert {line["run_id"] for line in lines} == {document["run_id"]}
    assert [line["time"] for line in lines] == sorted(line["time"] for line in lines)
    kinds = {name: [e["kind"] for e in lines if e["export"] == name] for name in ("first", "lost", None)}
    # Each kind when it first came; progress is told where a run takes its time.
    order = [kind for kind in dict.fromkeys(kinds["first"]) if kind != "progress"]
    assert order == ["started", "warning", "planned", "published", "finished"]
    assert kinds["lost"] == ["started", "failed"]
    assert kinds[None] == ["ended"]
    (failed,) = (line for line in lines if line["kind"] == "failed")
    assert (failed["level"], failed["facts"]["exit_code"]) == ("error", 2)
    (planned,) = (line for line in lines if line["kind"] == "planned")
    assert (planned["facts"]["rows"], planned["facts"]["null_rows"], planned["facts"]["scans"]) == (11, 2, 1)
    (published,) = (line for line in lines if (line["kind"], line["export"]) == ("published", "first"))
    first = next(e for e in document["exports"] if e["name"] == "first")
    assert published["facts"] == {
        "written": first["partitions_written"],
        "unchanged": first["partitions_unchanged"],
        "removed": first["partitions_removed"],
        "bytes_written": first["bytes_written"],
    }
    assert lines[-1]["facts"] == document


@pytest.mark.parametrize(("raised", "exit_code"), [(KeyboardInterrupt(), 130), (ValueError("a bug"), 1)])
def test_an_export_that_has_ended_is_told_whatever_its_telling_meets(
    tmp_path: Path, sqlite_database: SqliteDatabase, raised: BaseException, exit_code: int
) -> None:
    """A listener that raises ends the run, and loses neither what was published nor what was to come."""
    make_events(sqlite_database, "sqlite")
    config = settings(tmp_path, sqlite_database.source, *(_export(tmp_path, n) for n in ("first", "last")))

    def listen(event: Event) -> None:
        if event.kind == "finished":
            raise raised

    outcome = run(config, listener=listen)

    assert (outcome.exit_code, outcome.cause) == (exit_code, raised)
    assert [(e.name, e.status, e.exit_code) for e in outcome.exports] == [
        ("first", "complete", 0),
        ("last", "skipped", 0),
    ]
    assert_equal(tmp_path / "out" / "first", sqlite_database)


def test_an_export_that_is_asked_for_needs_no_variable_of_another(
    tmp_path: Path, sqlite_database: SqliteDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command that takes `--export` serves it without them; without `--export` they are named."""
    make_events(sqlite_database, "sqlite")
    far = _export(tmp_path, "far", destination={"type": "local", "path": "${env:RIVET_GONE}/{partition}/"})
    config = write_config(tmp_path, sqlite_database.source, _export(tmp_path, "near"), far)

    for command in (["check"], ["plan"], ["run"], ["validate"], ["run", "--validate"]):
        told = run_command(capsys, *command, "--config", config, "--export", "near", "--json")
        assert (told.exit_code, [e["name"] for e in told.exports]) == (0, ["near"])

        told = run_command(capsys, *command, "--config", config, "--json")
        assert told.exit_code == 2
        assert any("'RIVET_GONE' is not set" in line for line in told.lines)
    assert_equal(tmp_path / "out" / "near", sqlite_database)
