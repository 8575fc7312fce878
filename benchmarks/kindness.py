"""Measures what each strategy costs the server, by its own counters, beside the peers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.contestants import duckdb, find_rivet_cli, rivet, rivet_cli
from benchmarks.engines import ENGINES, INDEX, Engine
from benchmarks.machine import machine, machine_text
from benchmarks.options import keep_figures, parser, program, scratch, tell
from benchmarks.printing import megabytes, seconds, table
from benchmarks.race import Contestant, environment, rows_by_day, run_once
from benchmarks.server_load import counting_server, meter
from benchmarks.tables import settle
from benchmarks.timing import BenchFailed
from tests.servers.database import Database


def main(words: list[str] | None = None) -> int:
    """Measure, print what came of it, and give the exit code."""
    made = parser("benchmarks.kindness", __doc__, rows=3_000_000, repeat=1)
    made.add_argument("--engine", choices=ENGINES, default="postgres", help="the engine (%(default)s)")
    made.add_argument("--rivet-cli", type=program, metavar="PROGRAM", help="the public tool's program")
    made.add_argument("--no-rivet-cli", action="store_true", help="leave out the public tool, which is slow")
    arguments = made.parse_args(words)
    with scratch(arguments.keep) as directory:
        facts = machine(directory)
        print(machine_text(facts), flush=True)
        measured = _measure(arguments, directory)
        print(f"\n{_text(measured)}", flush=True)
        keep_figures(arguments.json, {"machine": facts, **measured})
    return 0


def _measure(arguments: argparse.Namespace, directory: Path) -> dict[str, Any]:
    engine, found, refused = ENGINES[arguments.engine], [], {}
    with counting_server(arguments.engine) as server, server.fresh_database() as database:
        tell(f"{engine.title}: making {arguments.rows:,} rows")
        database.execute(engine.fill.format(rows=arguments.rows))
        settle(engine, database)
        days, visible = rows_by_day(engine, database), environment(engine, database)
        with database.recording() as statements:
            run_once(rivet(database, {"sort": "source"}), visible, directory / "untimed", days)
        floor = engine.floor(database, statements)
        counting = meter(arguments.engine, database)
        for number, (contestant, is_indexed) in enumerate(_strategies(arguments, engine, database, floor)):
            tell(contestant.name)
            try:
                with counting.measuring() as loads:
                    run = run_once(contestant, visible, directory / str(number), days)
            except BenchFailed as error:
                refused[contestant.name] = str(error)
                continue
            found.append(
                {"name": contestant.name, "index": is_indexed, "wall_seconds": run.wall_seconds}
                | asdict(loads[0])
            )
    return {"engine": engine.title, "rows": arguments.rows, "strategies": found, "refused": refused}


def _strategies(
    arguments: argparse.Namespace, engine: Engine, database: Database, floor: list[str]
) -> Iterator[tuple[Contestant, bool]]:
    """Give each way to read the table; the index is made before the first that it may help."""
    yield Contestant("the floor", lambda _: floor, writes=False), False
    yield rivet(database), False
    yield rivet(database, {"sort": "source"}, name="rivet, sort: source"), False
    if (peer := duckdb(engine)) is not None:
        yield peer, False
    database.execute(INDEX)
    settle(engine, database)
    yield rivet(database, name="rivet"), True
    tenth = max(1, arguments.rows // 10)
    yield rivet(database, {"max_scan_rows": tenth}, name=f"rivet, max_scan_rows: {tenth}"), True
    yield rivet(database, {"scan": "per_partition"}, name="rivet, scan: per_partition"), True
    if database.server.source_type == "postgres":
        yield rivet(database, name="rivet, parallel: 2", source={"parallel": 2}), True
    public = find_rivet_cli(arguments.rivet_cli)
    if public is not None and engine.has_rivet_cli and not arguments.no_rivet_cli:
        yield rivet_cli(public), True


def _text(facts: Mapping[str, Any]) -> str:
    rows = [
        [
            each["name"],
            "yes" if each["index"] else "no",
            seconds(each["wall_seconds"]),
            f"{each['statements']:,}",
            seconds(each["longest_seconds"]),
            seconds(each["longest_snapshot_seconds"]),
            f"{each['rows_read']:,}",
            f"{each['rows_read'] / facts['rows']:.2f}",
            megabytes(each["temporary_bytes"]),
            f"{each['connections']:,}",
            f"{each['at_once']:,}",
        ]
        for each in facts["strategies"]
    ]
    head = [
        "", "index", "wall", "statements", "longest", "snapshot", "rows read", "times", "temporary",
        "connections", "at once",
    ]  # fmt: skip
    return "\n".join(
        [
            f"{facts['engine']}, {facts['rows']:,} rows; one run each, all counted; by the server itself:",
            table(head, rows),
            "longest: of a statement; snapshot: the oldest transaction seen; times: rows read to rows",
            *(f"{name}: not measured: {error}" for name, error in facts["refused"].items()),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
