"""Measures what one more partition costs, beside the same file operations by a program that does no more."""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.contestants import rivet
from benchmarks.dialects import DIALECTS
from benchmarks.engines import ENGINES
from benchmarks.machine import machine, machine_text
from benchmarks.options import keep_figures, parser, scratch, tell
from benchmarks.printing import goal_line, megabytes, seconds, table
from benchmarks.race import Run, environment, race
from benchmarks.tables import settle
from benchmarks.timing import HERE, Figures, median, timed
from tests.servers.database import Database

COUNTS = (36, 366, 3660)
GOAL_SECONDS = 0.001  # for each partition, beyond the probe
FAR_APART_SECONDS = 1.0
_DAY = 86_400_000  # milliseconds
_BY_CHANCE = 1_000_003


def main(words: list[str] | None = None) -> int:
    """Measure, print what came of it, and give the exit code."""
    made = parser("benchmarks.partitions", __doc__, rows=3_000_000)
    made.add_argument("--engine", choices=ENGINES, default="postgres", help="the engine (%(default)s)")
    arguments = made.parse_args(words)
    with scratch(arguments.keep) as directory:
        facts = machine(directory)
        print(machine_text(facts), flush=True)
        measured = _measure(arguments, directory)
        print(f"\n{_text(measured)}", flush=True)
        keep_figures(arguments.json, {"machine": facts, **measured})
    return 0


def _measure(arguments: argparse.Namespace, directory: Path) -> dict[str, Any]:
    engine = ENGINES[arguments.engine]
    with engine.start() as server, server.fresh_database() as database:
        tell(f"{engine.title}: making {arguments.rows:,} rows")
        database.execute(engine.fill.format(rows=arguments.rows))
        database.execute(
            f"{_spread(arguments.engine)}; DROP TABLE events; ALTER TABLE spread RENAME TO events"
        )
        settle(engine, database)
        visible = environment(engine, database)
        runs: dict[int, list[Run]] = {count: [] for count in COUNTS}
        probes: dict[int, list[Figures]] = {count: [] for count in COUNTS}
        for number in range(arguments.repeat + 1):  # the first round warms the caches
            place = directory / f"round-{number}"
            place.mkdir()
            for count in COUNTS:
                days = _days(arguments.engine, database, f"over_{count}")
                contestant = rivet(database, {"partition_by": f"over_{count}"}, name=f"{count:,} partitions")
                (run,) = race([contestant], visible, 1, place, days, tell=tell)[contestant.name]
                probe = _probe(place / f"probe-{count}", count, run.written_bytes // count, visible)
                if number:
                    runs[count].append(run)
                    probes[count].append(probe)
        far = _far_apart(arguments, database, directory, visible)
    return {
        "engine": engine.title,
        "rows": arguments.rows,
        "runs": {count: [asdict(run) for run in each] for count, each in runs.items()},
        "probes": {count: [asdict(probe) for probe in each] for count, each in probes.items()},
        "steps": [_step(fewer, more, runs, probes) for fewer, more in pairwise(COUNTS)],
        "far_apart_seconds": far,
    }


def _spread(engine: str) -> str:
    """Write what makes the table again with a column for each number of partitions."""
    moment = DIALECTS[engine].moment
    columns = [
        f"{moment(f'id * {_BY_CHANCE} % {count} * {_DAY} + id * 7919 % 86400000')} AS over_{count}"
        for count in COUNTS
    ]
    return f"CREATE TABLE spread AS SELECT events.*, {', '.join(columns)} FROM events"


def _days(engine: str, database: Database, column: str, table: str = "events") -> dict[str, int]:
    query = DIALECTS[engine].days.replace("created_at", column).replace("events", table)
    return dict(database.fetch(query))


def _probe(directory: Path, count: int, size: int, visible: Mapping[str, str]) -> Figures:
    directory.mkdir()
    words = [
        sys.executable,
        "-S",
        "-E",
        str(HERE / "file_probe.py"),
        str(directory / "tree"),
        str(count),
        str(size),
    ]
    return timed("the probe", words, visible, directory)


def _step(
    fewer: int, more: int, runs: Mapping[int, Sequence[Run]], probes: Mapping[int, Sequence[Figures]]
) -> dict[str, float]:
    """Give what each partition beyond the fewer ones cost, and what of it the probe took as well."""
    cost = (median(runs[more]) - median(runs[fewer])) / (more - fewer)
    probed = (median(probes[more]) - median(probes[fewer])) / (more - fewer)
    return {"fewer": fewer, "more": more, "seconds": cost, "probe_seconds": probed, "beyond": cost - probed}


def _far_apart(
    arguments: argparse.Namespace, database: Database, directory: Path, visible: Mapping[str, str]
) -> float:
    """Give what two rows more cost, the one in 1900 and the other on the last day of 9999."""
    column = f"over_{COUNTS[0]}"
    for name in ("near", "far"):
        database.execute(f"CREATE TABLE {name} AS SELECT id, {column} FROM events WHERE id <= 1000")
    database.execute("INSERT INTO far VALUES (-1, '1900-01-01 00:00:00'), (-2, '9999-12-31 23:59:59')")
    took: dict[str, list[Run]] = {"near": [], "far": []}
    for number in range(arguments.repeat):
        for name in took:
            place = directory / f"{name}-{number}"
            place.mkdir()
            days = _days(arguments.engine, database, column, name)
            contestant = rivet(database, {"table": name, "partition_by": column}, name=name)
            took[name] += race([contestant], visible, 1, place, days, tell=tell)[name]
    return median(took["far"]) - median(took["near"])


def _text(facts: Mapping[str, Any]) -> str:
    rows = []
    for count in COUNTS:
        runs, probes = facts["runs"][count], facts["probes"][count]
        walls, probed = ([each["wall_seconds"] for each in listed] for listed in (runs, probes))
        rows.append(
            [
                f"{count:,} partitions",
                *(seconds(value) for value in (statistics.median(walls), min(walls), max(walls))),
                seconds(statistics.median(probed)),
                megabytes(max(run["peak_bytes"] for run in runs)),
                f"{runs[-1]['written_bytes'] / 1e6:,.1f} MB",
            ]
        )
    lines = [
        f"{facts['engine']}, {facts['rows']:,} rows, the same in each number of partitions, all counted",
        table(["", "rivet", "min", "max", "the probe", "peak", "written"], rows),
        "the probe: the same durable file operations, several at once, by a program that does no more",
        "",
    ]
    for step in facts["steps"]:
        cost, probed, beyond = (1000 * step[name] for name in ("seconds", "probe_seconds", "beyond"))
        lines.append(
            goal_line(
                f"one more, {step['fewer']:,} to {step['more']:,}",
                f"{cost:.2f} ms, the probe {probed:.2f} ms",
                f"{1000 * GOAL_SECONDS:g} ms beyond the probe ({beyond:.2f} ms)",
                met=step["beyond"] <= GOAL_SECONDS,
            )
        )
    far = facts["far_apart_seconds"]
    lines.append(
        goal_line(
            "rows of 1900 and 9999, together",
            f"{far:.2f} s",
            f"{FAR_APART_SECONDS:g} s",
            met=far < FAR_APART_SECONDS,
        )
    )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
