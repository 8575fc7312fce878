"""Trees that are made for readers are read whole, by folder and by glob, timestamps intact, row for row."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pads
import pytest

from rivet.run import check, plan
from tests.readers.reading import (
    FILES,
    FOR_READERS,
    OLDEST_DUCKDB_WITH_NULL,
    WHOLE,
    by_duckdb,
    by_polars,
    by_pyarrow,
    label,
    values,
)
from tests.run.conftest import AnyDatabase
from tests.run.running import run_well, settings
from tests.run.trees import NULL

ENGINES = ("postgres", "sqlite")
DAY = 86_400_000_000
# Edges of days to the microsecond, and moments at random, in microseconds since 1970.
FIRST = 19_358 * DAY  # 2023-01-01
EDGES = [FIRST - 1, FIRST, FIRST + 1, FIRST + DAY - 1, FIRST + DAY, FIRST + 3 * DAY - 1, None, None]
MOMENTS = EDGES + [FIRST + random.Random(6).randrange(6 * DAY) for _ in range(300)]
INSTANT = {"postgres": "timestamptz", "sqlite": "TIMESTAMP WITH TIME ZONE"}


def _fill(database: AnyDatabase, engine: str) -> None:
    """Make `events` of these moments: as they are, as instants, as dates."""
    columns = f"id int PRIMARY KEY, naive timestamp, instant {INSTANT[engine]}, date date, note text"
    database.execute(f"CREATE TABLE events ({columns})")
    rows = []
    for number, moment in enumerate(MOMENTS):
        if moment is None:
            naive = instant = date = "NULL"
        elif engine == "postgres":
            naive = f"timestamp '1970-01-01' + {moment} * interval '1 microsecond'"
            instant = f"({naive}) AT TIME ZONE 'UTC'"
            date = f"({naive})::date"
        else:
            told = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=moment)
            naive = f"'{told.isoformat(' ', timespec='microseconds')}'"
            instant = naive[:-1] + "+00:00'"
            date = f"date({naive})"
        rows.append(f"({number}, {naive}, {instant}, {date}, 'note é {number}')")
    database.execute(f"INSERT INTO events VALUES {', '.join(rows)}")


def _tree(tmp_path: Path, database: AnyDatabase, by: str, **changes: Any) -> Path:
    manifest = changes.pop("manifest_name", "manifest.json")
    destination = {"type": "local", "path": f"{tmp_path}/tree/{{partition}}/", "manifest_name": manifest}
    export = {"name": "events", "table": "events", "partition_by": by, "destination": destination} | changes
    run_well(tmp_path, database.source, export, validate=True)
    return tmp_path / "tree"


def _assert_whole(table: pa.Table) -> None:
    """Compare all rows with what was put into the database."""
    assert values(table, "id") == list(range(len(MOMENTS)))
    assert values(table, "naive") == MOMENTS
    assert values(table, "instant") == MOMENTS
    assert [None if d is None else d.isoformat() for d in values(table, "date")] == list(map(label, MOMENTS))
    assert values(table, "note") == [f"note é {n}" for n in range(len(MOMENTS))]
    assert table.schema.field("naive").type.tz is None
    assert table.schema.field("instant").type.tz == "UTC"


@pytest.mark.parametrize("by", ["naive", "instant", "date"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_tree_made_for_readers_is_read_whole(
    engine: str, database: AnyDatabase, by: str, tmp_path: Path
) -> None:
    """With a key of its own and `_manifest.json`, by folder and by glob, with and without the label."""
    _fill(database, engine)
    root = _tree(tmp_path, database, by, **FOR_READERS)

    for name, read in WHOLE.items():
        table = read(root)
        _assert_whole(table)
        keys = values(table, "day")
        assert [str(k) if k else None for k in keys] == list(map(label, MOMENTS)), name
    for read in FILES.values():
        table = read(root)
        _assert_whole(table)
        assert "day" not in table.column_names
    _assert_whole(by_pyarrow(root))
    assert WHOLE["pyarrow"](root).schema.field("day").type == pa.string()
    assert WHOLE["duckdb"](root).schema.field("day").type == pa.date32()
    assert WHOLE["polars"](root).schema.field("day").type == pa.date32()


@pytest.mark.parametrize("engine", ENGINES)
def test_the_defaults_do_what_the_docs_say(engine: str, database: AnyDatabase, tmp_path: Path) -> None:
    """A key with the column's name hides the time of day or is refused; the files themselves are whole."""
    _fill(database, engine)
    root = _tree(tmp_path, database, "naive")
    midnights = [None if m is None else m // DAY * DAY for m in MOMENTS]

    for read in FILES.values():
        _assert_whole(read(root))
    shown = WHOLE["duckdb"](root)
    assert shown.schema.field("naive").type == pa.date32()
    assert [d and d.isoformat() for d in values(shown, "naive")] == list(map(label, MOMENTS))
    assert values(WHOLE["polars"](root), "naive") == midnights
    with pytest.raises(pa.ArrowTypeError, match="naive has incompatible types: timestamp"):
        by_pyarrow(root, partitioning="hive")
    with pytest.raises(pa.ArrowInvalid, match=r"manifest\.json"):
        by_pyarrow(root)
    with pytest.raises(pl.exceptions.InvalidOperationError, match="different file extensions"):
        pl.read_parquet(root)
    _assert_whole(by_pyarrow(root, exclude_invalid_files=True))


def test_a_check_says_what_readers_then_do(tmp_path: Path, sqlite_database: AnyDatabase) -> None:
    """What the defaults do to each reader stands in the check, and goes as the config is mended."""
    _fill(sqlite_database, "sqlite")
    export = {
        "name": "events",
        "table": "events",
        "partition_by": "naive",
        "destination": {"type": "local", "path": f"{tmp_path}/tree/{{partition}}/"},
    }
    config = settings(tmp_path, sqlite_database.source, export)
    (told,), (planned,) = check(config, listener=lambda _: None), plan(config, listener=lambda _: None)

    assert told.readers is not None
    assert "shows the label instead of 'naive'" in told.readers["DuckDB"][0]
    assert [
        "refuses two types" in told.readers["pyarrow"][0],
        "manifest.json" in told.readers["pyarrow"][1],
    ] == [
        True,
        True,
    ]
    assert "loses the time of 'naive'" in told.readers["Polars"][0]
    # A plan, which does not list the readers, says it in a line of its own.
    doubled = [[w for w in o.warnings if w.startswith("column 'naive' stands both")] for o in (told, planned)]
    assert [len(warnings) for warnings in doubled] == [0, 1]
    export |= {"partition_key": "day"}
    export["destination"] |= {"manifest_name": "_manifest.json"}  # type: ignore[operator]
    (told,) = check(settings(tmp_path, sqlite_database.source, export), listener=lambda _: None)
    assert told.readers is not None
    assert (told.readers["DuckDB"], told.readers["pyarrow"]) == ([], [])
    assert not any("stands both" in w for w in told.warnings)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_key_of_its_own_is_enough_where_manifests_are_left_out(
    engine: str, database: AnyDatabase, tmp_path: Path
) -> None:
    """With `manifest.json` globs read all, and pyarrow the folder once it may leave out what is no data."""
    _fill(database, engine)
    root = _tree(tmp_path, database, "instant", partition_key="day")

    for name in ("duckdb", "polars"):
        _assert_whole(WHOLE[name](root))
    with pytest.raises(pa.ArrowInvalid, match=r"manifest\.json"):
        by_pyarrow(root, partitioning="hive")
    table = by_pyarrow(root, partitioning="hive", exclude_invalid_files=True)
    _assert_whole(table)
    assert values(table, "day") == list(map(label, MOMENTS))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_date_that_was_dropped_comes_back_with_its_type(
    engine: str, database: AnyDatabase, tmp_path: Path
) -> None:
    """From the path: by inference in DuckDB and Polars, in pyarrow where the type is declared."""
    _fill(database, engine)
    root = _tree(tmp_path, database, "date", partition_column="drop", manifest_name="_manifest.json")
    declared = pads.partitioning(pa.schema([("date", pa.date32())]), flavor="hive")

    for table in (WHOLE["duckdb"](root), WHOLE["polars"](root), by_pyarrow(root, partitioning=declared)):
        assert table.schema.field("date").type == pa.date32()
        _assert_whole(table)
    assert WHOLE["pyarrow"](root).schema.field("date").type == pa.string()
    assert "date" not in by_polars(root).column_names
    by_day = pads.dataset(root, partitioning=declared).to_table(
        filter=pads.field("date") == dt.date(2023, 1, 2)
    )
    assert by_day.num_rows == sum(label(m) == "2023-01-02" for m in MOMENTS)


@pytest.mark.parametrize(("granularity", "length"), [("month", 7), ("year", 4)])
@pytest.mark.parametrize("engine", ENGINES)
def test_months_and_years_have_types_that_readers_infer(
    engine: str, database: AnyDatabase, granularity: str, length: int, tmp_path: Path
) -> None:
    """A month is text and a year a number; declared as the manifest says, both are the label."""
    _fill(database, engine)
    root = _tree(tmp_path, database, "naive", partition_granularity=granularity, **FOR_READERS)
    labels = [text and text[:length] for text in map(label, MOMENTS)]
    inferred = [text if granularity == "month" or not text else int(text) for text in labels]
    declared = pads.partitioning(pa.schema([("day", pa.string())]), flavor="hive")

    for read in WHOLE.values():
        table = read(root)
        _assert_whole(table)
        assert values(table, "day") == inferred
    for table in (
        by_duckdb(root, "hive_partitioning = true", "hive_types_autocast = false"),
        by_pyarrow(root, partitioning=declared),
        by_polars(root, hive_partitioning=True, hive_schema={"day": pl.String}),
    ):
        _assert_whole(table)
        assert values(table, "day") == labels
    for path in root.rglob("_manifest.json"):
        assert '"reader_type": "string"' in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["date", "naive"])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_partition_without_a_date_has_a_key_of_null(
    database: AnyDatabase, kind: str, tmp_path: Path
) -> None:
    """Its directory has Hive's name, and the readers named in the docs give NULL and can be asked for it."""
    assert tuple(map(int, duckdb.__version__.split(".")[:2])) >= OLDEST_DUCKDB_WITH_NULL
    database.execute(
        "CREATE TABLE events (id int, naive timestamp, date date);"
        "INSERT INTO events VALUES (1, '2023-01-01 00:00:00', '2023-01-01'), (2, NULL, NULL)"
    )
    root = _tree(tmp_path, database, kind, **FOR_READERS)

    assert {p.name for p in root.iterdir() if p.is_dir()} == {"day=2023-01-01", f"day={NULL}"}
    for name, read in WHOLE.items():
        assert [str(v) for v in values(read(root), "day")] == ["2023-01-01", "None"], name
    asked = "SELECT id FROM read_parquet('{}/**/*.parquet', hive_partitioning = true) WHERE day IS NULL"
    assert duckdb.sql(asked.format(root)).fetchall() == [(2,)]
    dataset = pads.dataset(root, partitioning="hive")
    assert dataset.to_table(filter=pads.field("day").is_null())["id"].to_pylist() == [2]
    frame = pl.scan_parquet(f"{root}/**/*.parquet", hive_partitioning=True)
    assert frame.filter(pl.col("day").is_null()).collect()["id"].to_list() == [2]
