"""Measures `source.parallel`: one worker against several, on the table of the race in the order of its days.

    python -m benchmarks.workers postgres --fill --rows 3000000 | psql shop
    python -m benchmarks.workers postgres --fill --rows 3000000 --at-random | psql shop
    python -m benchmarks.workers postgres --url postgresql://…/shop --workers 1 2 4

The first prints what fills the table `events` of an empty database, in the order of `created_at`, with an
index on it; the second leaves the table as the race has it. The last runs whole processes from start to exit,
in turn, each into a tree of its own, checks that all trees have the same rows, and prints seconds and memory,
and how much faster each number of workers is than the first. On MariaDB each of several scans has a moment of
its own.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

import yaml

from benchmarks.engines import ENGINES
from benchmarks.race import COMPRESSION_LEVEL
from benchmarks.timing import RIVET, BenchFailed, Figures, own_environment, timed

_IN_ORDER = {
    "postgres": "CREATE TABLE in_order AS SELECT * FROM events ORDER BY created_at; DROP TABLE events;"
    " ALTER TABLE in_order RENAME TO events; ALTER TABLE events ADD PRIMARY KEY (id);"
    " CREATE INDEX by_created_at ON events (created_at)",
    # In InnoDB a table lies in the order of its primary key, which holds no NULL.
    "mariadb": "DELETE FROM events WHERE created_at IS NULL;"
    " ALTER TABLE events DROP PRIMARY KEY, ADD PRIMARY KEY (created_at, id)",
}
_TYPES = {"postgres": "postgres", "mariadb": "mysql"}
_SETTLE = {"postgres": "VACUUM ANALYZE events", "mariadb": "ANALYZE TABLE events"}


def main() -> int:
    """Print the statements that fill the table, or measure and tell."""
    parser = argparse.ArgumentParser(prog="benchmarks.workers", description=__doc__)
    parser.add_argument("engine", choices=_IN_ORDER)
    parser.add_argument("--fill", action="store_true")
    parser.add_argument("--at-random", action="store_true")
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--url", default="")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeat", type=int, default=3)
    asked = parser.parse_args()
    if asked.fill:
        fill = ENGINES[asked.engine].fill.format(rows=asked.rows).strip()
        order = [] if asked.at_random else [_IN_ORDER[asked.engine]]
        print(";\n".join([fill, *order, _SETTLE[asked.engine], ""]))
        return 0
    with tempfile.TemporaryDirectory(prefix="rivet-workers-") as directory:
        _tell(_measured(asked.engine, asked.url, asked.workers, asked.repeat, Path(directory)))
    return 0


def _measured(
    engine: str, url: str, workers: list[int], repeat: int, directory: Path
) -> dict[str, list[Figures]]:
    """Run in turn, and give the figures by what each run said of its scans.

    Raises:
        BenchFailed: Two trees have other rows.
    """
    figures: dict[int, list[Figures]] = {number: [] for number in workers}
    said: dict[int, str] = {}
    rows: dict[str, int] | None = None
    for turn in range(repeat):
        for number in workers[:: -1 if turn % 2 else 1]:
            here = directory / f"{turn}-{number}"
            here.mkdir()
            command = [
                *RIVET,
                "run",
                "--config",
                str(_config(here, engine, url, number)),
                "--json",
                "--quiet",
            ]
            figures[number].append(timed(str(number), command, own_environment(), here, told=here / "told"))
            (told,) = json.loads((here / "told").read_text())["exports"]
            said[number] = (
                f"{number} asked for: {told['scans']} scans, {told['scans_at_once']} at once,"
                f" {told['block_ranges']} block ranges"
            )
            found = json.loads((here / "tree" / "_rivet_export.json").read_text())
            by_day = {entry["value"]: entry["row_count"] for entry in found["partitions"]}
            if rows is not None and rows != by_day:
                raise BenchFailed(f"{said[number]}: the tree has other rows than the one before")
            rows = by_day
    return {said[number]: figures[number] for number in workers}


def _config(here: Path, engine: str, url: str, workers: int) -> Path:
    accepted = {"consistency": "statement"} if engine == "mariadb" and workers > 1 else {}
    source = {"type": _TYPES[engine], "url": url, "parallel": workers, **accepted}
    export = {
        "name": "events",
        "table": "events",
        "partition_by": "created_at",
        "compression_level": COMPRESSION_LEVEL,
        "lock": "off",
        "destination": {"type": "local", "path": "./tree/{partition}/"},
    }
    path = here / "rivet.yaml"
    path.write_text(yaml.safe_dump({"source": source, "state": "off", "exports": [export]}))
    return path


def _tell(figures: dict[str, list[Figures]]) -> None:
    base: float | None = None
    for said, runs in figures.items():
        seconds = statistics.median(run.wall_seconds for run in runs)
        cpu = statistics.median(run.cpu_seconds for run in runs)
        peak = max(run.peak_bytes for run in runs)
        base = base or seconds
        print(
            f"{said:<58} {seconds:6.2f} s  {cpu:6.2f} s of processors here  {peak / 1e9:.2f} GB"
            f"  {base / seconds:.2f} times as fast"
        )


if __name__ == "__main__":
    sys.exit(main())
