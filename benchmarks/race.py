"""Runs the contestants in turn, each time into a new directory, and counts what every run left there."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.engines import BenchFailed, Engine
from rivet.export.parts import ROW_GROUP_ROWS
from rivet.plan.windows import NULL_VALUE
from tests.servers.database import Database
from tests.servers.s3 import S3Bucket

HERE = Path(__file__).resolve().parent
COMPRESSION_LEVEL = 1

Days = Mapping[str, int]


@dataclass(frozen=True)
class Contestant:
    """A program that reads the whole table; `command` gives its words for the directory of one run.

    One that writes leaves its partitions in `tree/` there, or `fetch` brings them there once it is timed.
    """

    name: str
    command: Callable[[Path], list[str]]
    writes: bool = True
    fetch: Callable[[Path], None] | None = None


@dataclass(frozen=True)
class Run:
    """What one run took as a whole process, and what it left."""

    wall_seconds: float
    cpu_seconds: float
    peak_bytes: int
    files: int
    written_bytes: int


def rivet(database: Database, sort: str = "auto") -> Contestant:
    """Give Rivet, which exports the table by day with a config in the directory of the run."""
    destination = {"type": "local", "path": "./tree/{partition}/"}
    return Contestant("rivet", lambda directory: _rivet_command(directory, database, destination, sort))


def rivet_to_s3(database: Database, bucket: S3Bucket) -> Contestant:
    """Give Rivet, which exports the same into a bucket, below a prefix named as the directory of the run."""

    def command(directory: Path) -> list[str]:
        prefix = f"{directory.name}/{{partition}}/"
        return _rivet_command(directory, database, {**bucket.section, "prefix": prefix})

    def fetch(directory: Path) -> None:
        prefix = f"{directory.name}/"
        for key in bucket.keys(prefix):
            file = directory / "tree" / key.removeprefix(prefix)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(bucket.read(key))

    return Contestant("rivet-s3", command, fetch=fetch)


def _rivet_command(
    directory: Path, database: Database, destination: Mapping[str, object], sort: str = "auto"
) -> list[str]:
    config = directory / "rivet.yaml"
    config.write_text(json.dumps(_rivet_config(database, destination, sort)), encoding="utf-8")
    return [sys.executable, "-m", "rivet", "run", "--config", str(config)]


def duckdb(engine: Engine) -> Contestant | None:
    """Give DuckDB with its scanner, or None where there is none of DuckDB's own version."""
    extension = _find_extension(engine.scanner[0])
    if extension is None:
        return None
    options = f"COMPRESSION zstd, COMPRESSION_LEVEL {COMPRESSION_LEVEL}, ROW_GROUP_SIZE {ROW_GROUP_ROWS}"
    words = [sys.executable, str(HERE / "duckdb_copy.py"), engine.scanner[1], str(extension)]
    return Contestant("duckdb", lambda directory: [*words, str(directory / "tree"), options])


def _find_extension(name: str) -> Path | None:
    package = importlib.util.find_spec(f"duckdb_extension_{name}")
    file = f"extensions/v{importlib.metadata.version('duckdb')}/{name}.duckdb_extension"
    places = [Path(place) / file for place in (package.submodule_search_locations or ())] if package else []
    return next((place for place in places if place.exists()), None)


def environment(engine: Engine, database: Database) -> dict[str, str]:
    """Give what a contestant's process sees: the database, this checkout, and nobody's own settings."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("PG", "MYSQL_", "RIVET_"))}
    own = {"PYTHONPATH": str(HERE.parent), "BENCH_DATABASE_URL": database.url}
    return inherited | own | dict(engine.environment(database))


def weigh(command: Sequence[str], environment: Mapping[str, str]) -> tuple[int, int]:
    """Count the bytes and lines that a command prints."""
    weighed = lines = 0
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while block := process.stdout.read(1024**2):
            weighed += len(block)
            lines += block.count(b"\n")
    if process.returncode:
        raise BenchFailed(f"{command[0]} ended with code {process.returncode}")
    return weighed, lines


def race(
    listed: Sequence[Contestant],
    environment: Mapping[str, str],
    rounds: int,
    directory: Path,
    days: Days,
    *,
    tell: Callable[[str], None],
) -> dict[str, list[Run]]:
    """Let each contestant run once in every round, another one first each time.

    Nothing is deleted in between: what a file system owes for deleting would be paid by the next run.

    Raises:
        BenchFailed: A run failed, or its rows by day are not `days`.
    """
    runs: dict[str, list[Run]] = {contestant.name: [] for contestant in listed}
    for number in range(1, rounds + 1):
        first = (number - 1) % len(listed)
        for contestant in (*listed[first:], *listed[:first]):
            place = directory / f"{contestant.name}-{number}"
            run = run_once(contestant, environment, place, days)
            tell(f"round {number}: {contestant.name} {run.wall_seconds:.2f} s")
            runs[contestant.name].append(run)
    return runs


def run_once(contestant: Contestant, environment: Mapping[str, str], directory: Path, days: Days) -> Run:
    """Run a contestant in a new directory, from start to exit, and count what it left.

    Raises:
        BenchFailed: It failed, or its rows by day are not `days`.
    """
    directory.mkdir()
    result, log = directory / "stopwatch.json", directory / "log"
    command = [
        sys.executable,
        "-I",
        "-S",
        str(HERE / "stopwatch.py"),
        str(result),
        *contestant.command(directory),
    ]
    with (
        log.open("wb") as told,
        subprocess.Popen(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=told,
            start_new_session=True,
        ) as process,
    ):
        try:
            process.wait()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)  # it and what it started
            raise
    if process.returncode:
        end = log.read_text(encoding="utf-8", errors="replace")[-2000:]
        raise BenchFailed(f"{contestant.name} ended with code {process.returncode}\n{end}")
    if contestant.fetch is not None:
        contestant.fetch(directory)
    files = check_tree(contestant.name, directory / "tree", days) if contestant.writes else []
    figures = json.loads(result.read_text(encoding="utf-8"))
    return Run(**figures, files=len(files), written_bytes=sum(file.stat().st_size for file in files))


def check_tree(name: str, tree: Path, days: Days) -> list[Path]:
    """List the Parquet files of a tree whose directories have exactly the rows of each day.

    Raises:
        BenchFailed: A day has other rows, or there is one too many or too few.
    """
    files = sorted(tree.rglob("*.parquet"))
    found: dict[str, int] = {}
    for file in files:
        day = file.parent.name.removeprefix("day=")
        found[day] = found.get(day, 0) + pq.read_metadata(file).num_rows
    if found != dict(days):
        wrong = sorted(day for day in {*days, *found} if days.get(day) != found.get(day))
        raise BenchFailed(
            f"{name} left {sum(found.values())} rows, expected {sum(days.values())}; first wrong partition:"
            f" {wrong[0]!r} has {found.get(wrong[0], 0)}, expected {days.get(wrong[0], 0)}"
        )
    return files


def rows_by_day(engine: Engine, database: Database) -> dict[str, int]:
    """Ask the database for the rows that each directory of a tree should have."""
    return {NULL_VALUE if day is None else day: rows for day, rows in database.fetch(engine.days)}


def _rivet_config(database: Database, destination: Mapping[str, object], sort: str) -> dict[str, object]:
    export = {
        "name": "events",
        "table": "events",
        "partition_by": "created_at",
        "partition_granularity": "day",
        "partition_key": "day",
        "sort": sort,
        "compression": "zstd",
        "compression_level": COMPRESSION_LEVEL,
        "destination": destination,
    }
    source = {"type": database.server.source_type, "url_env": "BENCH_DATABASE_URL"}
    return {"source": source, "state": "off", "exports": [export]}
