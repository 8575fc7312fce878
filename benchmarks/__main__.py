"""Measures Rivet beside DuckDB and the bare ordered query, on servers of its own: python -m benchmarks."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.engines import ENGINES, BenchFailed
from benchmarks.race import (
    Contestant,
    duckdb,
    environment,
    race,
    rivet,
    rivet_to_s3,
    rows_by_day,
    run_once,
    weigh,
)
from benchmarks.report import GOAL_ROWS, machine, machine_text, measured, measured_text
from tests.servers.database import run
from tests.servers.s3 import run_s3


def main(words: list[str] | None = None) -> int:
    """Measure the engines asked for, print what came of it, and give the exit code."""
    arguments = _parse(words)
    # Ended politely, a run still stops its contestant and clears up; the servers see to that themselves.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with _scratch(arguments.keep) as scratch:
        facts = machine(scratch, Path(tempfile.gettempdir()))
        print(machine_text(facts), flush=True)
        engines, code = [], 0
        for name in arguments.engine or ENGINES:
            try:
                engines.append(_measure(name, arguments, scratch / name))
            except (pytest.skip.Exception, pytest.fail.Exception) as missing:  # a server or its client
                print(f"\n{ENGINES[name].title} is not measured: {missing}", flush=True)
            except BenchFailed as failed:
                print(f"\n{ENGINES[name].title} is not measured: {failed}", flush=True)
                code = 1
        if arguments.json:
            document = json.dumps({"machine": facts, "engines": engines}, indent=2, ensure_ascii=False)
            arguments.json.write_text(f"{document}\n", encoding="utf-8")
    return code if engines else 1


def _measure(name: str, arguments: argparse.Namespace, directory: Path) -> dict[str, Any]:
    engine, rows, repeat = ENGINES[name], arguments.rows, arguments.repeat
    directory.mkdir()
    with ExitStack() as stack:
        server = stack.enter_context(engine.start())
        database = stack.enter_context(server.fresh_database())
        bucket = stack.enter_context(run_s3()).make_bucket() if arguments.s3 else None
        _tell(f"{engine.title}: making {rows:,} rows")
        database.execute(engine.fill.format(rows=rows))
        with server.connect(database.name) as connection:
            for statement in engine.settle:
                run(connection, statement)
        os.sync()
        days, visible = rows_by_day(engine, database), environment(engine, database)
        if bucket:
            visible |= bucket.environment
        _tell("each contestant once, untimed")
        with database.recording() as statements:
            # By a sort of the source's own, whose statement is the floor.
            run_once(rivet(database, "source"), visible, directory / "rivet-untimed", days)
        floor = engine.floor(database, statements)
        csv_bytes, lines = weigh(floor, visible)
        if not lines == sum(days.values()) == rows:
            raise BenchFailed(f"the floor reads {lines} rows of {sum(days.values())}, expected {rows}")
        first = [] if bucket else [Contestant("floor", lambda _: floor, writes=False)]
        last = rivet_to_s3(database, bucket) if bucket else duckdb(engine)
        if last is not None:
            run_once(last, visible, directory / f"{last.name}-untimed", days)
        listed = [*first, rivet(database), *([last] if last else [])]
        runs = race(listed, visible, repeat, directory, days, tell=_tell)
        facts = measured(engine, dict(database.fetch(engine.settings)), days, csv_bytes, runs)
    print(f"\n{measured_text(facts)}", flush=True)
    if last is None:
        package = f"duckdb-extension-{engine.scanner[0].replace('_', '-')}"
        print(f"DuckDB is not to be had here: pip install {package}, of the version of duckdb", flush=True)
    return facts


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@contextmanager
def _scratch(keep: Path | None) -> Iterator[Path]:
    """Give the directory for trees: a new one that stays, or one that goes in the end."""
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="rivet-bench-") as directory:
        yield Path(directory)


def _parse(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rows", type=_positive, default=GOAL_ROWS, help="rows of the table (%(default)s)")
    parser.add_argument("--repeat", type=_positive, default=3, help="rounds that count (%(default)s)")
    parser.add_argument(
        "--engine", action="append", choices=ENGINES, help="one engine only; repeatable (all of them)"
    )
    parser.add_argument("--s3", action="store_true", help="Rivet alone, to local disk and to an S3 server")
    parser.add_argument("--keep", type=_empty, metavar="DIR", help="write trees, configs and logs there")
    parser.add_argument("--json", type=_new_file, metavar="FILE", help="write all figures there, too")
    return parser.parse_args(words)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above zero")
    return int(text)


def _empty(text: str) -> Path:
    path = Path(text)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise argparse.ArgumentTypeError(f"{text!r} is not an empty directory")
    return path


def _new_file(text: str) -> Path:
    path = Path(text)
    if path.is_dir() or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is no file in a directory that exists")
    return path


if __name__ == "__main__":
    sys.exit(main())
