"""Measures `chunk_by_key` on one partition of 3,000,000 rows with a sparse key, beside one plain scan of it.

    python -m benchmarks.chunks postgres --fill | psql shop
    python -m benchmarks.chunks postgres --url postgresql://…/shop

The first prints what fills the table `events` of an empty database. The second measures whole processes from
start to exit, in turn: by `id` the key follows the heap, by `payload`, which is random, it does not. What one
chunk takes, from its query to its last row here, is measured in runs of their own.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

from benchmarks.engines import ENGINES
from benchmarks.race import COMPRESSION_LEVEL
from benchmarks.timing import RIVET, own_environment, timed
from rivet.config.load import load_settings
from rivet.export.pages import Pages
from rivet.plan.scans import Scan
from rivet.plan.schema import Column
from rivet.run import run
from rivet.source.protocol import Batches
from rivet.source.relation import Relation

ROWS = 3_000_000
GAP = 1_000_003  # between one key and the next
PLAIN, BY_HEAP, BY_CHANCE = "one plain scan", "by id, as the heap lies", "by payload, at random"
WAYS: dict[str, dict[str, Any]] = {
    PLAIN: {},
    BY_HEAP: {"mode": "chunked", "chunk_by_key": ["id"]},
    BY_CHANCE: {"mode": "chunked", "chunk_by_key": ["payload"]},
}
FIRST_VALUE = {"postgres": "\n    i,\n", "mariadb": "\n    seq,\n"}
SETTLE = {"postgres": "VACUUM ANALYZE events", "mariadb": "ANALYZE TABLE events"}
CHUNKS = "RIVET_BENCH_CHUNKS"


def main() -> int:
    """Print the statements that fill the table, or measure and tell."""
    parser = argparse.ArgumentParser(prog="benchmarks.chunks", description=__doc__)
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("--fill", action="store_true")
    parser.add_argument("--url", default="")
    parser.add_argument("--repeat", type=int, default=3)
    asked = parser.parse_args()
    if asked.fill:
        value = FIRST_VALUE[asked.engine]
        filled = ENGINES[asked.engine].fill.format(rows=ROWS).replace(value, value.replace(",", f" * {GAP},"))
        if asked.engine == "postgres":
            filled = filled.replace(f"i * {GAP}", f"i::bigint * {GAP}")
        index = "CREATE UNIQUE INDEX by_payload ON events (payload)"
        print(";\n".join([filled.strip(), index, SETTLE[asked.engine], ""]))
        return 0
    with tempfile.TemporaryDirectory(prefix="rivet-chunks-") as directory:
        _tell(asked.engine, _measured(asked.engine, asked.url, asked.repeat, Path(directory)))
    return 0


def _measured(engine: str, url: str, repeat: int, directory: Path) -> dict[str, list[dict[str, float]]]:
    figures: dict[str, list[dict[str, float]]] = {name: [] for name in WAYS}
    for turn in range(repeat + 1):
        for number, name in enumerate(WAYS):
            if name == BY_CHANCE and 0 < turn < repeat:
                continue  # one is enough to tell what it costs
            here = directory / f"{turn}-{number}"
            here.mkdir()
            export = {"name": "events", "table": "events", "compression_level": COMPRESSION_LEVEL}
            destination = {"type": "local", "path": "./tree/"}
            source = {"type": {"mariadb": "mysql"}.get(engine, engine), "url": url}
            config = {
                "source": source,
                "state": "off",
                "exports": [{**export, **WAYS[name], "destination": destination}],
            }
            (here / "rivet.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
            if turn == repeat:
                figures[name][-1]["longest_chunk_seconds"] = _longest(here) if WAYS[name] else 0.0
                continue
            command = [*RIVET, "run", "--quiet", "--config", "rivet.yaml"]
            figures[name].append(asdict(timed(name, command, own_environment(), here)))
            parts = (here / "tree").glob("*.parquet")
            assert sum(pq.read_metadata(part).num_rows for part in parts) == ROWS, name
    return figures


def _longest(directory: Path) -> float:
    """Run an export in this process, and give what the longest of its chunks took."""
    taken: list[float] = []
    read = Pages.read

    @contextmanager
    def timed(reading: AbstractContextManager[Batches]) -> Iterator[Batches]:
        begun = time.perf_counter()
        with reading as batches:
            yield batches
        taken.append(time.perf_counter() - begun)

    def watched(
        pages: Pages, relation: Relation, column: Column | None, scan: Scan
    ) -> AbstractContextManager[Batches]:
        return timed(read(pages, relation, column, scan))

    Pages.read = watched  # type: ignore[method-assign,assignment]
    try:
        outcome = run(load_settings(directory / "rivet.yaml", {}), listener=lambda _: None)
    finally:
        Pages.read = read  # type: ignore[method-assign]
    assert outcome.exit_code == 0, outcome
    return max(taken)


def _tell(engine: str, figures: dict[str, list[dict[str, float]]]) -> None:
    print(f"{ENGINES[engine].title}, {ROWS:,} rows in one partition, keys {GAP:,} apart:")
    plain = statistics.median(run["wall_seconds"] for run in figures[PLAIN])
    for name, runs in figures.items():
        walls = [run["wall_seconds"] for run in runs]
        longest = runs[-1]["longest_chunk_seconds"]
        print(
            f"  {name:<24} {statistics.median(walls):6.2f} s ({min(walls):.2f} to {max(walls):.2f}), "
            f"{statistics.median(walls) / plain:.2f} of one plain scan, "
            f"peak {max(run['peak_bytes'] for run in runs) / 2**20:.0f} MiB"
            + (f", longest chunk {longest:.2f} s" if longest else "")
        )


if __name__ == "__main__":
    sys.exit(main())
