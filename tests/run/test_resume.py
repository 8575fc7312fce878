"""With `resume: reuse` a run keeps what a failed one has published, and reads the rest alone."""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from rivet.attempt.ahead import ReadAhead
from rivet.errors import DestinationUnavailable
from rivet.plan.scans import Reach, Scan
from rivet.publish.steps import Steps
from rivet.run import run
from tests.run import running
from tests.run.buckets import STORES, Bucket, copied, export
from tests.run.command import run_command, write_config
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.fake_source import FakeSource, Fault
from tests.run.nights import SECOND_NIGHT, assert_equal, assert_valid, export_file, make_events, source_rows
from tests.run.running import by_day, run_one, run_well, settings
from tests.run.test_kill import FIRST_NIGHT, _ask, _driver, _source_rows
from tests.run.trees import Rows, manifests, rows_by_glob, rows_by_manifest
from tests.servers.database import Database
from tests.servers.sqlite import SqliteDatabase

CHANGED = ("2023-01-02", "2023-01-05", "2023-01-06", "2023-01-09")
"""Days that the second night writes, in the order in which they are published; NULL and another vanish."""
THIRD_NIGHT = "UPDATE events SET note = 'third'"


@pytest.fixture(autouse=True)
def _one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Publish each partition in a wave of its own, so that a run can fail between any two."""
    monkeypatch.setattr("rivet.publish.publisher._WAVE_PARTITIONS", 1)


@contextmanager
def _failing_at(number: int) -> Iterator[None]:
    """Let publishing fail at the partition of that number, and at all after it."""
    take, numbers = Steps.take, itertools.count()

    def failing(steps: Steps, group: Any) -> Any:
        if next(numbers) >= number:
            raise DestinationUnavailable("the disk is full")
        return take(steps, group)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Steps, "take", failing)
        yield


@contextmanager
def _scans() -> Iterator[list[Scan]]:
    """Collect the scans that read the source."""
    read, seen = ReadAhead.read, []

    def reading(ahead: ReadAhead, described: Any, scan: Scan, on_read: Callable[[int], None]) -> Any:
        seen.append(scan)
        return read(ahead, described, scan, on_read)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReadAhead, "read", reading)
        yield seen


def _recording(database: AnyDatabase) -> AbstractContextManager[list[str]]:
    """Collect the statements that a server logs; SQLite has no log."""
    return nullcontext([]) if isinstance(database, SqliteDatabase) else database.recording()


def _runs(export: dict[str, Any]) -> dict[str, str]:
    return {e["value"]: e["run_id"] for e in export["partitions"]}


def _assert_mixed(root: Path, kept: dict[str, Rows], database: AnyDatabase) -> None:
    """Assert that a tree is the table, but for what was kept, and that its export file says so."""
    expected = source_rows(database) | kept
    assert rows_by_manifest(root) == expected
    assert rows_by_glob(root) == sorted(itertools.chain(*expected.values()), key=repr)
    export = export_file(root)
    assert (export["status"], export["source"]["consistency"]) == ("complete", "none" if kept else "snapshot")
    assert "unfinished_runs" not in export
    assert_valid(root)


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_failed_run_has_published_is_not_read_again(
    tmp_path: Path, database: AnyDatabase, engine: str, indexed: bool
) -> None:
    """Wherever publishing failed, the next run reads what is missing, and the tree is of both runs."""
    make_events(database, engine)
    if indexed:
        database.execute("CREATE INDEX by_day ON events (created_at)")
    before = tmp_path / "before"
    run_well(tmp_path, database.source, by_day(before))
    first_run = _runs(export_file(before))
    database.execute(SECOND_NIGHT)
    second = source_rows(database)
    trees = [tmp_path / f"failed at {number}" for number in range(len(CHANGED))]
    for number, root in enumerate(trees):
        shutil.copytree(before, root)
        with _failing_at(number):
            failed = run_one(tmp_path, database.source, by_day(root))
        assert (failed.exit_code, failed.error) == (3, "the disk is full")
    database.execute(THIRD_NIGHT)

    for number, root in enumerate(trees):
        published = CHANGED[:number]
        left = export_file(root)
        (unfinished,) = left["unfinished_runs"]

        with _scans() as scans, _recording(database) as statements:
            outcome = run_well(tmp_path, database.source, by_day(root, resume="reuse"))

        # What the failed run found unchanged it has confirmed; the third night changes that, too.
        unchanged = [label for label in second if label in first_run and label not in CHANGED]
        kept = [*published, *unchanged]
        assert outcome.partitions_unread == len(kept)
        _assert_mixed(root, {label: second[label] for label in kept}, database)
        runs = _runs(export_file(root))
        assert {runs[label] for label in published} <= {unfinished["run_id"]}
        assert {label: runs[label] for label in unchanged} == {label: first_run[label] for label in unchanged}
        assert len({run for label, run in runs.items() if label not in kept} - {unfinished["run_id"]}) == 1
        if indexed:
            begun_at = re.findall(r">= [A-Z]*\s*'(\d{4}-\d\d-\d\d)", "\n".join(statements))
            assert not set(begun_at).intersection(kept)
            assert set(begun_at).intersection(CHANGED[number:]) or engine == "sqlite"
            assert all(s.reach is Reach.RANGE for s in scans)
            assert sum(s.expected_rows or 0 for s in scans) == sum(len(second[x]) for x in CHANGED[number:])

        again = run_well(tmp_path, database.source, by_day(root, resume="reuse"))
        assert (again.partitions_unread, again.consistency) == (0, "snapshot")
        assert_equal(root, database)


@pytest.mark.parametrize("store", STORES)
def test_a_store_keeps_what_was_published(
    tmp_path: Path, bucket: Bucket, postgres_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a bucket, too, the next run publishes the missing partitions and none of the others."""
    for name, value in bucket.environment.items():
        monkeypatch.setenv(name, value)
    environ = bucket.environment
    make_events(postgres_database, "postgres")
    source = postgres_database.source
    with _failing_at(3):
        failed = run_one(tmp_path, source, export(bucket), environ=environ)
    assert failed.exit_code == 3
    before = manifests(copied(bucket, tmp_path / "before"))
    rows = source_rows(postgres_database)
    postgres_database.execute(THIRD_NIGHT)

    run_well(tmp_path, source, export(bucket, resume="reuse"), validate=True, environ=environ)

    tree = copied(bucket, tmp_path / "after")
    kept = {label: rows[label] for label, manifest in before.items() if manifest == manifests(tree)[label]}
    assert len(kept) >= 3
    _assert_mixed(tree, kept, postgres_database)


def test_killed_at_any_change_what_was_committed_is_kept(
    tmp_path: Path, sqlite_database: SqliteDatabase
) -> None:
    """A partition whose new manifest a killed run has put is finished, kept and marked; the tree is right."""
    root, before = tmp_path / "tree", tmp_path / "before"
    sqlite_database.execute(FIRST_NIGHT)
    run_well(tmp_path, sqlite_database.source, by_day(root))
    shutil.copytree(root, before)
    first_run = export_file(root)["run_id"]
    sqlite_database.execute(THIRD_NIGHT)
    expected = _source_rows(sqlite_database)
    settings(tmp_path, sqlite_database.source, by_day(root))
    kept_of = set()
    with _driver(tmp_path / "rivet.yaml") as driver:
        answer = ""
        for change in range(0, 500, 3):
            shutil.rmtree(root)
            shutil.copytree(before, root)
            answer = _ask(driver, change)
            if answer != "killed":
                break
            done = {label: m for label, m in manifests(root).items() if m["run_id"] != first_run}
            is_open = export_file(root)["status"] != "complete"

            outcome = run_well(tmp_path, sqlite_database.source, by_day(root, resume="reuse"))

            assert rows_by_manifest(root) == expected, change
            assert rows_by_glob(root) == sorted(itertools.chain(*expected.values()), key=repr), change
            assert_valid(root)
            assert outcome.partitions_unread == (len(done) if is_open else 0), change
            assert {label: manifests(root)[label] for label in done} == done
            kept_of.add(outcome.partitions_unread)
    assert answer == "0"
    assert {0, len(expected)} < kept_of


@pytest.mark.parametrize(
    "more",
    [
        {"compression": "snappy"},
        {"compression_level": 5},
        {"max_file_size": "1MB"},
        {"exclude": ["note"]},
        {"columns": {"id": "int64"}},
        {"unrepresentable": "null"},
        {"table": None, "query": "SELECT id, created_at, note FROM events WHERE id > 0"},
    ],
    ids=lambda more: next(iter(more)),
)
def test_other_settings_keep_nothing(
    tmp_path: Path, postgres_database: Database, more: dict[str, Any]
) -> None:
    """What was published with other settings is read again: the tree is of one moment and one kind."""
    make_events(postgres_database, "postgres")
    root = tmp_path / "tree"
    with _failing_at(3):
        run_one(tmp_path, postgres_database.source, by_day(root))
    assert len(manifests(root)) == 3

    outcome = run_well(
        tmp_path, postgres_database.source, by_day(root, resume="reuse", **more), validate=True
    )

    assert (outcome.partitions_unread, outcome.consistency) == (0, "snapshot")
    assert export_file(root)["source"]["consistency"] == "snapshot"


def test_another_database_keeps_nothing(
    tmp_path: Path, postgres_database: Database, sqlite_database: SqliteDatabase
) -> None:
    """A table of the same name in another database is another table."""
    make_events(postgres_database, "postgres")
    make_events(sqlite_database, "sqlite")
    root = tmp_path / "tree"
    with _failing_at(3):
        run_one(tmp_path, postgres_database.source, by_day(root))

    outcome = run_well(tmp_path, sqlite_database.source, by_day(root, resume="reuse"))

    assert outcome.partitions_unread == 0
    assert_equal(root, sqlite_database)


def test_runs_that_fail_one_after_the_other_add_up(tmp_path: Path, sqlite_database: SqliteDatabase) -> None:
    """Each run keeps what all before it have finished, until one is complete; then all is read again."""
    make_events(sqlite_database, "sqlite")
    root = tmp_path / "tree"
    whole = len(source_rows(sqlite_database))
    for number in range(whole):
        with _failing_at(1):
            failed = run_one(tmp_path, sqlite_database.source, by_day(root, resume="reuse"))
        assert failed.exit_code == (3 if number < whole - 1 else 0)
        assert len(manifests(root)) == number + 1

    assert_valid(root)
    assert len(set(_runs(export_file(root)).values())) == whole
    assert rows_by_manifest(root) == source_rows(sqlite_database)
    again = run_well(tmp_path, sqlite_database.source, by_day(root, resume="reuse"))
    assert (again.partitions_unread, again.partitions_unchanged) == (0, whole)
    assert_equal(root, sqlite_database)


def test_a_damaged_partition_is_read_again(tmp_path: Path, sqlite_database: SqliteDatabase) -> None:
    """What lacks a part, or has another size, is not taken for finished."""
    make_events(sqlite_database, "sqlite")
    root = tmp_path / "tree"
    with _failing_at(4):
        run_one(tmp_path, sqlite_database.source, by_day(root))
    first, second, *_ = sorted(root.glob("created_at=*/manifest.json"))
    next(first.parent.glob("*.parquet")).unlink()
    next(second.parent.glob("*.parquet")).write_bytes(b"cut")

    outcome = run_well(tmp_path, sqlite_database.source, by_day(root, resume="reuse"))

    assert outcome.partitions_unread == 2
    assert rows_by_manifest(root) == source_rows(sqlite_database)
    assert_valid(root)


@pytest.mark.parametrize(
    ("scan", "fault", "exit_code", "is_kept"),
    [
        ("single", Fault(cut_after=6), 3, True),
        ("single", Fault(uncounted=1), 4, False),
        ("per_partition", Fault(uncounted=1), 4, False),
    ],
)
def test_what_did_not_add_up_is_never_kept(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    scan: str,
    fault: Fault,
    exit_code: int,
    is_kept: bool,
) -> None:
    """Eager groups of a stream that was cut are kept; those of a run whose rows did not add up are not."""
    monkeypatch.setattr("rivet.attempt.attempt._EAGER_GROUP_PARTITIONS", 2)
    days = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, None]
    sources = [FakeSource(days, fault), FakeSource(days)]
    monkeypatch.setattr("rivet.run.open_source", lambda _: sources.pop(0))
    section = {"type": "sqlite", "path": "none.db"}
    export = by_day(tmp_path / "tree", partition_by="day", publish="eager", resume="reuse", scan=scan)

    failed = running.run_one(tmp_path, section, export)
    assert failed.exit_code == exit_code, failed.error
    published = len(manifests(tmp_path / "tree"))
    outcome = running.run_well(tmp_path, section, export)

    assert outcome.partitions_unread == (published if is_kept else 0)
    assert sum(map(len, rows_by_manifest(tmp_path / "tree").values())) == len(days)
    assert_valid(tmp_path / "tree")


def test_a_further_attempt_of_a_run_keeps_what_the_one_before_has_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A source that fails amid eager publishing costs an attempt, and nothing of what is published."""
    monkeypatch.setattr("rivet.attempt.attempt._EAGER_GROUP_PARTITIONS", 2)
    days = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, None]
    source = FakeSource(days, Fault(cut_after=6))
    monkeypatch.setattr("rivet.run.open_source", lambda _: source)
    export = by_day(tmp_path / "tree", partition_by="day", publish="eager", resume="reuse")
    config = settings(tmp_path, {"type": "sqlite", "path": "none.db", "retries": 1}, export)
    published: list[int] = []

    def mend(_: float) -> None:
        published.append(len(manifests(tmp_path / "tree")))
        source._fault = Fault()

    (outcome,) = run(config, listener=lambda _: None, sleep=mend).exports

    assert (outcome.status, outcome.partitions_unread) == ("complete", published[0])
    assert published == [2]
    assert sum(map(len, rows_by_manifest(tmp_path / "tree").values())) == len(days)
    file = export_file(tmp_path / "tree")
    assert (file["source"]["consistency"], file["source"]["attempt"]) == ("none", 2)
    attempts = {label: m["source"].get("attempt", 1) for label, m in manifests(tmp_path / "tree").items()}
    assert sorted(attempts.values()) == [1, 1, 2, 2, 2, 2]
    assert_valid(tmp_path / "tree")


def test_a_plan_says_what_is_left_to_read(
    tmp_path: Path, sqlite_database: SqliteDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    """After a failed run `rivet plan` lists the missing partitions alone, and says whose the others are."""
    make_events(sqlite_database, "sqlite")
    root = tmp_path / "tree"
    with _failing_at(4):
        run_one(tmp_path, sqlite_database.source, by_day(root))
    config = write_config(tmp_path, sqlite_database.source, by_day(root, resume="reuse"))

    (planned,) = run_command(capsys, "plan", "--config", config, "--json").exports

    missing = {p["value"] for p in planned["partitions"]}
    assert missing == set(source_rows(sqlite_database)) - set(manifests(root))
    assert any("resume: reuse keeps 4 partitions" in warning for warning in planned["warnings"])
