"""One partition that fails does not stop the others, unless on_error says so; all that is told is true."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rivet.destination.local import LocalDestination, LocalStaged
from rivet.destination.store.destination import StoreDestination
from rivet.errors import DestinationDenied, DestinationUnavailable
from rivet.manifest.verdict import Code
from rivet.validate import validate
from tests.run.buckets import STORES, Bucket, copied, export
from tests.run.command import run_command, write_config
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.nights import SECOND_NIGHT, assert_equal, assert_valid, export_file, make_events, source_rows
from tests.run.running import by_day, run_one, run_well
from tests.run.trees import NULL, is_ready, manifests, rows_by_glob, rows_by_manifest, snapshot
from tests.servers.sqlite import SqliteDatabase

KINDS = {"part": ".parquet", "manifest": "manifest.json", "marker": "_SUCCESS"}


@contextmanager
def _refusing(label: str, ending: str) -> Iterator[None]:
    """Let the destination refuse to make one kind of file of a partition visible."""
    publish = LocalDestination.publish

    def refusing(destination: LocalDestination, staged: list[LocalStaged]) -> None:
        for file in staged:
            if f"={label}/" in file.target and file.target.endswith(ending):
                raise DestinationUnavailable(f"{label}: no room")
        publish(destination, staged)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalDestination, "publish", refusing)
        yield


@pytest.mark.parametrize("label", ["2023-01-02", "2023-01-05"])
@pytest.mark.parametrize("kind", ["part", "manifest"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_partition_that_cannot_be_published_does_not_stop_the_others(
    tmp_path: Path, database: AnyDatabase, engine: str, kind: str, label: str
) -> None:
    """The one is old, or not there, and called failed; the others are new; the next run makes it whole."""
    make_events(database, engine)
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, by_day(root))
    old = source_rows(database)
    database.execute(SECOND_NIGHT)
    new = source_rows(database)

    with _refusing(label, KINDS[kind]):
        outcome = run_one(tmp_path, database.source, by_day(root, vanished="remove"))

    assert (outcome.status, outcome.exit_code) == ("failed", 3)
    others = "and the others are published"
    assert (
        outcome.error == f"1 of {len(new)} partitions failed, {others}: created_at={label}: {label}: no room"
    )
    expected = {**new, **({label: old[label]} if label in old else {})}
    if label not in old:
        del expected[label]
    assert rows_by_manifest(root) == expected
    assert rows_by_glob(root) == sorted((r for rows in expected.values() for r in rows), key=repr)
    assert all(is_ready(path.parent) for path in root.rglob("manifest.json"))
    export = export_file(root)
    assert (export["status"], "pending" in export) == ("partial", False)
    assert {e["value"]: e["state"] for e in export["partitions"]} == {
        known: "failed" if known == label else "live" for known in new
    }
    verdict = validate(LocalDestination(root), "", depth="full", strict=False)
    assert {f.code for f in verdict.findings} == {Code.EXPORT_PARTIAL, Code.PARTITION_FAILED}

    for resume in ("reuse", "redo"):
        again = run_well(tmp_path, database.source, by_day(root, resume=resume), validate=True)
        assert again.partitions_unread == (len(new) - 1 if resume == "reuse" else 0)
        assert rows_by_manifest(root) == new
    assert_equal(root, database)


@pytest.mark.parametrize("store", STORES)
def test_a_store_that_refuses_one_partition_takes_the_others(
    tmp_path: Path, bucket: Bucket, sqlite_database: SqliteDatabase
) -> None:
    """In a bucket the one is put back and the others are new, side by side; the next run makes it whole."""
    make_events(sqlite_database, "sqlite")
    source, environ, label = sqlite_database.source, bucket.environment, "2023-01-02"
    run_well(tmp_path, source, export(bucket), environ=environ)
    old = source_rows(sqlite_database)
    sqlite_database.execute("UPDATE events SET note = 'new'")
    publish = StoreDestination.publish

    def refusing(destination: StoreDestination, staged: Sequence[Any]) -> None:
        if any(f"={label}/" in file.key for file in staged):
            raise DestinationUnavailable(f"{label}: slow down")
        publish(destination, staged)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StoreDestination, "publish", refusing)
        outcome = run_one(tmp_path, source, export(bucket), environ=environ)

    assert (outcome.status, outcome.exit_code) == ("failed", 3)
    tree = copied(bucket, tmp_path / "partial")
    assert rows_by_manifest(tree) == source_rows(sqlite_database) | {label: old[label]}
    assert all(is_ready(path.parent) for path in tree.rglob("manifest.json"))
    states = {e["value"]: e["state"] for e in export_file(tree)["partitions"]}
    assert states == {known: "failed" if known == label else "live" for known in old}

    again = run_well(tmp_path, source, export(bucket, resume="reuse"), validate=True, environ=environ)
    assert (again.partitions_unread, again.partitions_written) == (len(old) - 1, 1)
    tree = copied(bucket, tmp_path / "whole")
    assert rows_by_manifest(tree) == source_rows(sqlite_database)
    assert rows_by_glob(tree) == sorted(
        (r for rows in rows_by_manifest(tree).values() for r in rows), key=repr
    )


@pytest.mark.parametrize("store", [None, *STORES])
def test_a_marker_that_cannot_be_removed_stops_no_other_partition(
    tmp_path: Path, sqlite_database: SqliteDatabase, store: str | None, request: pytest.FixtureRequest
) -> None:
    """A directory in which nothing may change keeps what it has, and is called failed; the others are new."""
    bucket = None if store is None else request.getfixturevalue("bucket")
    root, label = tmp_path / "tree", "2023-01-02"
    make_events(sqlite_database, "sqlite")
    source = sqlite_database.source
    environ = None if bucket is None else bucket.environment
    told = by_day(root) if bucket is None else export(bucket)
    run_well(tmp_path, source, told, environ=environ)
    old = source_rows(sqlite_database)
    sqlite_database.execute("UPDATE events SET note = 'new'")
    kind = LocalDestination if bucket is None else StoreDestination
    delete = kind.delete

    def refusing(destination: Any, names: Iterable[str]) -> None:
        names = list(names)
        if any(f"={label}/" in name for name in names):
            raise DestinationDenied(f"{label}: not allowed")
        delete(destination, names)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "delete", refusing)
        outcome = run_one(tmp_path, source, told, environ=environ)

    assert (outcome.status, outcome.exit_code) == ("failed", 2)
    assert outcome.error == (
        f"1 of {len(old)} partitions failed, and the others are published: created_at={label}: "
        f"{label}: not allowed"
    )
    tree = root if bucket is None else copied(bucket, tmp_path / "partial")
    assert rows_by_manifest(tree) == source_rows(sqlite_database) | {label: old[label]}
    assert all(is_ready(path.parent) for path in tree.rglob("manifest.json"))

    run_well(tmp_path, source, told, validate=True, environ=environ)
    tree = root if bucket is None else copied(bucket, tmp_path / "whole")
    assert rows_by_manifest(tree) == source_rows(sqlite_database)
    assert rows_by_glob(tree) == sorted(
        (r for rows in rows_by_manifest(tree).values() for r in rows), key=repr
    )


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_marker_that_cannot_be_written_is_written_again(
    tmp_path: Path, database: AnyDatabase, engine: str
) -> None:
    """Behind the commit nothing can be taken back: the partition is the new one, and gets its marker."""
    make_events(database, engine)
    with _refusing("2023-01-02", KINDS["marker"]):
        run_well(tmp_path, database.source, by_day(tmp_path / "tree"))
    assert_equal(tmp_path / "tree", database)


def test_where_too_many_fail_it_is_the_destination(tmp_path: Path, sqlite_database: Any) -> None:
    """When everything is refused the run ends, and the next one undoes what was announced."""
    make_events(sqlite_database, "sqlite")
    root = tmp_path / "tree"
    run_well(tmp_path, sqlite_database.source, by_day(root))
    old = rows_by_manifest(root)
    sqlite_database.execute("UPDATE events SET note = 'new'")

    with _refusing("2023-01-0", ".parquet"), pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalDestination, "publish", _full)
        outcome = run_one(tmp_path, sqlite_database.source, by_day(root))

    assert (outcome.exit_code, outcome.error) == (3, "no room")
    assert rows_by_manifest(root) == old
    run_well(tmp_path, sqlite_database.source, by_day(root))
    assert_equal(root, sqlite_database)


def _full(*_: object) -> None:
    raise DestinationUnavailable("no room")


@pytest.mark.parametrize("on_error", ["continue", "stop"])
def test_on_error_says_whether_others_go_on(
    tmp_path: Path, sqlite_database: Any, capsys: pytest.CaptureFixture[str], on_error: str
) -> None:
    """With `stop` the first partition that fails ends its export, and the exports after it are skipped."""
    make_events(sqlite_database, "sqlite")
    exports = [by_day(tmp_path / name, name=name) for name in ("first", "last")]
    config = write_config(tmp_path, sqlite_database.source, *exports, on_error=on_error)

    with _refusing("2023-01-02", ".parquet"):
        told = run_command(capsys, "run", "--config", config, "--json")

    assert told.exit_code == 3
    statuses = [(e["name"], e["status"]) for e in told.exports]
    if on_error == "stop":
        assert statuses == [("first", "failed"), ("last", "skipped")]
        assert not (tmp_path / "last").exists()
        assert json.loads((tmp_path / "first" / "_rivet_export.json").read_text())["status"] == "publishing"
    else:
        assert statuses == [("first", "failed"), ("last", "failed")]
        for name in ("first", "last"):
            assert len(manifests(tmp_path / name)) == len(source_rows(sqlite_database)) - 1
    told = run_command(capsys, "run", "--config", config, "--validate")
    assert told.exit_code == 0
    for name in ("first", "last"):
        assert_equal(tmp_path / name, sqlite_database)
        assert_valid(tmp_path / name)


WAYS: dict[str, dict[str, Any]] = {
    "one scan each": {"scan": "per_partition"},
    "scans of several": {"max_scan_rows": 5},
}


@pytest.mark.parametrize("label", ["2023-01-01", "2023-01-06", "2023-01-09", NULL])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("engine", ["postgres", "mariadb"])
def test_a_value_that_does_not_fit_fails_its_partition_alone(
    tmp_path: Path, database: AnyDatabase, engine: str, way: str, label: str
) -> None:
    """Where several scans read counted windows, only that of the value is not published, at any place."""
    make_events(database, engine)
    database.execute("CREATE INDEX by_day ON events (created_at)")
    root = tmp_path / "tree"
    export = by_day(root, columns={"id": "int8"}, **WAYS[way])
    run_well(tmp_path, database.source, export)
    old = rows_by_manifest(root)
    database.execute("UPDATE events SET note = 'new'")
    moment = "NULL" if label == NULL else f"'{label} 12:00:00'"
    database.execute(f"INSERT INTO events VALUES (1000, {moment}, 'too large')")

    outcome = run_one(tmp_path, database.source, export)

    assert (outcome.status, outcome.exit_code) == ("failed", 2)
    assert f"1 of {len(old) + (label not in old)} partitions failed" in (outcome.error or "")
    assert "column 'id'" in (outcome.error or "")
    rows = source_rows(database)
    expected = {known: found for known, found in rows.items() if known != label}
    expected |= {known: found for known, found in old.items() if known == label}
    assert rows_by_manifest(root) == expected
    assert rows_by_glob(root) == sorted((r for found in expected.values() for r in found), key=repr)
    file = export_file(root)
    assert (file["status"], file["source_rows"]) == ("partial", sum(map(len, rows.values())))
    assert {e["value"]: e["state"] for e in file["partitions"]} == {
        known: "failed" if known == label else "live" for known in rows
    }
    verdict = validate(LocalDestination(root), "", depth="full", strict=False)
    assert {f.code for f in verdict.findings} == {Code.EXPORT_PARTIAL, Code.PARTITION_FAILED}

    database.execute("UPDATE events SET id = 100 WHERE id = 1000")
    again = run_well(tmp_path, database.source, {**export, "resume": "reuse"}, validate=True)
    assert again.partitions_unread == len(rows) - 1
    assert rows_by_manifest(root) == source_rows(database)


@pytest.mark.parametrize(
    ("way", "on_error"),
    [({"scan": "single"}, "continue"), ({"scan": "per_partition"}, "stop")],
)
def test_a_value_that_does_not_fit_one_scan_keeps_all_back(
    tmp_path: Path,
    postgres_database: AnyDatabase,
    capsys: pytest.CaptureFixture[str],
    way: dict[str, Any],
    on_error: str,
) -> None:
    """With one scan, whose total is the proof, or with `on_error: stop`, the tree stays as it was."""
    make_events(postgres_database, "postgres")
    root = tmp_path / "tree"
    export = by_day(root, columns={"id": "int8"}, **way)
    run_well(tmp_path, postgres_database.source, export)
    before = snapshot(root)
    postgres_database.execute("INSERT INTO events VALUES (1000, '2023-01-02', 'too large')")
    config = write_config(tmp_path, postgres_database.source, export, on_error=on_error)

    assert run_command(capsys, "run", "--config", config).exit_code == 2

    assert snapshot(root) == before
