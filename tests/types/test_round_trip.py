"""Every type of every engine, with its edge values and NULL, comes back through three readers unchanged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.run.running import run_well
from tests.types.cases import Case, Engine
from tests.types.mapping import engines
from tests.types.readers import READERS, expected_texts, read_texts

ENGINES = {name: engine for engine in engines() for name in engine.fixtures}


def _create(database: Any, engine: Engine, cases: list[Case]) -> int:
    """Make the table: each row holds the next value of every column, the last one NULLs; give its rows."""
    if engine.setup:
        database.execute(engine.setup)
    columns = "".join(f", c{number} {case.type}" for number, case in enumerate(cases))
    database.execute(f"CREATE TABLE matrix (id integer PRIMARY KEY, d date{columns})")
    rows = max(len(case.values) for case in cases) + 1
    for row in range(rows):
        values = [case.values[row] if row < len(case.values) else "NULL" for case in cases]
        day = f"'2024-01-{row + 1:02d}'"
        database.execute(f"INSERT INTO matrix VALUES ({row}, {day}, {', '.join(values)})")
    return rows


@pytest.mark.parametrize("name", ENGINES)
def test_every_type_comes_back(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Each value is what the database's own SQL renders, in every reader, and in every part the same type."""
    engine = ENGINES[name]
    database = request.getfixturevalue(engine.fixtures[name])
    cases = [case for case in engine.cases if case.only in ("", name)]
    rows = _create(database, engine, cases)
    overrides = {
        f"c{number}": case.override for number, case in enumerate(cases) if case.override is not None
    }
    root = tmp_path / "tree"
    export = {
        "name": "matrix",
        "table": "matrix",
        "columns": overrides,
        "partition_by": "d",
        "partition_key": "day",
        "destination": {"type": "local", "path": f"{root}/{{partition}}/"},
    }

    outcome = run_well(tmp_path, database.source, export, validate=True)

    assert (outcome.rows, outcome.partitions) == (rows, rows)
    manifests = [json.loads(path.read_text()) for path in root.rglob("manifest.json")]
    types = {column["name"]: column["type"] for column in manifests[0]["schema"]}
    assert {f"c{n}": types[f"c{n}"] for n in range(len(cases))} == {
        f"c{n}": case.becomes for n, case in enumerate(cases)
    }
    assert len({manifest["schema_fingerprint"] for manifest in manifests}) == 1
    assert len({pq.read_schema(path).to_string() for path in root.rglob("*.parquet")}) == 1
    rendered = [engine.rendering(case, f"c{number}") + f" AS c{number}" for number, case in enumerate(cases)]
    query = f"{engine.session} SELECT {', '.join(rendered)} FROM matrix ORDER BY id"
    expected = list(zip(*database.fetch(query), strict=True))
    differing = []
    for reader, read in READERS.items():
        table = read(root)
        for number, case in enumerate(cases):
            found = read_texts(table.column(f"c{number}"), case.becomes)
            wanted = expected_texts(expected[number], case.becomes)
            if found != wanted:
                differing.append((reader, case.type, case.override, found, wanted))
    assert differing == []
