"""`strategy: append` adds new rows to partitions, none of them twice, and replaces nothing that stands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rivet.destination.local import LocalStaged
from rivet.errors import DestinationUnavailable
from rivet.publish.publisher import Publisher
from tests.run.appending import added, appending, assert_accounted, assert_only_added
from tests.run.buckets import PATH, STORES, Bucket, copied, rows_in_store
from tests.run.changing import DAYS, WATERMARK, assert_holds, make_orders, orders
from tests.run.command import run_command, write_config
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.nights import assert_valid, export_file
from tests.run.running import run_one, run_well
from tests.run.trees import NULL, manifests, rows_by_manifest, snapshot
from tests.servers.sqlite import SqliteDatabase

SECOND, THIRD = DAYS[1], DAYS[2]
NEXT = "2023-02-01 12:00:00.000006"
# With a key and without, and with a lag: rows are compared from the bound on in each.
VARIANTS: dict[str, dict[str, Any]] = {
    "whole rows": {},
    "a key": {"unique_key": ["ID"]},
    "lag": {"lag": "2 hours"},
}
ALL, LAGGING, WHOLE = set(VARIANTS), {"lag"}, {"whole rows", "lag"}
# What happens at the source, and where the rows that are new or changed are added as further ones.
CHANGES: dict[str, tuple[str, set[str]]] = {
    "a microsecond above": (
        f"INSERT INTO orders VALUES (1, '2023-01-02 01:00:00', '{NEXT}', 'new')",
        ALL,
    ),
    "the very watermark": (
        "INSERT INTO orders VALUES (1, '2023-01-02 01:00:00', '2023-02-01 12:00:00.000005', 'new')",
        ALL,
    ),
    "a new day, and NULL": (
        f"INSERT INTO orders VALUES (1, '2024-01-01 00:00:00', '{NEXT}', 'new'), (2, NULL, '{NEXT}', 'new')",
        ALL,
    ),
    "from the future": (
        "INSERT INTO orders VALUES (1, '2023-01-02 01:00:00', '2099-01-01 00:00:00', 'a slip')",
        ALL,
    ),
    "without a cursor": ("INSERT INTO orders VALUES (1, '2023-01-02 01:00:00', NULL, 'new')", ALL),
    "updated": (f"UPDATE orders SET note = 'x', updated_at = '{NEXT}' WHERE id = 20", ALL),
    "moved": (
        f"UPDATE orders SET created_at = '2023-01-03 03:00:00', updated_at = '{NEXT}' WHERE id = 20",
        ALL,
    ),
    "moved in silence, at the watermark": (
        "UPDATE orders SET created_at = '2023-01-03 03:00:00' WHERE id = 91",
        ALL,
    ),
    "committed late": (
        "INSERT INTO orders VALUES (1, '2023-01-02 01:00:00', '2023-02-01 11:00:00', 'late')",
        LAGGING,
    ),
    "updated in silence, at the watermark": ("UPDATE orders SET note = 'silent' WHERE id = 91", WHOLE),
    "updated in silence": ("UPDATE orders SET note = 'silent' WHERE id = 20", set()),
    "deleted": ("DELETE FROM orders WHERE id IN (20, 91)", set()),
    "a day emptied": ("DELETE FROM orders WHERE id IN (30, 31, 32)", set()),
}


def _pairs() -> list[Any]:
    """Give each change with SQLite and some with the others, with which the rest are among the long tests."""
    return [
        pytest.param(
            engine,
            change,
            marks=[] if engine == "sqlite" or turn % 6 == place else [pytest.mark.long],
        )
        for turn, change in enumerate(CHANGES)
        for place, engine in enumerate(ENGINES)
    ]


@pytest.mark.parametrize(("engine", "change"), _pairs())
def test_what_is_added_and_what_is_missed(
    tmp_path: Path, database: AnyDatabase, engine: str, change: str
) -> None:
    """Each variant adds what the table of its page says, once, over two nights, and replaces no file."""
    make_orders(database, engine)
    old = orders(database)
    for name, more in VARIANTS.items():
        run_well(tmp_path, database.source, appending(tmp_path / name, **more))
        assert_holds(tmp_path / name, old)
    statement, seen = CHANGES[change]
    database.execute(statement)
    expected = added(old, orders(database))

    for name, more in VARIANTS.items():
        root = tmp_path / name
        before = snapshot(root)
        run_well(tmp_path, database.source, appending(root, **more))
        assert_holds(root, expected if name in seen else old)
        again = run_well(tmp_path, database.source, appending(root, **more))

        assert_holds(root, expected if name in seen else old)
        assert again.partitions_written == 0
        assert_only_added(before, root)
        assert_accounted(root)
        value = export_file(root)["watermark"]["value"]
        assert value == (WATERMARK if NEXT not in statement else NEXT.replace(" ", "T"))


@pytest.mark.parametrize("more", [{}, {"unique_key": ["id", "note"]}], ids=["whole rows", "a key"])
@pytest.mark.parametrize("engine", ENGINES)
def test_of_many_rows_with_one_timestamp_none_is_lost_or_doubled(
    tmp_path: Path, database: AnyDatabase, engine: str, more: dict[str, Any]
) -> None:
    """Of 550 rows that share a microsecond some arrive later; without a key equal rows count by number."""
    make_orders(database, engine)
    at = "'2023-03-01 00:00:00', '2023-04-01 00:00:00.123456'"
    rows = [f"({1000 + n}, {at}, 'same')" for n in range(550)]
    for night in (rows[:400], rows[400:401], rows[401:]):
        database.execute(f"INSERT INTO orders VALUES {', '.join(night)}")
        run_well(tmp_path, database.source, appending(tmp_path / "tree", **more))
        assert_holds(tmp_path / "tree", orders(database))
    database.execute(
        "INSERT INTO orders VALUES (2000, '2023-03-01 00:00:00', '2023-04-01 00:00:00.123457', 'a neighbour')"
    )
    run_well(tmp_path, database.source, appending(tmp_path / "tree", **more))

    assert_holds(tmp_path / "tree", orders(database))
    (manifest,) = (m for label, m in manifests(tmp_path / "tree").items() if label == "2023-03-01")
    ends = [(p["row_count"], *p["watermark"].values()) for p in manifest["parts"]]
    same, above = "2023-04-01T00:00:00.123456", "2023-04-01T00:00:00.123457"
    assert ends == [(400, same, same), (1, same, same), (149, same, same), (1, above, above)]
    assert_accounted(tmp_path / "tree")


@pytest.mark.parametrize("engine", ENGINES)
def test_equal_rows_are_added_by_number_and_floats_by_their_bits(
    tmp_path: Path, database: AnyDatabase, engine: str
) -> None:
    """Of three equal rows of which two stand one is added; what holds no number or bytes is known again."""
    double = {"postgres": "double precision", "mariadb": "double", "sqlite": "REAL"}[engine]
    raw = {"postgres": "bytea", "mariadb": "blob", "sqlite": "BLOB"}[engine]
    moment = {"postgres": "timestamp", "mariadb": "datetime(6)", "sqlite": "DATETIME"}[engine]
    bytes_ = {"postgres": "'\\x00ff'", "mariadb": "x'00ff'", "sqlite": "x'00ff'"}[engine]
    database.execute(f"CREATE TABLE orders (at {moment}, x {double}, raw {raw}, n varchar(9))")
    row = f"('2023-01-01 00:00:00', -0.0, {bytes_}, NULL)"
    other = f"('2023-01-01 00:00:00', 0.1, {bytes_}, 'NULL')"
    export = appending(tmp_path / "tree", partition_by="at", cursor_column="at")
    total = 0
    for rows in ([row, row, other], [row], [], [other, row]):
        if rows:
            database.execute(f"INSERT INTO orders VALUES {', '.join(rows)}")
        outcome = run_well(tmp_path, database.source, export)
        total += len(rows)
        assert outcome.rows == total
        assert outcome.partitions_written == bool(rows)
    (held,) = rows_by_manifest(tmp_path / "tree").values()
    assert [str(row[3]) for row in held].count("None") == 4
    assert_accounted(tmp_path / "tree")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_fallback_and_numbers_bound_what_is_added(
    tmp_path: Path, database: AnyDatabase, engine: str
) -> None:
    """A fallback counts where the cursor is NULL; ranges of numbers are kept to the last digit."""
    kind = {"postgres": "numeric(38,10)", "mariadb": "decimal(38,10)", "sqlite": "BIGINT"}[engine]
    first = "9007199254740993" if engine == "sqlite" else "9007199254740993.0000000001"
    second = "9007199254740994" if engine == "sqlite" else "9007199254740993.0000000002"
    make_orders(database, engine)
    database.execute(
        f"ALTER TABLE orders ADD COLUMN version {kind}; UPDATE orders SET version = id; "
        f"UPDATE orders SET version = {first}, updated_at = NULL WHERE id = 20"
    )
    exports = {
        tmp_path / "number": appending(tmp_path / "number", cursor_column="version"),
        tmp_path / "backed": appending(tmp_path / "backed", cursor_fallback_column="created_at"),
    }
    for export in exports.values():
        run_well(tmp_path, database.source, export)
    database.execute(
        f"INSERT INTO orders VALUES (1, '{SECOND} 01:00:00', NULL, 'too low for one', {second}), "
        "(2, '2023-02-02 01:00:00', NULL, 'too low for the other', 3)"
    )

    for root, export in exports.items():
        assert run_well(tmp_path, database.source, export).partitions_written == 1
        assert run_well(tmp_path, database.source, export).partitions_written == 0
        assert_accounted(root)

    held = {
        root.name: {row[0] for rows in rows_by_manifest(root).values() for row in rows} for root in exports
    }
    assert (1 in held["number"], 2 in held["number"]) == (True, False)
    assert (1 in held["backed"], 2 in held["backed"]) == (False, True)
    parts = manifests(tmp_path / "number")[SECOND]["parts"]
    assert [part["watermark"]["maximum"].rstrip("0") for part in parts] == [first, second]


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_a_key_that_tells_no_rows_apart_is_refused(
    tmp_path: Path, database: AnyDatabase, engine: str
) -> None:
    """Where two rows have the key and the cursor of one that stands, neither is left out in silence."""
    make_orders(database, engine)
    export = appending(tmp_path / "tree", unique_key=["note"])
    run_well(tmp_path, database.source, export)
    before = snapshot(tmp_path / "tree")
    database.execute(
        "INSERT INTO orders VALUES (1, '2023-01-04 01:00:00', '2023-02-01 12:00:00.000005', 'first')"
    )

    outcome = run_one(tmp_path, database.source, export)

    assert outcome.exit_code == 2
    assert "$.exports[0].unique_key: several rows of partition 'created_at=2023-01-04'" in str(outcome.error)
    assert "name columns that no two rows share" in str(outcome.hint)
    assert snapshot(tmp_path / "tree") == before


@pytest.mark.parametrize("engine", ["sqlite", "mariadb"])
def test_a_run_that_fails_loses_nothing_and_doubles_nothing(
    tmp_path: Path, database: AnyDatabase, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken off before the first partition, between two, or after the last, the next run adds the rest."""
    make_orders(database, engine)
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, appending(root))
    for key, step in enumerate(("publish", "_publish_wave", "complete"), 1):
        database.execute(
            f"INSERT INTO orders VALUES ({key}, '{SECOND} 01:00:00', '{NEXT[:-1]}{5 + key}', 'n'), "
            f"({100 + key}, '{THIRD} 01:00:00', '{NEXT[:-1]}{5 + key}', 'n')"
        )
        mark = export_file(root)["watermark"]
        whole, waves = getattr(Publisher, step), []

        def fail(publisher: Publisher, *given: Any, **_: Any) -> None:
            if step == "_publish_wave":  # noqa: B023 - called in this turn
                waves.append(1)  # noqa: B023
                if len(waves) < 2:  # noqa: B023
                    publisher._wave_partitions = 1
                    whole(publisher, given[0][:1])  # noqa: B023
            raise OSError("cut off")

        monkeypatch.setattr(Publisher, step, fail)
        with pytest.raises(OSError, match="cut off"):
            run_one(tmp_path, database.source, appending(root))
        monkeypatch.undo()
        assert export_file(root)["watermark"] == mark

        run_well(tmp_path, database.source, appending(root))
        assert_holds(root, orders(database))
        assert export_file(root)["watermark"] != mark
        assert_accounted(root)


def test_a_partition_that_fails_is_added_to_by_the_next_run(
    tmp_path: Path, sqlite_database: AnyDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are added to, the watermark stays, and no row of these comes twice."""
    make_orders(sqlite_database, "sqlite")
    root = tmp_path / "tree"
    run_well(tmp_path, sqlite_database.source, appending(root))
    sqlite_database.execute(
        f"INSERT INTO orders VALUES (1, '{SECOND} 01:00:00', '{NEXT}', 'n'), "
        f"(2, '{THIRD} 01:00:00', '{NEXT}', 'n'), (3, '2024-01-01 00:00:00', '{NEXT}', 'n')"
    )
    publish = LocalStaged.publish

    def refuse(staged: LocalStaged, *given: Any) -> None:
        if SECOND in staged.target or "2024" in staged.target:
            raise DestinationUnavailable("no room")
        publish(staged, *given)

    monkeypatch.setattr(LocalStaged, "publish", refuse)
    outcome = run_one(tmp_path, sqlite_database.source, appending(root))
    monkeypatch.undo()

    assert outcome.exit_code == 3
    assert export_file(root)["watermark"]["value"] == WATERMARK
    states = {e["value"]: e["state"] for e in export_file(root)["partitions"]}
    assert {label for label, state in states.items() if state == "failed"} == {SECOND, "2024-01-01"}
    run_well(tmp_path, sqlite_database.source, appending(root))
    assert_holds(root, orders(sqlite_database))
    assert_accounted(root)


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_what_was_added_is_never_replaced_unasked(tmp_path: Path, database: AnyDatabase, engine: str) -> None:
    """Other columns or a lost export file end with exit code 2, and `mode: full` writes all anew."""
    make_orders(database, engine)
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, appending(root))
    database.execute(f"UPDATE orders SET note = 'x', updated_at = '{NEXT}' WHERE id = 20")
    run_well(tmp_path, database.source, appending(root))
    kept = (root / "_rivet_export.json").read_bytes()
    for more, why in (
        ({"exclude": ["note"]}, "the columns have changed since run"),
        ({"cursor_column": "created_at"}, "the watermark of the tree is of column 'updated_at'"),
        ({}, "the export file is lost"),
    ):
        if not more:
            (root / "_rivet_export.json").unlink()
        before = snapshot(root)
        outcome = run_one(tmp_path, database.source, appending(root, **more))
        assert (outcome.exit_code, str(outcome.error).split(": ")[0]) == (2, "$.exports[0].strategy")
        assert why in str(outcome.error)
        assert "run once with mode: full" in str(outcome.hint)
        assert snapshot(root) == before
    (root / "_rivet_export.json").write_bytes(kept)

    full = {"mode": "full", "cursor_column": None, "strategy": None, "exclude": ["note"]}
    run_well(tmp_path, database.source, appending(root, **full))

    assert_holds(root, orders(database, "id, created_at, updated_at"))
    assert not any("part_runs" in e for e in export_file(root)["partitions"])
    database.execute(f"INSERT INTO orders VALUES (1, '{SECOND} 01:00:00', '{NEXT[:-1]}7', 'n')")
    run_well(tmp_path, database.source, appending(root, exclude=["note"]))
    assert_holds(root, orders(database, "id, created_at, updated_at"))
    # Another cursor begins anew where nothing stands but what the source has.
    run_well(tmp_path, database.source, appending(root, **full))
    told = run_well(tmp_path, database.source, appending(root, exclude=["note"], cursor_column="created_at"))
    assert any(w.endswith("everything is read") for w in told.warnings)
    assert export_file(root)["watermark"]["column"] == "created_at"
    assert_accounted(root)


def test_what_was_added_outlives_a_night_of_rewriting(
    tmp_path: Path, sqlite_database: SqliteDatabase
) -> None:
    """Where the other strategy ran in between, versions stand elsewhere, and are not replaced unasked."""
    make_orders(sqlite_database, "sqlite")
    root = tmp_path / "tree"
    run_well(tmp_path, sqlite_database.source, appending(root))
    for statement, strategy in (
        (f"UPDATE orders SET note = 'x', updated_at = '{NEXT}' WHERE id = 20", "append"),
        (f"INSERT INTO orders VALUES (1, '{THIRD}', '{NEXT[:-1]}7', 'n')", "append"),
        (f"INSERT INTO orders VALUES (2, '{THIRD}', '{NEXT[:-1]}8', 'n')", "rewrite"),
    ):
        sqlite_database.execute(statement)
        run_well(tmp_path, sqlite_database.source, appending(root, strategy=strategy))
    assert len(rows_by_manifest(root)[SECOND]) == 4
    before = snapshot(root)

    outcome = run_one(tmp_path, sqlite_database.source, appending(root, exclude=["note"]))

    assert outcome.exit_code == 2
    assert "the columns have changed since run" in str(outcome.error)
    assert snapshot(root) == before


@pytest.mark.parametrize("engine", ["sqlite", "mariadb"])
def test_windows_that_are_asked_for_are_written_anew(
    tmp_path: Path, database: AnyDatabase, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """There versions, moved and deleted rows go, parts of other runs too; the watermark stays."""
    make_orders(database, engine)
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, appending(root))
    database.execute(
        f"UPDATE orders SET note = 'x', updated_at = '{NEXT}' WHERE id = 20; DELETE FROM orders WHERE id = 21"
    )
    run_well(tmp_path, database.source, appending(root))
    assert {row[0] for row in rows_by_manifest(root)[SECOND]} == {20, 21, 22}
    entry = next(e for e in export_file(root)["partitions"] if e["value"] == SECOND)
    assert (entry["row_count"], len(entry["part_runs"])) == (4, 1)
    mark = export_file(root)["watermark"]
    config = write_config(tmp_path, database.source, appending(root))

    assert run_command(capsys, "run", "--config", config, "--partition", SECOND).exit_code == 0

    assert_holds(root, orders(database))
    assert export_file(root)["watermark"] == mark
    run_well(tmp_path, database.source, appending(root))
    assert_holds(root, orders(database))
    assert_accounted(root)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_plan_shows_the_rows_that_would_be_read(
    tmp_path: Path, database: AnyDatabase, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each partition with the rows past the bound, since when, and how many are left alone."""
    make_orders(database, engine)
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, appending(root))
    database.execute(f"UPDATE orders SET updated_at = '{NEXT}' WHERE id IN (20, 21, 90)")
    config = write_config(tmp_path, database.source, appending(root))

    told = run_command(capsys, "plan", "--config", config, "--json")

    (outcome,) = told.exports
    assert [(p["value"], p["expected_rows"]) for p in outcome["partitions"]] == [
        (SECOND, 2),
        (DAYS[3], 1),
        (NULL, 1),
    ]
    assert outcome["partitions_unread"] == 4
    said = f"strategy: append, 3 partitions with 4 rows from 'updated_at' = {WATERMARK} on"
    assert outcome["selected_by"] == said


def test_what_is_damaged_is_not_added_to(
    tmp_path: Path, sqlite_database: AnyDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    """A manifest or a part that is gone or another one ends a run with exit code 4, and the mend mends it."""
    make_orders(sqlite_database, "sqlite")
    root = tmp_path / "tree"
    run_well(tmp_path, sqlite_database.source, appending(root))
    directory = root / f"created_at={DAYS[3]}"
    (part,) = directory.glob("*.parquet")
    manifest = directory / "manifest.json"
    whole = {path: path.read_bytes() for path in (part, manifest)}
    config = write_config(tmp_path, sqlite_database.source, appending(root))
    for path, data in (
        (manifest, None),
        (manifest, json.dumps(json.loads(whole[manifest]) | {"x": 1}).encode()),
        (part, None),
        (part, b"no Parquet at all"),
    ):
        path.unlink()
        if data is not None:
            path.write_bytes(data)
        outcome = run_one(tmp_path, sqlite_database.source, appending(root))
        assert outcome.exit_code == 4, outcome
        assert DAYS[3] in str(outcome.error)
        assert "--partition" in str(outcome.hint)
        path.write_bytes(whole[path])
    manifest.unlink()
    mended = run_command(capsys, "run", "--config", config, "--partition", DAYS[3])

    assert mended.exit_code == 0, mended.errors
    run_well(tmp_path, sqlite_database.source, appending(root))
    assert_holds(root, orders(sqlite_database))
    assert_valid(root)


@pytest.mark.parametrize("key", [None, ["id"]])
def test_a_cursor_that_fits_no_calendar_is_known_again(
    tmp_path: Path, postgres_database: AnyDatabase, key: list[str] | None
) -> None:
    """Its row is past every bound at the source, and in the tree NULL with a fallback that is below."""
    make_orders(postgres_database, "postgres")
    postgres_database.execute(f"INSERT INTO orders VALUES (1, '{SECOND}', 'infinity', 'odd')")
    root = tmp_path / "tree"
    export = appending(root, unique_key=key, unrepresentable="null", cursor_fallback_column="created_at")
    run_well(tmp_path, postgres_database.source, export)
    postgres_database.execute(f"INSERT INTO orders VALUES (2, '{SECOND}', '10000-01-01', 'odd')")
    for written in (1, 0):
        told = run_well(tmp_path, postgres_database.source, export, validate=True)
        assert told.partitions_written == written
    assert [row[0] for row in rows_by_manifest(root)[SECOND]] == [1, 2, 20, 21, 22]
    assert_accounted(root)


def test_values_that_fit_no_calendar_are_counted_once(tmp_path: Path, postgres_database: AnyDatabase) -> None:
    """Those of rows that stand and of rows that were added, by partition and in all."""
    make_orders(postgres_database, "postgres")
    postgres_database.execute(
        f"INSERT INTO orders VALUES (1, 'infinity', '{NEXT}', 'odd'), (2, '{SECOND}', 'infinity', 'odd')"
    )
    root = tmp_path / "tree"
    export = appending(root, unrepresentable="null", publish="eager")
    for key, odd in ((None, 1), (None, 1), (3, 2)):
        if key is not None:
            postgres_database.execute(
                f"INSERT INTO orders VALUES ({key}, 'infinity', '{NEXT}', 'odd'), (4, NULL, '{NEXT}', 'even')"
            )
        outcome = run_well(tmp_path, postgres_database.source, export, validate=True)
        assert outcome.unrepresentable_rows == {"created_at": odd, "updated_at": 1}
        assert manifests(root)[NULL]["unrepresentable_rows"] == {"created_at": odd}
    assert [row[0] for row in rows_by_manifest(root)[NULL]] == [1, 3, 4, 90]
    assert_accounted(root)


@pytest.mark.parametrize("store", STORES)
def test_rows_are_added_in_a_bucket(tmp_path: Path, postgres_database: AnyDatabase, bucket: Bucket) -> None:
    """Each object that stood stands still, and what its readers find there is the table, once."""
    make_orders(postgres_database, "postgres")
    export = appending(tmp_path, unique_key=["id"], lag="2 hours") | {
        "destination": {**bucket.section, "prefix": PATH}
    }
    environ = bucket.environment
    run_well(tmp_path, postgres_database.source, export, environ=environ)
    before = snapshot(copied(bucket, tmp_path / "before"))
    postgres_database.execute(
        f"INSERT INTO orders VALUES (1, '{SECOND} 01:00:00', '{NEXT}', 'n'), (2, NULL, '{NEXT}', 'n'), "
        f"(3, '2024-01-01', '{NEXT}', 'n'), (4, '{THIRD}', '2023-02-01 11:30:00', 'late')"
    )

    outcome = run_well(tmp_path, postgres_database.source, export, validate=True, environ=environ)
    again = run_well(tmp_path, postgres_database.source, export, validate=True, environ=environ)

    assert (outcome.partitions_written, again.partitions_written) == (4, 0)
    root = copied(bucket, tmp_path / "after")
    assert_holds(root, orders(postgres_database))
    assert rows_in_store(bucket) == sorted(
        (row for rows in orders(postgres_database).values() for row in rows), key=repr
    )
    assert_only_added(before, root)
    assert_accounted(root)
