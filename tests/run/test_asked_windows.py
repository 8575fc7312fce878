"""The command line, or `refresh_windows`, holds a run to some windows: those alone are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.run.command import Told, picture, run_command, write_config
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.nights import SECOND_NIGHT, assert_valid, export_file, make_events, source_rows
from tests.run.refusing import MOMENT
from tests.run.running import by_day, run_one, run_well
from tests.run.trees import NULL, Rows, rows_by_glob, rows_by_manifest, snapshot
from tests.servers.database import Database

CASES: dict[str, tuple[list[str], set[str]]] = {
    "from a date": (["--since", "2023-01-06"], {"2023-01-06", "2023-01-08", "2023-01-09"}),
    "between dates": (
        ["--since", "2023-01-02", "--until", "2023-01-06"],
        {"2023-01-02", "2023-01-03", "2023-01-04", "2023-01-05"},
    ),
    "labels": (["--partition", "2023-01-05", "--partition", "2023-01-02"], {"2023-01-02", "2023-01-05"}),
    "NULL": (["--partition", "NULL"], {NULL}),
    "all of it": (
        [
            "--until",
            "2023-01-02",
            "--since",
            "2023-01-01",
            "--partition",
            "NULL",
            "--partition",
            "2023-01-09",
        ],
        {"2023-01-01", "2023-01-09", NULL},
    ),
    "nothing there": (["--since", "2030-01-01"], set()),
}


@pytest.fixture
def root(tmp_path: Path, database: AnyDatabase, engine: str) -> Path:
    """Give a tree of the first night."""
    make_events(database, engine)
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, by_day(root))
    return root


def _run(capsys: pytest.CaptureFixture[str], directory: Path, source: Any, export: Any, *words: str) -> Told:
    return run_command(capsys, "run", "--config", write_config(directory, source, export), "--json", *words)


def _beside(root: Path, labels: set[str]) -> dict[str, bytes]:
    """Give the files of the partitions that are not of these labels."""
    return {
        name: data
        for name, data in snapshot(root).items()
        if "/" in name and name.partition("=")[2].partition("/")[0] not in labels
    }


def _mixed(old: dict[str, Rows], new: dict[str, Rows], labels: set[str]) -> dict[str, Rows]:
    return {k: v for k, v in old.items() if k not in labels} | {k: v for k, v in new.items() if k in labels}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("engine", ENGINES)
def test_only_what_is_asked_for_is_read_and_changes(
    tmp_path: Path,
    database: AnyDatabase,
    root: Path,
    capsys: pytest.CaptureFixture[str],
    case: str,
) -> None:
    """The windows equal the table; all else is as it was to the byte, listed with the run that wrote it."""
    if list(CASES).index(case) % 2:
        database.execute("CREATE INDEX by_day ON events (created_at)")
    words, labels = CASES[case]
    old, runs = source_rows(database), {e["value"]: e["run_id"] for e in export_file(root)["partitions"]}
    database.execute(SECOND_NIGHT)
    before = _beside(root, labels)

    told = _run(capsys, tmp_path, database.source, by_day(root), *words)

    assert (told.exit_code, told.errors) == (0, [])
    expected = _mixed(old, source_rows(database), labels)
    assert rows_by_manifest(root) == expected
    assert rows_by_glob(root) == sorted((row for rows in expected.values() for row in rows), key=repr)
    assert _beside(root, labels) == before
    assert_valid(root)
    (outcome,) = told.exports
    assert outcome["rows"] == sum(map(len, expected.values()))
    assert outcome["partitions_unread"] == len(set(runs) - labels)
    export = export_file(root)
    assert (export["status"], export["source_rows"], export["source_null_rows"]) == ("complete", None, None)
    assert {e["value"]: e["run_id"] for e in export["partitions"] if e["value"] not in labels} == {
        label: run for label, run in runs.items() if label not in labels
    }
    assert not (root / "_rivet_staging").exists()


@pytest.mark.parametrize("engine", ["postgres", "mariadb"])
def test_no_statement_asks_for_rows_of_other_windows(
    tmp_path: Path, database: Database, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each statement that asks the table for rows names the bounds of the window."""
    with database.recording() as statements:
        assert (
            _run(capsys, tmp_path, database.source, by_day(root), "--partition", "2023-01-02").exit_code == 0
        )

    marks = {"postgres": '"events"', "mariadb": "`events`"}
    named = [s for s in statements if any(m in s for m in marks.values()) and "SELECT" in s]
    scans = ("COPY (SELECT", "SELECT rivet.`")
    asking = [s for s in named if "COUNT(" in s.upper() or s.startswith(scans)]
    assert asking
    for statement in asking:
        assert "2023-01-02" in statement, statement
        assert "2023-01-03" in statement, statement


@pytest.mark.parametrize("engine", ENGINES)
def test_a_plan_shows_what_would_be_read(
    tmp_path: Path, database: AnyDatabase, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`plan` and `run --dry-run` take the same options, list those windows alone, and write nothing."""
    config = write_config(tmp_path, database.source, by_day(root))
    before = picture(tmp_path)

    for command in (["plan"], ["run", "--dry-run"]):
        told = run_command(
            capsys, *command, "--config", config, "--json", "--until", "2023-01-03", "--partition", "NULL"
        )

        assert told.exit_code == 0
        (outcome,) = told.exports
        assert [(p["value"], p["expected_rows"]) for p in outcome["partitions"]] == [
            ("2023-01-01", 2),
            ("2023-01-02", 2),
            (NULL, 2),
        ]
        assert (outcome["rows"], outcome["partitions_unread"]) == (6, 4)
        assert outcome["selected_by"] == "--until 2023-01-03 --partition NULL"
        assert picture(tmp_path) == before


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        (
            ["--since", "2023-01-15"],
            "--since: 2023-01-15 lies inside the window 2023-01, which is read as a whole or not at all",
            "write 2023-01-01 or 2023-02-01",
        ),
        (
            ["--until", "last week"],
            "--until: 'last week' is no date",
            "write one as YYYY-MM-DD, or as YYYY-MM",
        ),
        (
            ["--partition", "2023-01-15"],
            "--partition: '2023-01-15' is no label of a window by month",
            "write one as YYYY-MM, or NULL for the NULL partition; 2023-01-15 is in 2023-01",
        ),
        (
            ["--since", "2023-02", "--until", "2023-01"],
            "no window lies between --since 2023-02 and --until 2023-01",
            "--until is the date behind the last window",
        ),
    ],
)
@pytest.mark.parametrize("engine", ["sqlite"])
def test_words_that_are_no_edges_are_refused_with_the_mend(
    tmp_path: Path,
    database: AnyDatabase,
    engine: str,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    error: str,
    hint: str,
) -> None:
    """What names no whole windows ends with exit code 2 before anything is written, for runs and plans."""
    make_events(database, engine)
    export = by_day(tmp_path / "tree", partition_granularity="month")
    config = write_config(tmp_path, database.source, export)
    before = picture(tmp_path)
    for command in ("run", "plan"):
        told = run_command(capsys, command, "--config", config, "--json", *words)

        assert told.exit_code == 2
        assert told.errors[0] == f"Error: events: {error}"
        assert told.errors[1].startswith(f"Hint: {hint}")
        assert picture(tmp_path) == before


@pytest.mark.parametrize("engine", ["sqlite"])
def test_an_export_without_partitions_takes_no_windows(
    tmp_path: Path, database: AnyDatabase, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is one partition, which is read as a whole; the mend says so."""
    make_events(database, engine)
    export = {
        "name": "events",
        "table": "events",
        "destination": {"type": "local", "path": str(tmp_path / "tree")},
    }

    told = _run(capsys, tmp_path, database.source, export, "--partition", "2023-01-01")

    assert told.exit_code == 2
    assert "without partition_by there is one partition" in told.errors[0]
    assert not (tmp_path / "tree").exists()


@pytest.mark.parametrize("engine", ENGINES)
def test_days_are_those_of_the_zone(
    tmp_path: Path, database: AnyDatabase, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A date is midnight in `partition_timezone`: of 48 hours a day in Berlin has the right 24."""
    moment = {"postgres": "timestamptz", "mariadb": "timestamp NULL", "sqlite": "TEXT"}[engine]
    offset = {"postgres": "+00", "mariadb": "", "sqlite": "Z"}[engine]
    hours = [f"2024-07-{day} {hour:02d}:00:00{offset}" for day in (1, 2) for hour in range(24)]
    hours = [text.replace("-07-", "-07-0") for text in hours]
    values = ", ".join(f"({number}, '{text}')" for number, text in enumerate(hours))
    zone = "SET time_zone = '+00:00'; " if engine == "mariadb" else ""
    database.execute(f"CREATE TABLE events (id int PRIMARY KEY, created_at {moment})")
    database.execute(f"{zone}INSERT INTO events VALUES {values}")
    export = by_day(tmp_path / "tree", partition_timezone="Europe/Berlin")
    if engine == "sqlite":
        export["columns"] = {"created_at": "timestamptz"}

    told = _run(capsys, tmp_path, database.source, export, "--since", "2024-07-02", "--until", "2024-07-03")

    assert told.exit_code == 0, told.errors
    rows = rows_by_manifest(tmp_path / "tree")
    assert {label: [row[0] for row in sorted(found)] for label, found in rows.items()} == {
        "2024-07-02": list(range(22, 46))
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_a_label_of_which_there_is_nothing_is_told(
    tmp_path: Path, database: AnyDatabase, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A slip in a date does not pass in silence, in `plan` as in `run`; what is there is read."""
    words = ["--partition", "2023-01-02", "--partition", "2032-01-02", "--partition", "NULL"]
    slip = "--partition 2032-01-02: neither the source nor the tree has rows of it"
    config = write_config(tmp_path, database.source, by_day(root))

    planned = run_command(capsys, "plan", "--config", config, "--json", *words)
    told = _run(capsys, tmp_path, database.source, by_day(root), *words)

    assert told.exit_code == 0
    for outcome in (planned.exports[0], told.exports[0]):
        assert [w for w in outcome["warnings"] if "--partition" in w] == [slip]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_selected_window_that_was_purged_is_refused_and_one_in_between_removed(
    tmp_path: Path, database: AnyDatabase, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`vanished` means what it always does: the span is that of the whole source, not of what was read."""
    database.execute("DELETE FROM events WHERE id IN (1, 2, 5)")
    before = picture(root)

    told = _run(capsys, tmp_path, database.source, by_day(root), "--partition", "2023-01-01")

    assert told.exit_code == 2
    assert "no rows any more for 1 live partition with 2 rows: 2023-01-01 (2 rows)" in told.errors[0]
    assert picture(root) == before

    told = _run(capsys, tmp_path, database.source, by_day(root), "--partition", "2023-01-03")

    assert (told.exit_code, told.exports[0]["partitions_removed"]) == (0, 1)
    assert set(rows_by_manifest(root)) == {
        *("2023-01-01", "2023-01-02", "2023-01-04", "2023-01-06", "2023-01-08", NULL)
    }
    assert_valid(root)


@pytest.mark.parametrize("engine", ENGINES)
def test_empty_windows_among_those_asked_for_become_partitions(
    tmp_path: Path, database: AnyDatabase, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With `skip_empty: false` a selected window between the source's ends gets a manifest, no other does."""
    make_events(database, engine)
    export = by_day(tmp_path / "tree", skip_empty=False)

    words = ["--partition", "2023-01-05", "--partition", "2023-01-08", "--partition", "2023-02-01"]
    told = _run(capsys, tmp_path, database.source, export, *words)

    assert told.exit_code == 0
    rows = rows_by_manifest(tmp_path / "tree")
    assert {label: len(found) for label, found in rows.items()} == {"2023-01-05": 0, "2023-01-08": 1}
    assert_valid(tmp_path / "tree")


@pytest.mark.parametrize("engine", ENGINES)
def test_other_columns_are_not_mixed_into_a_tree(
    tmp_path: Path, database: AnyDatabase, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where columns have changed, some windows alone are refused, and `refresh_windows` reads everything."""
    database.execute("ALTER TABLE events ADD COLUMN more int")
    before = picture(root)

    told = _run(capsys, tmp_path, database.source, by_day(root), "--since", "2023-01-06")

    assert told.exit_code == 2
    assert "the columns have changed since run" in told.errors[0]
    assert told.errors[1] == (
        "Hint: run once without --since, --until and --partition, which reads everything"
    )
    assert picture(root) == before

    outcome = run_well(tmp_path, database.source, by_day(root, refresh_windows=1))

    assert any("'more' is new: everything is read" in warning for warning in outcome.warnings)
    assert rows_by_manifest(root) == source_rows(database)
    assert export_file(root)["source_rows"] == 11
    assert_valid(root)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_last_windows_are_read_again_and_all_that_came_after(
    tmp_path: Path, database: AnyDatabase, engine: str
) -> None:
    """`refresh_windows: 2` sees what changed in the tree's last two days and in new ones, nothing older."""
    make_events(database, engine)
    root = tmp_path / "tree"
    export = by_day(root, refresh_windows=2)
    first = run_well(tmp_path, database.source, export)
    assert (first.partitions_written, first.partitions_unread) == (7, 0)
    old = source_rows(database)
    assert rows_by_manifest(root) == old

    database.execute(SECOND_NIGHT)
    for key in range(13, 20):
        database.execute(f"INSERT INTO events VALUES ({key}, '2023-01-{key} 00:00:00', 'later')")
    outcome = run_well(tmp_path, database.source, export)

    new = source_rows(database)
    labels = {label for label in {*old, *new} if "2023-01-06" <= label < NULL}
    assert rows_by_manifest(root) == _mixed(old, new, labels)
    assert outcome.partitions_unread == 5
    assert_valid(root)


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_row_of_the_future_hides_no_last_window(tmp_path: Path, database: AnyDatabase, engine: str) -> None:
    """Windows that have not begun are read, and are not counted among the last ones."""
    make_events(database, engine)
    database.execute("INSERT INTO events VALUES (99, '2099-01-01 00:00:00', 'a slip')")
    export = by_day(tmp_path / "tree", refresh_windows=1)
    run_well(tmp_path, database.source, export)
    database.execute("UPDATE events SET note = 'changed' WHERE id IN (9, 99)")
    database.execute("INSERT INTO events VALUES (20, '2023-01-20 00:00:00', 'later')")

    run_well(tmp_path, database.source, export)

    assert rows_by_manifest(tmp_path / "tree") == source_rows(database)


@pytest.mark.parametrize("engine", ENGINES)
def test_dates_that_fit_no_calendar_go_with_the_null_partition(
    tmp_path: Path, database: AnyDatabase, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With `unrepresentable: null`, a run of the NULL partition alone reads and counts them."""
    odd = {"postgres": "'infinity'", "mariadb": "'0000-00-00 00:00:00'", "sqlite": "'soon'"}[engine]
    database.execute(
        f"CREATE TABLE events (id int PRIMARY KEY, created_at {MOMENT[engine]}); "
        f"{'SET sql_mode = DEFAULT; SET sql_mode = 0; ' if engine == 'mariadb' else ''}"
        f"INSERT INTO events VALUES (1, NULL), (2, {odd}), (3, '2023-01-01 00:00:00')"
    )
    export = by_day(tmp_path / "tree", unrepresentable="null")
    run_well(tmp_path, database.source, export)
    database.execute("DELETE FROM events WHERE id = 1")

    told = _run(capsys, tmp_path, database.source, export, "--partition", "NULL")

    assert told.exit_code == 0, told.errors
    assert {label: len(r) for label, r in rows_by_manifest(tmp_path / "tree").items()} == {
        "2023-01-01": 1,
        NULL: 1,
    }
    assert export_file(tmp_path / "tree")["unrepresentable_rows"] == {"created_at": 1}
    assert_valid(tmp_path / "tree")
    words = ["--partition", "2023-01-01"]
    told = _run(capsys, tmp_path, database.source, by_day(tmp_path / "tree"), *words)
    assert told.exit_code == 0, told.errors  # of that window no date is odd


@pytest.mark.parametrize("engine", ["sqlite"])
def test_refresh_windows_needs_partitions(tmp_path: Path, database: AnyDatabase, engine: str) -> None:
    """What a window is, is said by `partition_by`."""
    make_events(database, engine)
    export = {"name": "events", "table": "events", "refresh_windows": 2}
    export["destination"] = {"type": "local", "path": str(tmp_path / "tree")}
    with pytest.raises(Exception, match="stands without partition_by"):
        run_one(tmp_path, database.source, export)


@pytest.mark.parametrize("engine", ENGINES)
def test_chunks_are_of_the_windows_asked_for(
    tmp_path: Path, database: AnyDatabase, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In `mode: chunked` too, these windows alone are read, by pages of a key or ranges of a column."""
    old = source_rows(database)
    database.execute(SECOND_NIGHT)
    labels = {"2023-01-02", "2023-01-05", NULL}
    words = [word for label in ("2023-01-02", "2023-01-05", "NULL") for word in ("--partition", label)]
    for more in ({"chunk_by_key": ["id"], "chunk_size": 2}, {"chunk_column": "id", "chunk_size": 2}):
        export = by_day(root, mode="chunked", **more)

        told = _run(capsys, tmp_path, database.source, export, *words)

        assert told.exit_code == 0, told.errors
        assert rows_by_manifest(root) == _mixed(old, source_rows(database), labels)
        assert told.exports[0]["partitions_unread"] == 5
        assert_valid(root)
