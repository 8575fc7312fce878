"""`mode: incremental` reads the partitions in which rows have changed, and sees what its page says."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rivet.destination.local import LocalDestination, LocalStaged
from rivet.errors import DestinationUnavailable
from rivet.publish.publisher import Publisher
from tests.run.changing import (
    DAYS,
    WATERMARK,
    assert_holds,
    by_change,
    make_orders,
    mixed,
    orders,
    orders_table,
)
from tests.run.command import run_command, write_config
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.nights import assert_valid, export_file
from tests.run.running import run_one, run_well
from tests.run.trees import NULL, manifests, rows_by_manifest
from tests.servers.database import Database

SECOND, THIRD, SIXTH = DAYS[1], DAYS[2], DAYS[5]
# At the watermark lie rows of the fourth day; it is read each night.
NEXT = "2023-02-01 12:00:00.000006"
VARIANTS: dict[str, dict[str, Any]] = {
    "rewrite": {},
    "lag": {"lag": "2 hours"},
    "counts": {"verify_counts": True},
    "refresh": {"refresh_windows": 2},
}
# What happens at the source, and the partitions that hold it afterwards, by variant: all where one set.
CHANGES: dict[str, tuple[str, set[str] | dict[str, set[str]]]] = {
    "a microsecond above": (
        f"INSERT INTO orders VALUES (1, '2023-01-02 01:00:00', '{NEXT}', 'new')",
        {SECOND},
    ),
    "the very watermark": (
        "INSERT INTO orders VALUES (1, '2023-01-02 01:00:00', '2023-02-01 12:00:00.000005', 'new')",
        {SECOND},
    ),
    "a new day, and NULL": (
        f"INSERT INTO orders VALUES (1, '2024-01-01 00:00:00', '{NEXT}', 'new'), (2, NULL, '{NEXT}', 'new')",
        {"2024-01-01", NULL},
    ),
    "updated": (f"UPDATE orders SET note = 'x', updated_at = '{NEXT}' WHERE id = 20", {SECOND}),
    "committed late": (
        "INSERT INTO orders VALUES (1, '2023-01-02 01:00:00', '2023-02-01 11:00:00', 'late')",
        {"rewrite": set(), "lag": {SECOND}, "counts": {SECOND}, "refresh": set()},
    ),
    "updated late": (
        "UPDATE orders SET note = 'late', updated_at = '2023-02-01 11:00:00' WHERE id = 20",
        {"rewrite": set(), "lag": {SECOND}, "counts": set(), "refresh": set()},
    ),
    "deleted": (
        "DELETE FROM orders WHERE id = 20",
        {"rewrite": set(), "lag": set(), "counts": {SECOND}, "refresh": set()},
    ),
    "deleted among the last": (
        "DELETE FROM orders WHERE id = 60",
        {"rewrite": set(), "lag": set(), "counts": {SIXTH}, "refresh": {SIXTH}},
    ),
    "a day emptied": (
        "DELETE FROM orders WHERE id IN (30, 31, 32)",
        {"rewrite": set(), "lag": set(), "counts": {THIRD}, "refresh": set()},
    ),
    "one for another": (
        f"DELETE FROM orders WHERE id = 20; INSERT INTO orders VALUES (1, '{SECOND} 01:00', '{NEXT}', 'n')",
        {SECOND},
    ),
    "moved": (
        f"UPDATE orders SET created_at = '2023-01-03 03:00:00', updated_at = '{NEXT}' WHERE id = 20",
        {"rewrite": {THIRD}, "lag": {THIRD}, "counts": {SECOND, THIRD}, "refresh": {THIRD}},
    ),
    "updated in silence": (
        "UPDATE orders SET note = 'silent' WHERE id = 20",
        {"rewrite": set(), "lag": set(), "counts": set(), "refresh": set()},
    ),
    "updated in silence among the last": (
        "UPDATE orders SET note = 'silent' WHERE id = 60",
        {"rewrite": set(), "lag": set(), "counts": set(), "refresh": {SIXTH}},
    ),
}


@pytest.mark.parametrize(
    ("engine", "change"),
    [
        (engine, change)
        for turn, change in enumerate(CHANGES)
        for engine in ("sqlite", ("postgres", "mariadb")[turn % 2])
    ],
)
def test_what_is_seen_and_what_is_missed(
    tmp_path: Path, database: AnyDatabase, engine: str, change: str
) -> None:
    """Each variant sees what the table of its page says, and misses what that says it misses."""
    make_orders(database, engine)
    old = orders(database)
    for name, more in VARIANTS.items():
        run_well(tmp_path, database.source, by_change(tmp_path / name, **more))
        assert_holds(tmp_path / name, old)
        assert export_file(tmp_path / name)["watermark"]["value"] == WATERMARK
    statement, seen = CHANGES[change]
    database.execute(statement)
    new = orders(database)

    for name, more in VARIANTS.items():
        root = tmp_path / name
        run_well(tmp_path, database.source, by_change(root, **more), validate=True)

        assert_holds(root, mixed(old, new, seen[name] if isinstance(seen, dict) else seen))
        value = export_file(root)["watermark"]["value"]
        assert value == (WATERMARK if NEXT not in statement else NEXT.replace(" ", "T"))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_night_without_changes_reads_what_shares_the_watermark(
    tmp_path: Path, database: AnyDatabase, engine: str
) -> None:
    """Of 550 rows with one timestamp all are read again, none twice, and no partition is written anew."""
    make_orders(database, engine)
    values = ", ".join(
        f"({1000 + n}, '2023-03-{1 + n % 5:02d} 00:00:00', '2023-04-01 00:00:00.123456', 'same')"
        for n in range(550)
    )
    database.execute(f"INSERT INTO orders VALUES {values}")
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, by_change(root))
    first = {label: m["run_id"] for label, m in manifests(root).items()}

    outcome = run_well(tmp_path, database.source, by_change(root))

    assert (outcome.partitions_written, outcome.partitions_unchanged) == (0, 5)
    assert outcome.partitions_unread == len(DAYS) + 1
    assert {label: m["run_id"] for label, m in manifests(root).items()} == first
    database.execute(
        "INSERT INTO orders VALUES (2000, '2023-03-01 00:00:00', '2023-04-01 00:00:00.123456', 'same'), "
        "(2001, '2023-01-01 00:00:00', '2023-04-01 00:00:00.123457', 'a neighbour')"
    )
    run_well(tmp_path, database.source, by_change(root))
    assert_holds(root, orders(database))
    assert export_file(root)["watermark"] == {
        "column": "updated_at",
        "type": "timestamp[us]",
        "value": "2023-04-01T00:00:00.123457",
    }
    told = manifests(root)
    assert told["2023-01-01"]["watermark"]["value"] == "2023-04-01T00:00:00.123457"
    assert (told["2023-01-01"]["mode"], told["2023-01-02"]["mode"]) == ("incremental", "incremental")
    assert_valid(root)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_row_from_the_future_hides_nothing(tmp_path: Path, database: AnyDatabase, engine: str) -> None:
    """The watermark stays with the clock: what changes on the next nights is seen, beside the row of 2099."""
    make_orders(database, engine)
    root = tmp_path / "tree"
    database.execute("INSERT INTO orders VALUES (1, '2023-01-02 01:00:00', '2099-01-01 00:00:00', 'a slip')")
    run_well(tmp_path, database.source, by_change(root))
    assert export_file(root)["watermark"]["value"] == WATERMARK
    for key in (2, 3):
        database.execute(
            f"INSERT INTO orders VALUES ({key}, '2023-01-05 01:00:00', '{NEXT[:-1]}{5 + key}', 'n')"
        )
        outcome = run_well(tmp_path, database.source, by_change(root))
        assert_holds(root, orders(database))
        assert outcome.partitions_unread == 4 + (key - 2)
    assert export_file(root)["watermark"]["value"] == f"{WATERMARK[:-1]}8"


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_without_a_cursor_are_read_each_night_or_have_a_fallback(
    tmp_path: Path, database: AnyDatabase, engine: str
) -> None:
    """A row whose cursor is NULL may always have changed; a fallback tells when it was made."""
    make_orders(database, engine)
    database.execute("UPDATE orders SET updated_at = NULL WHERE id IN (20, 40)")
    alone, backed = tmp_path / "alone", tmp_path / "backed"
    more = {"cursor_fallback_column": "created_at"}
    run_well(tmp_path, database.source, by_change(alone))
    run_well(tmp_path, database.source, by_change(backed, **more))
    database.execute(
        "UPDATE orders SET note = 'silent' WHERE id = 20; "
        "INSERT INTO orders VALUES (1, '2023-02-02 00:00:00', NULL, 'made, never changed')"
    )
    old = orders(database)

    run_well(tmp_path, database.source, by_change(alone))
    outcome = run_well(tmp_path, database.source, by_change(backed, **more))

    assert_holds(alone, orders(database))
    silent = [row if row[0] != 20 else (*row[:3], "first") for row in old[SECOND]]
    assert_holds(backed, {**old, SECOND: sorted(silent, key=repr)})
    assert outcome.partitions_written == 1
    assert export_file(backed)["watermark"] == {
        "column": "updated_at",
        "fallback_column": "created_at",
        "type": "timestamp[us]",
        "value": "2023-02-02T00:00:00.000000",
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_a_number_that_grows_is_a_cursor(tmp_path: Path, database: AnyDatabase, engine: str) -> None:
    """Numbers are kept to the last digit, and their lag is a number."""
    kind = {"postgres": "numeric(38,10)", "mariadb": "decimal(38,10)", "sqlite": "BIGINT"}[engine]
    first, second = ("9007199254740993.0000000001", "9007199254740993.0000000002")
    if engine == "sqlite":
        first, second = "9007199254740993", "9007199254740994"
    make_orders(database, engine)
    database.execute(
        f"ALTER TABLE orders ADD COLUMN version {kind}; UPDATE orders SET version = id; "
        f"UPDATE orders SET version = {first} WHERE id = 20"
    )
    root, lagging = tmp_path / "tree", tmp_path / "lagging"
    lag = {"lag": 9007199254740993 - 30}
    for place, more in ((root, {}), (lagging, lag)):
        run_well(tmp_path, database.source, by_change(place, cursor_column="version", **more))
        assert export_file(place)["watermark"]["value"] == first
    database.execute(
        f"UPDATE orders SET note = 'x', version = {second} WHERE id = 30; "
        "UPDATE orders SET note = 'late', version = 31 WHERE id = 10"
    )

    one = run_well(tmp_path, database.source, by_change(root, cursor_column="version"))
    two = run_well(tmp_path, database.source, by_change(lagging, cursor_column="version", **lag))

    assert (one.partitions_written, two.partitions_written) == (1, 2)
    assert export_file(root)["watermark"]["value"] == second
    assert {row[3] for row in orders(database)[DAYS[0]]} == {"late", "first"}


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_a_run_that_fails_has_not_advanced_the_watermark(
    tmp_path: Path, database: AnyDatabase, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it broke off before the first partition or after the last, the next run sees the changes."""
    make_orders(database, engine)
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, by_change(root))
    for key, step in enumerate(("publish", "complete"), 1):
        database.execute(
            f"INSERT INTO orders VALUES ({key}, '2023-01-02 01:00:00', '{NEXT[:-1]}{6 + key}', 'n')"
        )
        before = export_file(root)["watermark"]

        def fail(*_: object, **__: object) -> None:
            raise OSError("cut off")

        monkeypatch.setattr(Publisher, step, fail)
        with pytest.raises(OSError, match="cut off"):
            run_one(tmp_path, database.source, by_change(root))
        monkeypatch.undo()
        assert export_file(root)["watermark"] == before

        run_well(tmp_path, database.source, by_change(root))
        assert_holds(root, orders(database))
        assert export_file(root)["watermark"] != before
        assert_valid(root)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_tree_goes_on_from_itself_and_begins_anew_where_it_must(
    tmp_path: Path, database: AnyDatabase, engine: str
) -> None:
    """The tree is the only state; `mode: full` keeps the watermark, other columns or cursors ask for all."""
    make_orders(database, engine)
    first, root = tmp_path / "first", tmp_path / "moved"
    run_well(tmp_path, database.source, by_change(first, mode="full", cursor_column=None))
    assert "watermark" not in export_file(first)
    told = run_well(tmp_path, database.source, by_change(first))
    assert any("no watermark yet: everything is read" in w for w in told.warnings)
    first.rename(root)
    run_well(tmp_path, database.source, by_change(root, mode="full", cursor_column=None))
    assert export_file(root)["watermark"]["value"] == WATERMARK
    assert run_well(tmp_path, database.source, by_change(root)).partitions_unread == 6

    for more, why in (
        ({"cursor_column": "created_at"}, "the watermark of the tree is of column 'updated_at'"),
        ({"exclude": ["note"]}, "'note' is gone"),
    ):
        told = run_well(tmp_path, database.source, by_change(root, **more))
        assert any(why in w and w.endswith("everything is read") for w in told.warnings), told.warnings
        assert told.partitions_unread == 0
        assert_valid(root)
        run_well(tmp_path, database.source, by_change(root))

    database.execute(
        f"{orders_table(engine, 'others')}; INSERT INTO others SELECT * FROM orders WHERE id < 50"
    )
    told = run_well(tmp_path, database.source, by_change(root, table="others", vanished="remove"))
    assert any("is of another table" in w for w in told.warnings), told.warnings
    assert set(manifests(root)) == set(DAYS[:4])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_plan_shows_the_partitions_that_have_changed(
    tmp_path: Path, database: AnyDatabase, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each with the rows that will be read, since when, and how many are left alone."""
    make_orders(database, engine)
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, by_change(root))
    database.execute(f"UPDATE orders SET updated_at = '{NEXT}' WHERE id IN (20, 21, 90)")
    config = write_config(tmp_path, database.source, by_change(root))

    told = run_command(capsys, "plan", "--config", config, "--json")

    (outcome,) = told.exports
    assert [(p["value"], p["expected_rows"]) for p in outcome["partitions"]] == [
        (SECOND, 3),
        (DAYS[3], 4),
        (NULL, 1),
    ]
    assert outcome["partitions_unread"] == 4
    assert outcome["selected_by"] == f"3 partitions with 4 rows from 'updated_at' = {WATERMARK} on"
    lines = run_command(capsys, "plan", "--config", config).lines
    assert any(line.split() == ["left", "alone", "4", "live", "partitions"] for line in lines)


@pytest.mark.parametrize("engine", ENGINES)
def test_windows_that_are_asked_for_leave_the_watermark(
    tmp_path: Path, database: AnyDatabase, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--partition` reads that window alone; what else has changed is seen by the next run."""
    make_orders(database, engine)
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, by_change(root))
    old = orders(database)
    database.execute(f"UPDATE orders SET note = 'x', updated_at = '{NEXT}' WHERE id IN (20, 30)")
    config = write_config(tmp_path, database.source, by_change(root))

    assert run_command(capsys, "run", "--config", config, "--partition", SECOND).exit_code == 0

    assert_holds(root, mixed(old, orders(database), {SECOND}))
    assert export_file(root)["watermark"]["value"] == WATERMARK
    assert run_command(capsys, "run", "--config", config).exit_code == 0
    assert_holds(root, orders(database))


@pytest.mark.parametrize(
    ("more", "error", "hint"),
    [
        (
            {"cursor_column": "changed_at"},
            "$.exports[0].cursor_column: no column 'changed_at' in the source",
            "did you mean 'created_at'?",
        ),
        (
            {"cursor_column": "note"},
            "$.exports[0].cursor_column: column 'note' is varchar(40), expected a date, a timestamp or",
            "name a column that every insert and update advances, such as updated_at; or cast it",
        ),
        (
            {"cursor_column": "price"},
            "it is a float, which is not exact",
            "name a column that every insert and update advances",
        ),
        (
            {"cursor_fallback_column": "id"},
            "$.exports[0].cursor_fallback_column: column 'id' is",
            "name a column of the same type, or cast one of them in a query",
        ),
        ({"lag": 100}, "$.exports[0].lag: column 'updated_at' is", "write a time, such as 15 minutes"),
        (
            {"cursor_column": "id", "lag": "1 hour"},
            "$.exports[0].lag: column 'id' is",
            "write a number, without a unit",
        ),
    ],
)
@pytest.mark.parametrize("engine", ["sqlite", "mariadb"])
def test_a_cursor_without_an_order_is_refused_with_the_mend(
    tmp_path: Path,
    database: AnyDatabase,
    engine: str,
    capsys: pytest.CaptureFixture[str],
    more: dict[str, Any],
    error: str,
    hint: str,
) -> None:
    """`check`, `plan` and `run` say what stands against the cursor, and nothing is written."""
    make_orders(database, engine)
    database.execute("ALTER TABLE orders ADD COLUMN price double")
    config = write_config(tmp_path, database.source, by_change(tmp_path / "tree", **more))
    for command in ("check", "plan", "run"):
        told = run_command(capsys, command, "--config", config, "--json")

        assert told.exit_code == 2
        assert error in told.errors[0]
        assert told.errors[1].startswith(f"Hint: {hint}")
        assert not (tmp_path / "tree").exists()


@pytest.mark.parametrize("engine", ["postgres", "mariadb"])
def test_with_indexes_no_statement_passes_over_the_table(
    tmp_path: Path, database: Database, engine: str
) -> None:
    """Whatever asks for rows of a night in which little has changed is served by an index."""
    numbers = {
        "postgres": "generate_series(0, 29999) AS n",
        "mariadb": "(SELECT seq AS n FROM seq_0_to_29999) AS s",
    }
    at = {
        "postgres": "timestamp '{0}' + n * {1} * interval '1 second'",
        "mariadb": "timestamp '{0} 00:00:00' + INTERVAL n * {1} SECOND",
    }[engine]
    analyze = {"postgres": "ANALYZE orders", "mariadb": "ANALYZE TABLE orders"}[engine]
    database.execute(
        f"{orders_table(engine)}; INSERT INTO orders SELECT n, {at.format('2023-01-01', 864)}, "
        f"{at.format('2024-01-01', 1)}, 'first' FROM {numbers[engine]}; "
        "CREATE INDEX by_change ON orders (updated_at); CREATE INDEX by_day ON orders (created_at)"
    )
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, by_change(root))
    database.execute(f"UPDATE orders SET updated_at = '2024-06-01 00:00:00' WHERE id IN (5, 1205); {analyze}")

    with database.recording() as statements:
        outcome = run_well(tmp_path, database.source, by_change(root))

    assert (outcome.partitions_written, outcome.partitions_unread) == (2, 297)
    assert_holds(root, orders(database))
    asked = {
        s
        for s in map(_query, statements)
        if s.startswith("SELECT") and any(sign in s.upper() for sign in ("FROM (SELECT", "MAX(", "CTID"))
    }
    # What has changed, and the rows; in MariaDB the probe before them.
    assert len(asked) >= {"postgres": 2, "mariadb": 3}[engine]
    for query in asked:
        plan = " ".join(str(cell) for row in database.fetch(f"EXPLAIN {query}") for cell in row)
        assert "by_change" in plan or "by_day" in plan, (query, plan)
        assert "Seq Scan" not in plan, (query, plan)


def _query(statement: str) -> str:
    """Give the query that a COPY reads, or the statement itself."""
    return statement.removeprefix("COPY (").rpartition(") TO STDOUT")[0] or statement


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_partition_that_failed_is_read_again(
    tmp_path: Path, database: AnyDatabase, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the watermark has gone on with the others, the next run makes it whole."""
    make_orders(database, engine)
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, by_change(root))
    old = orders(database)
    database.execute(f"UPDATE orders SET note = 'x', updated_at = '{NEXT}' WHERE id IN (20, 30)")
    publish = LocalDestination.publish

    def refusing(destination: LocalDestination, staged: Sequence[LocalStaged]) -> None:
        if any(f"={SECOND}/" in file.target for file in staged):
            raise DestinationUnavailable("no room")
        publish(destination, staged)

    monkeypatch.setattr(LocalDestination, "publish", refusing)
    assert run_one(tmp_path, database.source, by_change(root)).exit_code == 3
    monkeypatch.undo()
    assert_holds(root, mixed(old, orders(database), {THIRD}))
    assert export_file(root)["watermark"]["value"] == NEXT.replace(" ", "T")

    run_well(tmp_path, database.source, by_change(root), validate=True)

    assert_holds(root, orders(database))
    assert export_file(root)["status"] == "complete"


@pytest.mark.parametrize(("engine", "indexed"), [("sqlite", True), ("postgres", True), ("mariadb", False)])
def test_very_many_days_that_lie_apart_are_read_together(
    tmp_path: Path, database: AnyDatabase, engine: str, indexed: bool
) -> None:
    """Of 700 days every other one has changed: their gaps are read with them, and not written."""
    first = dt.datetime(2020, 1, 1)
    days = [(n, first + dt.timedelta(days=n)) for n in range(700)]
    values = ", ".join(f"({n}, '{day}', '2023-01-01 00:00:00', 'first')" for n, day in days)
    database.execute(f"{orders_table(engine)}; INSERT INTO orders VALUES {values}, (-1, NULL, NULL, 'first')")
    if indexed:
        database.execute("CREATE INDEX by_day ON orders (created_at)")
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, by_change(root))
    database.execute(
        "UPDATE orders SET note = 'silent' WHERE id % 2 = 1; "
        "UPDATE orders SET note = 'told', updated_at = '2023-01-02 00:00:00' WHERE id % 2 = 0; "
        "UPDATE orders SET updated_at = '2022-01-01 00:00:00' WHERE id % 2 = 1"
    )

    outcome = run_well(tmp_path, database.source, by_change(root))

    assert (outcome.partitions_written, outcome.partitions_unread) == (350, 350)
    notes = {row[0]: row[3] for rows in rows_by_manifest(root).values() for row in rows}
    assert notes == {-1: "first", **{n: "first" if n % 2 else "told" for n, _ in days}}
    assert_valid(root)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_date_is_a_cursor(tmp_path: Path, database: AnyDatabase, engine: str) -> None:
    """All rows of the last date are read again, and with a lag those of whole days before it."""
    make_orders(database, engine)
    database.execute(
        "ALTER TABLE orders ADD COLUMN changed_on date; UPDATE orders SET changed_on = '2023-02-01'; "
        "UPDATE orders SET changed_on = '2023-02-03' WHERE id = 20"
    )
    root, lagging = tmp_path / "tree", tmp_path / "lagging"
    variants: list[tuple[Path, dict[str, Any]]] = [(root, {}), (lagging, {"lag": "30 hours"})]
    for place, more in variants:
        run_well(tmp_path, database.source, by_change(place, cursor_column="changed_on", **more))
        assert export_file(place)["watermark"] == {
            "column": "changed_on",
            "type": "date32",
            "value": "2023-02-03",
        }
    database.execute(
        "UPDATE orders SET note = 'the same day', changed_on = '2023-02-03' WHERE id = 30; "
        "UPDATE orders SET note = 'two days before', changed_on = '2023-02-01' WHERE id = 10"
    )

    outcomes = [
        run_well(tmp_path, database.source, by_change(place, cursor_column="changed_on", **more))
        for place, more in variants
    ]

    assert [o.partitions_written for o in outcomes] == [1, 2]
    assert [o.partitions_unread for o in outcomes] == [5, 0]  # a lag of 30 hours is two days
