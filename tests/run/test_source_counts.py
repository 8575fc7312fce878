"""`rivet validate --source` counts at the source, too, and tells by window where a tree has other rows."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from tests.run.appending import appending
from tests.run.buckets import PREFIX, STORES, Bucket, export
from tests.run.changing import by_change, make_orders
from tests.run.command import Told, picture, run_command, write_config
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.nights import SECOND_NIGHT, make_events, source_rows
from tests.run.running import by_day, run_well
from tests.run.trees import NULL, manifests
from tests.servers.database import Database
from tests.servers.sqlite import SqliteDatabase

PURGE = "DELETE FROM events WHERE created_at < '2023-01-03'"
# A value of each engine that is no date.
ODD = {"postgres": "'infinity'", "mariadb": "'0000-00-00 00:00:00'", "sqlite": "'soon'"}
Counts = dict[str | None, tuple[int | None, int]]


@pytest.fixture
def root(tmp_path: Path, database: AnyDatabase, engine: str) -> Path:
    """Give a tree of the first night."""
    make_events(database, engine)
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, by_day(root))
    return root


def _compared(
    capsys: pytest.CaptureFixture[str], directory: Path, source: Any, export: Any, *words: str
) -> Told:
    """Validate against the source, which changes nothing on disk."""
    config = write_config(directory, {"retries": 0, **source}, export)
    before = picture(directory)
    told = run_command(capsys, "validate", "--config", config, "--source", "--json", *words)
    assert picture(directory) == before
    assert told.document is not None
    return told


def _differences(told: Told) -> Counts:
    """Give rows in the tree and at the source by the label of each partition that is told."""
    (outcome,) = told.exports
    assert outcome["error"] is None, outcome["error"]
    found = outcome["comparison"]["differences"]
    for one in found:
        assert one["rows_too_many"] == (one["tree_rows"] or 0) - one["source_rows"]
    return {one["value"]: (one["tree_rows"], one["source_rows"]) for one in found}


def _codes(told: Told) -> dict[str | None, tuple[str, str]]:
    (outcome,) = told.exports
    return {one["value"]: (one["level"], one["code"]) for one in outcome["comparison"]["differences"]}


def _is_as_source(told: Told, database: AnyDatabase, table: str = "events") -> bool:
    (outcome,) = told.exports
    assert (told.exit_code, told.errors, outcome["error"]) == (0, [], None)
    found = outcome["comparison"]
    (rows,) = database.fetch(f"SELECT count(*) FROM {table}")[0]
    assert (found["tree_rows"], found["source_rows"]) == (rows, rows)
    return bool(found["passed"] and not found["differences"])


@pytest.mark.parametrize("engine", ENGINES)
def test_each_window_that_has_changed_since_is_told_and_a_run_mends_it(
    tmp_path: Path, database: AnyDatabase, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is told right after a run; after a night, each day with other rows, both counts, in order."""
    assert _is_as_source(_compared(capsys, tmp_path, database.source, by_day(root)), database)
    old, began = source_rows(database), {v: m["started_at"] for v, m in manifests(root).items()}
    database.execute(SECOND_NIGHT)
    new = source_rows(database)
    labels = sorted({*old, *new} - {label for label in old if len(old[label]) == len(new.get(label, []))})
    assert NULL in labels
    assert set(labels) - set(old)

    told = _compared(capsys, tmp_path, database.source, by_day(root))

    assert told.exit_code == 4
    expected = {v: (len(old[v]) if v in old else None, len(new.get(v, []))) for v in labels}
    assert list(_differences(told).items()) == list(expected.items())
    (outcome,) = told.exports
    assert outcome["verdict"]["passed"]
    found = outcome["comparison"]
    assert not found["passed"]
    assert found["partitions"] == len({*old, *new})
    assert found["tree_rows"] == sum(map(len, old.values()))
    assert found["source_rows"] == sum(map(len, new.values()))
    assert [one["started_at"] for one in found["differences"]] == [began.get(v) for v in labels]
    assert all(
        one["path"] == f"created_at={one['value']}" and one["level"] == "error"
        for one in found["differences"]
    )
    kinds = {
        value: "source_not_exported"
        if in_tree is None
        else "source_vanished"
        if not at_source
        else "source_differs"
        for value, (in_tree, at_source) in expected.items()
    }
    assert _codes(told) == {value: ("error", kind) for value, kind in kinds.items()}
    assert set(kinds.values()) == {"source_not_exported", "source_vanished", "source_differs"}
    lines = [line.split() for line in told.lines]
    began_or_none = [f"{began[v][:19].replace('T', ' ')}Z" if v in began else "-" for v in labels]
    shown = [
        [
            "NULL" if value == NULL else value,
            "-" if (in_tree := expected[value][0]) is None else str(in_tree),
            str(expected[value][1]),
            f"{(in_tree or 0) - expected[value][1]:+}",
            *moment.split(),
        ]
        for value, moment in zip(labels, began_or_none, strict=True)
    ]
    assert [line for line in lines if line[:1] in [[row[0]] for row in shown]] == shown
    assert told.errors[0] == "Error: events: not as many rows as the source"
    assert told.errors[1].startswith("Hint: a table that was written to since")

    run_well(tmp_path, database.source, by_day(root))
    assert _is_as_source(_compared(capsys, tmp_path, database.source, by_day(root)), database)


@pytest.mark.parametrize("engine", ["postgres", "mariadb"])
def test_one_partition_is_compared_with_its_window_alone(
    tmp_path: Path, database: Database, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A prefix of a partition is told of that day, or of the NULL rows, and no other rows are asked for."""
    database.execute(SECOND_NIGHT)
    expected: dict[str, Counts] = {
        "2023-01-02": {},
        "2023-01-03": {"2023-01-03": (1, 0)},
        "2023-01-06": {"2023-01-06": (2, 1)},
        NULL: {NULL: (2, 0)},
    }

    for label, differences in expected.items():
        prefix = str(root / f"created_at={label}")
        with database.recording() as statements:
            told = _compared(capsys, tmp_path, database.source, by_day(root), "--prefix", prefix)
        assert (_differences(told), told.exit_code) == (differences, 4 if differences else 0)
        assert told.exports[0]["comparison"]["partitions"] == 1
        counting = [s for s in statements if "count(*)" in s.lower() and "events" in s]
        assert counting
        assert all(("NULL" if label == NULL else label) in s for s in counting), counting


@pytest.mark.parametrize("engine", ["sqlite"])
def test_what_is_kept_is_a_note_and_an_empty_partition_is_right(
    tmp_path: Path, database: AnyDatabase, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`vanished: keep` makes a purged day a note, before the run that keeps it and after."""
    database.execute(PURGE)
    purged = {"2023-01-01": (2, 0), "2023-01-02": (2, 0)}
    assert _compared(capsys, tmp_path, database.source, by_day(root)).exit_code == 4
    keeping = by_day(root, vanished="keep")

    for _ in range(2):
        told = _compared(capsys, tmp_path, database.source, keeping, "--strict")
        assert (told.exit_code, _differences(told)) == (0, purged)
        assert set(_codes(told).values()) == {("note", "source_vanished")}
        assert "; none there any more of 2 kept partitions; " in told.lines[-1]
        run_well(tmp_path, database.source, keeping)

    full = by_day(tmp_path / "full", skip_empty=False)
    run_well(tmp_path, database.source, full)
    assert manifests(tmp_path / "full")["2023-01-05"]["row_count"] == 0
    assert _is_as_source(_compared(capsys, tmp_path, database.source, full), database)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_export_of_one_partition_is_compared_by_its_total(
    tmp_path: Path, database: AnyDatabase, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    """Without `partition_by` all rows are one window, also where there are none."""
    make_events(database, engine)
    one = by_day(tmp_path / "one", destination={"type": "local", "path": str(tmp_path / "one")})
    del one["partition_by"], one["partition_granularity"]
    run_well(tmp_path, database.source, one)
    assert _is_as_source(_compared(capsys, tmp_path, database.source, one), database)
    database.execute("DELETE FROM events WHERE id > 3")

    told = _compared(capsys, tmp_path, database.source, one)

    assert (told.exit_code, _differences(told)) == (4, {None: (11, 3)})
    assert [line.split()[:5] for line in told.lines if line.startswith("all rows")] == [
        ["all", "rows", "11", "3", "+8"]
    ]
    run_well(tmp_path, database.source, one)
    database.execute("DELETE FROM events")
    assert _differences(_compared(capsys, tmp_path, database.source, one)) == {None: (3, 0)}


@pytest.mark.parametrize("engine", ENGINES)
def test_values_that_fit_no_calendar_are_counted_by_the_policy_of_the_export(
    tmp_path: Path, database: AnyDatabase, root: Path, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    """As NULL rows where they are written as such; else as rows that no run exports, apart from NULL."""
    mode = "SET sql_mode = ''; " if engine == "mariadb" else ""
    database.execute(f"{mode}UPDATE events SET created_at = {ODD[engine]} WHERE id IN (3, 10)")

    told = _compared(capsys, tmp_path, database.source, by_day(root))
    assert told.exit_code == 4
    assert _differences(told) == {"2023-01-02": (2, 1), NULL: (2, 1), None: (None, 2)}
    assert _codes(told)[None] == ("error", "source_unrepresentable")
    assert [line.split()[:5] for line in told.lines if line.startswith("fits no")] == [
        ["fits", "no", "calendar", "-", "2"]
    ]

    nulled = by_day(root, unrepresentable="null")
    assert _differences(_compared(capsys, tmp_path, database.source, nulled)) == {
        "2023-01-02": (2, 1),
        NULL: (2, 3),
    }
    run_well(tmp_path, database.source, nulled)
    assert _is_as_source(_compared(capsys, tmp_path, database.source, nulled), database)
    prefix = str(root / f"created_at={NULL}")
    told = _compared(capsys, tmp_path, database.source, nulled, "--prefix", prefix)
    assert (told.exit_code, told.exports[0]["comparison"]["source_rows"]) == (0, 3)


@pytest.mark.parametrize("engine", ["sqlite"])
def test_every_mode_and_an_unread_tail_are_compared(
    tmp_path: Path, database: AnyDatabase, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    """Chunks change nothing, and what `mode: incremental` has missed is what is told."""
    make_orders(database, engine)
    exports = {
        "chunked": by_change(
            tmp_path / "chunked", mode="chunked", cursor_column=None, chunk_column="id", chunk_size=20
        ),
        "incremental": by_change(tmp_path / "incremental"),
    }
    for one in exports.values():
        run_well(tmp_path, database.source, one)
        assert _is_as_source(_compared(capsys, tmp_path, database.source, one), database, "orders")
    database.execute("DELETE FROM orders WHERE id = 20")

    for one in exports.values():
        run_well(tmp_path, database.source, one)

    missed = _compared(capsys, tmp_path, database.source, exports["incremental"])
    assert (missed.exit_code, _differences(missed)) == (4, {"2023-01-02": (3, 2)})
    assert _is_as_source(_compared(capsys, tmp_path, database.source, exports["chunked"]), database, "orders")


@pytest.mark.parametrize("engine", ["sqlite"])
def test_what_was_added_may_be_more_than_the_source_has_and_not_less(
    tmp_path: Path, database: AnyDatabase, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    """Versions and deleted rows of `strategy: append` are notes, rows that it has missed an error."""
    make_orders(database, engine)
    growing = appending(tmp_path / "tree")
    run_well(tmp_path, database.source, growing)
    assert _is_as_source(_compared(capsys, tmp_path, database.source, growing), database, "orders")
    database.execute(
        "UPDATE orders SET note = 'again', updated_at = '2023-03-01 00:00:00' WHERE id = 10;"
        "DELETE FROM orders WHERE id IN (20, 30, 31, 32)"
    )
    run_well(tmp_path, database.source, growing)

    told = _compared(capsys, tmp_path, database.source, growing)
    assert (told.exit_code, told.errors) == (0, [])
    more: Counts = {"2023-01-01": (4, 3), "2023-01-02": (3, 2), "2023-01-03": (3, 0)}
    assert _differences(told) == more
    assert {level for level, _ in _codes(told).values()} == {"note"}
    assert "more in the tree in 2 partitions, as strategy: append lets them stand" in told.lines[-1]
    assert "4 partitions, 11 rows; none there any more of 1 kept partition; " in told.lines[-1]

    database.execute("INSERT INTO orders VALUES (1, '2023-01-05 00:00:00', '2022-01-01 00:00:00', 'late')")
    run_well(tmp_path, database.source, growing)
    told = _compared(capsys, tmp_path, database.source, growing)
    assert (told.exit_code, _differences(told)) == (4, more | {"2023-01-05": (3, 4)})
    assert _codes(told)["2023-01-05"] == ("error", "source_differs")


@pytest.mark.parametrize("engine", ["postgres", "mariadb"])
def test_days_of_a_zone_are_counted_as_they_were_exported(
    tmp_path: Path, database: AnyDatabase, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    """A row around midnight in the zone counts for the day that it has there, over a change of the clock."""
    kind = {"postgres": "timestamptz", "mariadb": "timestamp(6) NULL"}[engine]
    hours = [f"'2023-03-{day} {hour:02d}:30:00'" for day in (25, 26, 27) for hour in range(24)]
    values = ", ".join(f"({n}, {hour})" for n, hour in enumerate(hours))
    database.execute(
        f"SET time_zone = '+00:00'; CREATE TABLE events (id int PRIMARY KEY, created_at {kind}); "
        f"INSERT INTO events VALUES {values}"
        if engine == "mariadb"
        else f"SET TimeZone = 'UTC'; CREATE TABLE events (id int PRIMARY KEY, created_at {kind}); "
        f"INSERT INTO events VALUES {values}"
    )
    here = by_day(tmp_path / "tree", partition_timezone="Europe/Berlin")
    run_well(tmp_path, database.source, here)
    assert {v: m["row_count"] for v, m in manifests(tmp_path / "tree").items()} == {
        "2023-03-25": 23,
        "2023-03-26": 23,
        "2023-03-27": 24,
        "2023-03-28": 2,
    }
    assert _is_as_source(_compared(capsys, tmp_path, database.source, here), database)
    database.execute("DELETE FROM events WHERE id = 47")

    told = _compared(capsys, tmp_path, database.source, here)
    assert _differences(told) == {"2023-03-27": (24, 23)}
    prefix = str(tmp_path / "tree" / "created_at=2023-03-27")
    assert _differences(_compared(capsys, tmp_path, database.source, here, "--prefix", prefix)) == {
        "2023-03-27": (24, 23)
    }


@pytest.mark.parametrize("store", STORES)
def test_a_tree_in_a_bucket_is_compared(
    tmp_path: Path,
    sqlite_database: SqliteDatabase,
    bucket: Bucket,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Wherever the tree lies; a prefix is a key of its bucket."""
    make_events(sqlite_database, "sqlite")
    run_well(tmp_path, sqlite_database.source, export(bucket), environ=bucket.environment)
    for name, value in bucket.environment.items():
        monkeypatch.setenv(name, value)
    source = sqlite_database.source
    assert _is_as_source(_compared(capsys, tmp_path, source, export(bucket)), sqlite_database)
    sqlite_database.execute("DELETE FROM events WHERE id IN (3, 5)")

    told = _compared(capsys, tmp_path, source, export(bucket))
    assert (told.exit_code, told.exports[0]["verdict"]["depth"]) == (4, "quick")
    assert _differences(told) == {"2023-01-02": (2, 1), "2023-01-03": (1, 0)}
    day = f"{PREFIX}created_at=2023-01-03/"
    assert _differences(_compared(capsys, tmp_path, source, export(bucket), "--prefix", day)) == {
        "2023-01-03": (1, 0)
    }


def test_a_source_that_is_not_there_hides_no_verdict(
    tmp_path: Path, sqlite_database: SqliteDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 3 with the tree's verdict; a damaged tree stays 4; without any tree no source is asked."""
    make_events(sqlite_database, "sqlite")
    root = tmp_path / "tree"
    run_well(tmp_path, sqlite_database.source, by_day(root))
    with socket.socket() as taken:  # bound, and not listening: whoever connects is refused
        taken.bind(("127.0.0.1", 0))
        source = {"type": "postgres", "url": f"postgresql://u:s3cret@127.0.0.1:{taken.getsockname()[1]}/db"}

        told = _compared(capsys, tmp_path, source, by_day(root))
        assert told.exit_code == 3
        (outcome,) = told.exports
        assert outcome["verdict"]["passed"]
        assert outcome["comparison"] is None
        assert told.errors[0] == f"Error: events: {outcome['error']}"
        assert "s3cret" not in str(told)
        assert any(line.startswith("events: passed at full depth") for line in told.lines)

        next(root.rglob("_SUCCESS")).unlink()
        assert _compared(capsys, tmp_path, source, by_day(root)).exit_code == 4
        told = _compared(capsys, tmp_path, source, by_day(tmp_path / "none"))
        assert (told.exit_code, told.exports[0]["error"]) == (4, None)


def test_a_partition_that_cannot_be_read_is_left_to_the_verdict(
    tmp_path: Path, sqlite_database: SqliteDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a broken manifest no count is known; a partition that is lost is one that was not exported."""
    make_events(sqlite_database, "sqlite")
    root = tmp_path / "tree"
    run_well(tmp_path, sqlite_database.source, by_day(root))
    (root / "created_at=2023-01-02/manifest.json").write_text("{")
    for path in (root / "created_at=2023-01-04").iterdir():
        path.unlink()

    told = _compared(capsys, tmp_path, sqlite_database.source, by_day(root))

    assert told.exit_code == 4
    assert _differences(told) == {"2023-01-04": (None, 1)}
    assert {f["code"] for f in told.exports[0]["verdict"]["findings"]} >= {
        "manifest_unreadable",
        "partition_missing",
    }
    broken = str(root / "created_at=2023-01-02")
    told = _compared(capsys, tmp_path, sqlite_database.source, by_day(root), "--prefix", broken)
    assert (told.exit_code, told.exports[0]["comparison"]) == (4, None)


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"partition_granularity": "month"}, "granularity 'day', and this one has 'month'"),
        ({"partition_by": "at"}, "no column 'at' in the source"),
        ({"name": "others"}, "export 'events', and this one has 'others'"),
    ],
)
def test_a_config_that_is_not_the_trees_is_refused(
    tmp_path: Path,
    sqlite_database: SqliteDatabase,
    capsys: pytest.CaptureFixture[str],
    more: dict[str, str],
    error: str,
) -> None:
    """Windows that are not those of the tree are compared with nothing: exit 2, with its verdict."""
    make_events(sqlite_database, "sqlite")
    root = tmp_path / "tree"
    run_well(tmp_path, sqlite_database.source, by_day(root))

    for words in ((), ("--prefix", str(root / "created_at=2023-01-04"))):
        told = _compared(capsys, tmp_path, sqlite_database.source, by_day(root, **more), *words)

        assert told.exit_code == 2
        (outcome,) = told.exports
        assert error in outcome["error"]
        assert outcome["verdict"]["passed"]
