"""`mode: chunked`: every row once, by as many short queries as the plan says, each of which uses an index."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rivet.run import plan
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.cut_tables import CREATE
from tests.run.running import run_one, run_well, settings
from tests.run.trees import rows_by_manifest

# A column, how it is cut, and the chunks that this makes of the whole table.
COLUMN_WAYS: list[tuple[str, dict[str, Any], int]] = [
    ("id", {"chunk_size": 50}, 8),
    ("sparse", {"chunk_size": 10**15}, 1),  # ten ranges of few rows are read together
    ("skewed", {"chunk_count": 5}, 5),
    ("skewed", {"chunk_size": 100}, 4),
    ("signed", {"chunk_count": 7}, 7),
    ("signed", {"chunk_size": 2**61}, 1),
    ("missing", {"chunk_size": 40}, 10),
    ("price", {"chunk_size": 12}, 9),
    ("amount", {"chunk_count": 6}, 7),
    ("day", {"chunk_size": 1}, 4),
    ("at", {"chunk_count": 4}, 4),
]
KEY_WAYS = [
    ["id"],
    ["sparse"],
    ["skewed"],
    ["signed"],
    ["missing"],
    ["name"],
    ["code"],
    ["uid"],
    ["ratio"],
    ["at", "id"],
    ["created_at", "id"],
    ["day", "id"],
    ["tenant", "name"],
    ["region", "missing"],
]
GRANULARITIES = [None, "day", "month", "year"]


def _create_once(database: AnyDatabase, engine: str) -> None:
    with suppress(Exception):  # each engine has its own error for a table that is there
        database.execute(CREATE[engine])


def _export(root: Path, granularity: str | None, **keys: Any) -> dict[str, Any]:
    export = {"name": "events", "table": "events", **keys}
    if granularity is not None:
        export |= {"partition_by": "created_at", "partition_granularity": granularity}
        export |= {"partition_key": "p"}
    template = "" if granularity is None else "{partition}/"
    return export | {"destination": {"type": "local", "path": f"{root}/{template}"}}


WAYS = [
    *({"chunk_column": column, **keys} for column, keys, _ in COLUMN_WAYS),
    {"chunk_column": "created_at", "chunk_size": "3 hours"},
    *({"chunk_by_key": key, "chunk_size": 37} for key in KEY_WAYS),
]


@pytest.mark.parametrize("engine", ENGINES, scope="module")
def test_every_way_to_cut_gives_every_row_once(
    engine: str, shared_database: AnyDatabase, tmp_path: Path
) -> None:
    """Dense, sparse, skewed, NULL, negative and unsigned values, text and composite keys, by any partition.

    Each tree equals that of one scan, row for row and partition for partition, and is read by as many queries
    as the plan says, all but the empty ones.
    """
    _create_once(shared_database, engine)
    source = shared_database.source
    whole: dict[str | None, dict[str, Any]] = {}
    for granularity in GRANULARITIES:
        root = tmp_path / f"whole_{granularity}"
        run_well(tmp_path, source, _export(root, granularity))
        whole[granularity] = rows_by_manifest(root)
    assert sorted(row[0] for row in whole[None][""]) == [
        row[0] for row in shared_database.fetch("SELECT id FROM events ORDER BY id")
    ]

    for number, way in enumerate(WAYS):
        granularity = GRANULARITIES[number % 4]
        root = tmp_path / str(number)
        export = _export(root, granularity, mode="chunked", **way)

        (planned,) = plan(settings(tmp_path, source, export), listener=lambda _: None)
        outcome = run_one(tmp_path, source, export, validate=True)

        assert (outcome.error, planned.error) == (None, None), way
        assert rows_by_manifest(root) == whole[granularity], (way, granularity)
        assert outcome.scans == len(planned.scans or ()), (way, granularity)
        assert all(scan.expected_rows for scan in planned.scans or ()), (way, granularity)
        chunks = [partition.chunks or 0 for partition in planned.partitions or ()]
        assert sum(chunks) == outcome.scans, (way, granularity)


@pytest.mark.parametrize("engine", ENGINES, scope="module")
def test_a_table_is_cut_into_as_many_chunks_as_its_rows_ask_for(
    engine: str, shared_database: AnyDatabase, tmp_path: Path
) -> None:
    """Ranges that hold nothing cost nothing, thin ones are read together, and rows with NULL are one more."""
    _create_once(shared_database, engine)
    found = []
    for column, keys, _ in COLUMN_WAYS:
        export = _export(tmp_path / "tree", None, mode="chunked", chunk_column=column, **keys)
        (planned,) = plan(settings(tmp_path, shared_database.source, export), listener=lambda _: None)
        found.append((column, keys, len(planned.scans or ())))

    assert found == COLUMN_WAYS
