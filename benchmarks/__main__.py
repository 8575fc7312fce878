"""Measures Rivet beside its peers and the bare ordered query, on servers of its own: python -m benchmarks."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchmarks.contestants import duckdb, find_rivet_cli, rivet, rivet_cli, rivet_to_s3
from benchmarks.engines import ENGINES, INDEX, Engine
from benchmarks.machine import machine, machine_text
from benchmarks.options import keep_figures, parser, program, scratch, tell
from benchmarks.race import Contestant, Run, environment, race, rows_by_day, run_once, weigh
from benchmarks.report import GOAL_ROWS, measured, measured_text
from benchmarks.tables import filled, settle
from benchmarks.timing import BenchFailed
from tests.servers.database import Database
from tests.servers.s3 import run_s3


def main(words: list[str] | None = None) -> int:
    """Measure the engines asked for, print what came of it, and give the exit code."""
    arguments = _parse(words)
    with scratch(arguments.keep) as directory:
        facts = machine(directory)
        print(machine_text(facts), flush=True)
        engines, code = [], 0
        for name in arguments.engine or ENGINES:
            try:
                engines.append(_measure(name, arguments, directory / name))
            except (pytest.skip.Exception, pytest.fail.Exception) as missing:  # a server or its client
                print(f"\n{ENGINES[name].title} is not measured: {missing}", flush=True)
            except BenchFailed as failed:
                print(f"\n{ENGINES[name].title} is not measured: {failed}", flush=True)
                code = 1
        keep_figures(arguments.json, {"machine": facts, "engines": engines})
    return code if engines else 1


def _measure(name: str, arguments: argparse.Namespace, directory: Path) -> dict[str, Any]:
    engine, rows = ENGINES[name], arguments.rows
    directory.mkdir()
    with ExitStack() as stack:
        tell(f"{engine.title}: making {rows:,} rows")
        database = stack.enter_context(filled(engine, rows))
        bucket = stack.enter_context(run_s3()).make_bucket() if arguments.s3 else None
        days, visible = rows_by_day(engine, database), environment(engine, database)
        if bucket:
            visible |= bucket.environment
        tell("each contestant once, untimed")
        with database.recording() as statements:
            # By a sort of the source's own, whose statement is the floor.
            run_once(rivet(database, {"sort": "source"}), visible, directory / "rivet-untimed", days)
        floor = engine.floor(database, statements)
        csv_bytes, lines = weigh(floor, visible)
        if not lines == sum(days.values()) == rows:
            raise BenchFailed(f"the floor reads {lines} rows of {sum(days.values())}, expected {rows}")
        first = [] if bucket else [Contestant("floor", lambda _: floor, writes=False)]
        last = rivet_to_s3(database, bucket) if bucket else duckdb(engine)
        if last is not None:
            run_once(last, visible, directory / f"{last.name}-untimed", days)
        listed = [*first, rivet(database), *([last] if last else [])]
        racing = partial(race, environment=visible, directory=directory, days=days, tell=tell)
        runs = racing(listed, rounds=arguments.repeat)
        if not bucket:
            runs |= _with_index(engine, database, floor, arguments, racing)
        facts = measured(engine, dict(database.fetch(engine.settings)), days, csv_bytes, runs)
    print(f"\n{measured_text(facts)}", flush=True)
    if last is None:
        package = f"duckdb-extension-{engine.scanner[0].replace('_', '-')}"
        print(f"DuckDB is not to be had here: pip install {package}, of the version of duckdb", flush=True)
    if not bucket and "rivet-cli" not in runs and arguments.rivet_cli_rounds:
        print(f"rivet-cli is not measured: {_why_no_peer(name)}", flush=True)
    return facts


def _with_index(
    engine: Engine,
    database: Database,
    floor: list[str],
    arguments: argparse.Namespace,
    racing: Callable[..., dict[str, list[Run]]],
) -> dict[str, list[Run]]:
    """Give the table an index on the day, and let those run again whom it may help, and the public tool."""
    tell("making the index")
    database.execute(INDEX)
    settle(engine, database)
    listed = [
        Contestant("floor-index", lambda _: floor, writes=False),
        rivet(database, name="rivet-index"),
    ]
    runs = racing(listed, rounds=arguments.repeat)
    peer = find_rivet_cli(arguments.rivet_cli)
    if peer is not None and engine.has_rivet_cli and arguments.rivet_cli_rounds:
        runs |= racing([rivet_cli(peer)], rounds=arguments.rivet_cli_rounds)
    return runs


def _why_no_peer(name: str) -> str:
    if not ENGINES[name].has_rivet_cli:
        return f"it does not export this table from {ENGINES[name].title}"
    return "make peer, or pip install rivet-cli into an environment of its own and --rivet-cli its program"


def _parse(words: list[str] | None) -> argparse.Namespace:
    made = parser("benchmarks", __doc__, rows=GOAL_ROWS)
    made.add_argument(
        "--engine", action="append", choices=ENGINES, help="one engine only; repeatable (all of them)"
    )
    made.add_argument("--s3", action="store_true", help="Rivet alone, to local disk and to an S3 server")
    made.add_argument(
        "--rivet-cli",
        type=program,
        metavar="PROGRAM",
        help="the public tool's program (that of `make peer`)",
    )
    made.add_argument(
        "--rivet-cli-rounds",
        type=int,
        default=1,
        help="rounds of it, which is slow; 0 for none (%(default)s)",
    )
    return made.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
