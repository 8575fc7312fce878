"""Names with signs in them, names in other cases, and columns that came later, as readers see them."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pads
import pytest

from rivet.run import check
from tests.readers.reading import FILES, WHOLE, by_pyarrow, values
from tests.run.conftest import AnyDatabase
from tests.run.running import by_day, run_one, run_well, settings
from tests.servers.database import Database
from tests.servers.sqlite import SqliteDatabase

ENGINES = ("postgres", "mariadb", "sqlite")
# Every sign that Hive's rule escapes and a name may hold, and some that it leaves as they are.
SIGNS = "event date/time=é: 100% + #1 'x' \"y\" *?[^] {z} \\"
ESCAPED = (
    "event date%2Ftime%3Dé%3A 100%25 + %231 %27x%27 %22y%22 %2A%3F%5B%5E%5D %7Bz%7D %5C"  # written by hand
)
DAY = dt.date(2023, 1, 1)


def _quoted(name: str, engine: str) -> str:
    mark = "`" if engine == "mariadb" else '"'
    return mark + name.replace(mark, mark * 2) + mark


def _export(root: Path, **changes: Any) -> dict[str, Any]:
    export = by_day(root, **changes)
    return export | {"destination": export["destination"] | {"manifest_name": "_manifest.json"}}


def _facts(root: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in root.rglob("_manifest.json")]


@pytest.mark.parametrize("key", [None, SIGNS])
@pytest.mark.parametrize("engine", ENGINES)
def test_signs_in_a_key_are_escaped_once_and_read_back(
    engine: str, database: AnyDatabase, key: str | None, tmp_path: Path
) -> None:
    """Directories have Hive's name of the key, manifests its own, pyarrow gives that back; no row is lost.

    DuckDB and Polars do not unescape keys: they show the directory's name, and hide no column behind it. What
    a check says of them gives the key its own name.
    """
    column = SIGNS if key is None else "created at"
    database.execute(
        f"CREATE TABLE events (id int, {_quoted(column, engine)} date);"
        "INSERT INTO events VALUES (1, '2023-01-01'), (2, '2023-01-02'), (3, NULL)"
    )
    root = tmp_path / "base %2F + ü" / "tree"
    export = _export(root, name="a/b", partition_by=column, **({"partition_key": key} if key else {}))

    run_well(tmp_path, database.source, export, validate=True)

    days = ["2023-01-01", "2023-01-02", "__HIVE_DEFAULT_PARTITION__"]
    assert sorted(p.name for p in root.iterdir() if p.is_dir()) == [f"{ESCAPED}={day}" for day in days]
    assert all(p.name.startswith("a%2Fb__") for p in root.rglob("*.parquet"))
    for facts in _facts(root):
        assert (facts["export_name"], facts["partition"]["key"]) == ("a/b", SIGNS)
        assert facts["partition"]["column"] == column
    expected = [DAY, dt.date(2023, 1, 2), None]
    for read in FILES.values():
        assert values(read(root), column) == expected
    for name in ("duckdb", "polars"):
        table = WHOLE[name](root)
        assert (values(table, ESCAPED), values(table, column)) == (expected, expected), name
    declared = pads.partitioning(pa.schema([(SIGNS, pa.date32())]), flavor="hive")
    assert values(by_pyarrow(root, partitioning=declared), SIGNS) == expected
    (told,) = check(settings(tmp_path, database.source, export), listener=lambda _: None)
    assert told.readers is not None
    duckdb_says, polars_says = (told.readers[reader][0] for reader in ("DuckDB", "Polars"))
    for line in (duckdb_says, polars_says):
        assert line.startswith(f"calls the key {ESCAPED!r}, as the directory is: set partition_key")
    if key is not None:
        asked = duckdb_says.partition(" or select ")[2]
        query = f"SELECT {asked} FROM read_parquet('{root}/**/*.parquet', hive_partitioning = true)"
        assert values(duckdb.sql(f"{query} ORDER BY id").to_arrow_table(), key) == expected
        renamed = json.loads(polars_says.partition(".rename(")[2].removesuffix(")"))
        assert WHOLE["polars"](root).rename_columns(renamed).column(key).to_pylist() == expected


def test_a_column_has_the_catalogues_spelling_in_the_path(
    tmp_path: Path, postgres_database: Database
) -> None:
    """However the config spells it, unless two differ only in case, which is an error."""
    postgres_database.execute(
        """CREATE TABLE events ("CreatedAt" date, id int); INSERT INTO events VALUES ('2023-01-01', 1)"""
    )
    run_well(tmp_path, postgres_database.source, _export(tmp_path / "tree", partition_by="createdat"))

    assert [p.name for p in (tmp_path / "tree").iterdir() if p.is_dir()] == ["CreatedAt=2023-01-01"]
    for name in ("duckdb", "polars"):
        assert WHOLE[name](tmp_path / "tree").column_names == ["CreatedAt", "id"], name
    postgres_database.execute("ALTER TABLE events ADD createdat date")
    outcome = run_one(tmp_path, postgres_database.source, _export(tmp_path / "two", partition_by="CREATEDAT"))
    assert (outcome.exit_code, outcome.error) == (
        2,
        "$.exports[0].partition_by: 'CREATEDAT' may be any of 'CreatedAt', 'createdat'",
    )


def test_a_key_that_differs_only_in_case_is_told(tmp_path: Path, postgres_database: Database) -> None:
    """To DuckDB it is the column, whose values it then hides; pyarrow and Polars see both."""
    postgres_database.execute(
        "CREATE TABLE events (created_at timestamp, id int);"
        "INSERT INTO events VALUES ('2023-01-01 12:34:56', 1)"
    )
    root = tmp_path / "tree"
    export = _export(root, partition_key="CREATED_AT")
    outcome = run_well(tmp_path, postgres_database.source, export)

    assert any("DuckDB and Spark show the label instead of the value" in w for w in outcome.warnings)
    assert values(WHOLE["duckdb"](root), "created_at") == [DAY]
    for name in ("pyarrow", "polars"):
        table = WHOLE[name](root)
        assert values(table, "created_at") == [1_672_576_496_000_000], name
        assert [str(v) for v in values(table, "CREATED_AT")] == ["2023-01-01"], name


def test_columns_that_differ_only_in_case_are_all_written(
    tmp_path: Path, postgres_database: Database
) -> None:
    """A check warns of them; pyarrow and Polars read both, and DuckDB gives the second a number."""
    postgres_database.execute(
        """CREATE TABLE events (created_at date, "Id" int, id int, n int);"""
        "INSERT INTO events VALUES ('2023-01-01', 1, 2, 3)"
    )
    root = tmp_path / "tree"
    export = _export(root, partition_key="day")
    (told,) = check(settings(tmp_path, postgres_database.source, export), listener=lambda _: None)
    run_well(tmp_path, postgres_database.source, export, validate=True)

    assert "columns 'Id' and 'id' differ only in case: some readers see only one" in told.warnings
    assert told.readers is not None
    assert any("spark.sql.caseSensitive" in line for line in told.readers["Spark"])
    for name in ("pyarrow", "polars"):
        table = FILES[name](root)
        assert (values(table, "Id"), values(table, "id")) == ([1], [2]), name
    query = f"SELECT Id, id_1, n FROM read_parquet('{root}/**/*.parquet')"
    assert duckdb.sql(query).fetchall() == [(1, 2, 3)]


@pytest.mark.parametrize("engine", ENGINES)
def test_signs_in_columns_are_kept_and_can_be_asked_for(
    engine: str, database: AnyDatabase, tmp_path: Path
) -> None:
    """Dots, spaces and the like stand in files and manifests as in the source, and filters find rows."""
    names = ["a.b", "full name", "x=y", "100%", "é;,(){}", "id"]
    columns = ", ".join(f"{_quoted(name, engine)} int" for name in names)
    database.execute(
        f"CREATE TABLE events (created_at date, {columns});"
        "INSERT INTO events VALUES ('2023-01-01', 1, 2, 3, 4, 5, 1), ('2023-01-02', 11, 12, 13, 14, 15, 2)"
    )
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, _export(root, partition_key="day"), validate=True)

    for facts in _facts(root):
        assert [column["name"] for column in facts["schema"]] == ["created_at", *names]
    for read in FILES.values():
        assert read(root).column_names == ["created_at", *names]
    glob, dataset = f"{root}/**/*.parquet", pads.dataset(root)
    for position, name in enumerate(names[:5], start=1):
        wanted = 10 + position
        sql = f"SELECT {_quoted(name, '')} FROM read_parquet('{glob}') WHERE {_quoted(name, '')} = {wanted}"
        assert duckdb.sql(sql).fetchall() == [(wanted,)]
        assert dataset.to_table(filter=pads.field(name) == wanted, columns=[name]).num_rows == 1
        assert pl.scan_parquet(glob).filter(pl.col(name) == wanted).collect()[name].to_list() == [wanted]


def test_a_new_column_comes_last_and_is_found_by_name(
    tmp_path: Path, sqlite_database: SqliteDatabase
) -> None:
    """A kept partition has the old columns in their places, and readers by name give NULL for the new one."""
    sqlite_database.execute(
        "CREATE TABLE events (id INTEGER, created_at DATE, v TEXT);"
        "INSERT INTO events VALUES (1, '2023-01-01', 'old'), (2, '2023-01-02', 'both')"
    )
    root = tmp_path / "tree"
    export = _export(root, partition_key="day", vanished="keep")
    run_well(tmp_path, sqlite_database.source, export)
    sqlite_database.execute(
        "ALTER TABLE events ADD COLUMN w INTEGER; DELETE FROM events WHERE id = 1;"
        "UPDATE events SET w = 7; INSERT INTO events VALUES (3, '2023-01-03', 'new', 8)"
    )
    run_well(tmp_path, sqlite_database.source, export)

    names = {facts["partition"]["value"]: [c["name"] for c in facts["schema"]] for facts in _facts(root)}
    assert names == {
        "2023-01-01": ["id", "created_at", "v"],
        "2023-01-02": ["id", "created_at", "v", "w"],
        "2023-01-03": ["id", "created_at", "v", "w"],
    }
    expected = [(1, "old", None), (2, "both", 7), (3, "new", 8)]
    glob = f"{root}/**/*.parquet"
    query = f"SELECT id, v, w FROM read_parquet('{glob}', union_by_name = true) ORDER BY id"
    assert duckdb.sql(query).fetchall() == expected
    whole = pads.dataset(root, schema=pads.dataset(root / "day=2023-01-03").schema).to_table().sort_by("id")
    assert list(zip(*(values(whole, column) for column in ("id", "v", "w")), strict=True)) == expected
    frame = pl.scan_parquet(sorted(root.rglob("*.parquet"), reverse=True), missing_columns="insert")
    assert frame.select("id", "v", "w").sort("id").collect().rows() == expected
