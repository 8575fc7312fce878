"""The files of a tree suit readers: logical types, statistics, page index, row groups, sizes, codecs."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rivet.export.parts import ROW_GROUP_ROWS
from tests.run.conftest import ENGINES, YearTable
from tests.run.running import by_day, run_well
from tests.run.trees import manifests, rows_by_manifest
from tests.run.year import ROWS
from tests.servers.sqlite import SqliteDatabase

MIB = 1024**2
CODECS = {"zstd": "ZSTD", "snappy": "SNAPPY", "gzip": "GZIP", "lz4": "LZ4", "none": "UNCOMPRESSED"}


@pytest.mark.parametrize("engine", ENGINES)
def test_one_file_holds_everything_that_readers_ask_for(tmp_path: Path, year_table: YearTable) -> None:
    """Moments are microseconds that say whether they are UTC; every chunk has statistics and a page index."""
    root = tmp_path / "tree"
    destination = {"type": "local", "path": str(root)}
    run_well(tmp_path, year_table.source, {"name": "year", "table": "events", "destination": destination})
    (path,) = root.glob("*.parquet")
    file = pq.ParquetFile(path)

    assert {f.name: str(f.type) for f in file.schema_arrow} == year_table.year.types
    assert all(f.nullable for f in file.schema_arrow)
    for index, arrow in enumerate(year_table.year.types.values()):
        column = file.schema.column(index)
        if arrow.startswith("timestamp"):
            adjusted = "true" if "UTC" in arrow else "false"
            assert column.physical_type == "INT64"
            assert f"isAdjustedToUTC={adjusted}, timeUnit=microseconds" in str(column.logical_type)
        for number in range(file.num_row_groups):
            chunk = file.metadata.row_group(number).column(index)
            assert (chunk.has_column_index, chunk.has_offset_index) == (True, True)
            assert chunk.statistics.has_min_max
            assert chunk.statistics.has_null_count

    sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    assert sum(sizes) == ROWS
    # However small the batches were, a row group is filled, and goes over by less than one batch.
    assert all(ROW_GROUP_ROWS <= size < 2 * ROW_GROUP_ROWS for size in sizes[:-1])
    assert len(sizes) >= 2


@pytest.mark.parametrize("engine", ENGINES[:1])
def test_a_partition_goes_on_in_the_next_file(tmp_path: Path, year_table: YearTable) -> None:
    """No part is larger than max_file_size, none but the last is small, and they follow in order."""
    root, most = tmp_path / "tree", 4 * MIB
    export = by_day(root, partition_granularity="year", max_file_size="4MiB")
    run_well(tmp_path, year_table.source, export, validate=True)

    manifest = manifests(root)["2024"]

    parts = manifest["parts"]
    assert len(parts) > 2
    assert all(part["size_bytes"] <= most for part in parts)
    assert all(part["size_bytes"] > most // 4 for part in parts[:-1])
    assert [part["part_id"] for part in parts] == list(range(len(parts)))
    assert [part["path"][-13:] for part in parts] == [f"{i:05}.parquet" for i in range(len(parts))]
    assert all(a["maximum"] <= b["minimum"] for a, b in pairwise(parts))
    assert sum(part["row_count"] for part in parts) == manifest["row_count"]


@pytest.mark.parametrize("codec", CODECS)
def test_a_part_is_written_with_the_codec_that_the_config_names(
    tmp_path: Path, sqlite_database: SqliteDatabase, codec: str
) -> None:
    """Each codec is what the files and the manifest say, and the rows come back."""
    root = tmp_path / "tree"
    sqlite_database.execute(
        "CREATE TABLE events (id INTEGER, created_at DATE, note TEXT);"
        "INSERT INTO events VALUES (1, '2024-02-29', 'a'), (2, '2024-02-29', NULL)"
    )

    run_well(tmp_path, sqlite_database.source, by_day(root, compression=codec))

    (path,) = root.rglob("*.parquet")
    columns = pq.ParquetFile(path).metadata.row_group(0)
    assert {columns.column(i).compression for i in range(columns.num_columns)} == {CODECS[codec]}
    assert manifests(root)["2024-02-29"]["compression"] == codec
    assert [(row[0], row[2]) for row in rows_by_manifest(root)["2024-02-29"]] == [(1, "a"), (2, None)]
