"""Measures peak memory and time on tables of many shapes: python -m benchmarks.shapes."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import sqlite
from benchmarks.contestants import rivet
from benchmarks.dialects import DIALECTS, add_noise
from benchmarks.engines import ENGINES, INDEX
from benchmarks.machine import machine, machine_text
from benchmarks.options import keep_figures, parser, scratch, tell
from benchmarks.printing import goal_line, megabytes, seconds, table
from benchmarks.race import environment, run_once
from benchmarks.report import LARGE_PEAK, PEAK_BYTES
from benchmarks.shape import Shape, shapes
from benchmarks.tables import settle
from benchmarks.timing import BenchFailed, median, own_environment
from rivet.plan.windows import NULL_VALUE
from tests.servers.database import Database
from tests.servers.sqlite import SqliteDatabase

MOST_BYTES, MOST_OF_ROW = 500_000_000, 12


def main(words: list[str] | None = None) -> int:
    """Measure each shape, print what came of it, and give the exit code: 1 where a run failed."""
    made = parser("benchmarks.shapes", __doc__, rows=3_000_000, repeat=1)
    made.add_argument("--engine", choices=DIALECTS, default="postgres", help="the engine (%(default)s)")
    made.add_argument("--large", action="store_true", help="the standard table with ten times the rows, too")
    made.add_argument("--only", action="append", metavar="TEXT", help="shapes with this in their name")
    arguments = made.parse_args(words)
    listed = [
        shape
        for shape in shapes(arguments.rows, large=arguments.large)
        if not arguments.only or any(text in shape.name for text in arguments.only)
    ]
    if not listed:
        made.error(f"--only: no shape has {' or '.join(arguments.only)} in its name")
    with scratch(arguments.keep) as directory:
        facts = machine(directory)
        print(machine_text(facts), flush=True)
        measured, failed = _measure(arguments, listed, directory)
        print(f"\n{_text(arguments.engine, measured)}", flush=True)
        for name, error in failed.items():
            print(f"{name}: failed: {error}", flush=True)
        keep_figures(arguments.json, {"machine": facts, "shapes": measured, "failed": failed})
    return 1 if failed else 0


def _measure(
    arguments: argparse.Namespace, listed: list[Shape], directory: Path
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    measured, failed = [], {}
    with _databases(arguments.engine, directory) as (make, visible):
        for number, shape in enumerate(listed):
            tell(f"{shape.name}: making {shape.rows:,} rows")
            place = directory / f"shape-{number}"
            place.mkdir()
            database = make(shape)
            query = DIALECTS[arguments.engine].days
            days = {NULL_VALUE if day is None else day: rows for day, rows in database.fetch(query)}
            contestant = rivet(database)
            try:
                runs = [
                    run_once(contestant, visible(database), place / str(turn), days)
                    for turn in range(arguments.repeat)
                ]
            except BenchFailed as error:
                failed[shape.name] = str(error)
                continue
            finally:
                if not arguments.keep:
                    shutil.rmtree(place)  # memory is measured here: what deleting costs does no harm
            measured.append(
                {
                    **asdict(shape),
                    "rows": sum(days.values()),
                    "partitions": len(days),
                    "row_bytes": shape.row_bytes,
                    "wall_seconds": median(runs),
                    "peak_bytes": max(run.peak_bytes for run in runs),
                    "written_bytes": runs[-1].written_bytes,
                }
            )
    return measured, failed


Making = tuple[Callable[[Shape], Any], Callable[[Any], dict[str, str]]]


@contextmanager
def _databases(engine: str, directory: Path) -> Iterator[Making]:
    """Give a function that makes a shape's table in place of the last one, and one for the environment."""
    dialect = DIALECTS[engine]
    if engine == "sqlite":

        def make_file(shape: Shape) -> SqliteDatabase:
            database = SqliteDatabase(directory / "events.db")
            database.path.unlink(missing_ok=True)
            if shape.standard:
                sqlite.fill(database, shape.rows)
                return database
            with database.connect() as connection:
                add_noise(connection)
                connection.executescript(shape.statements(dialect))
                if shape.index:
                    connection.execute(INDEX)
            return database

        yield make_file, lambda _: own_environment()
        return
    own = ENGINES[engine]
    with own.start() as server, server.fresh_database() as database:

        def make(shape: Shape) -> Database:
            database.execute("DROP TABLE IF EXISTS events")
            database.execute(
                own.fill.format(rows=shape.rows) if shape.standard else shape.statements(dialect)
            )
            if shape.index:
                database.execute(INDEX)
            settle(own, database)
            return database

        yield make, lambda made: environment(own, made)


def _text(engine: str, measured: list[dict[str, Any]]) -> str:
    rows, standard = [], [each for each in measured if each["standard"]]
    for each in measured:
        limit = most_bytes(each, standard)
        rows.append(
            [
                each["name"],
                f"{each['rows']:,}",
                f"{each['partitions']:,}",
                seconds(each["wall_seconds"]),
                megabytes(each["peak_bytes"]),
                megabytes(limit),
                "yes" if each["peak_bytes"] <= limit else "NO",
            ]
        )
    held = sum(row[-1] == "yes" for row in rows)
    return "\n".join(
        [
            f"{engine}: whole processes, rows of every partition counted",
            table(["", "rows", "partitions", "wall", "peak", "at most", "held"], rows),
            "",
            goal_line(
                "peak of every shape",
                f"{held} of {len(rows)}",
                "0.5 GB or 12 times the largest row",
                met=held == len(rows),
            ),
        ]
    )


def most_bytes(shape: dict[str, Any], standard: list[dict[str, Any]]) -> float:
    """Give the most memory a run may take: of the standard table less, or by what its small form took."""
    if not shape["standard"]:
        return float(max(MOST_BYTES, MOST_OF_ROW * shape["row_bytes"]))
    smallest = min(standard, key=lambda each: each["rows"])
    return float(PEAK_BYTES if shape is smallest else LARGE_PEAK * smallest["peak_bytes"])


if __name__ == "__main__":
    sys.exit(main())
