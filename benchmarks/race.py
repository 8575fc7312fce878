"""Runs the contestants in turn, each time into a new directory, and counts what every run left there."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.engines import Engine
from benchmarks.timing import BenchFailed, Figures, own_environment, timed
from rivet.plan.windows import NULL_VALUE
from tests.servers.database import Database

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
class Run(Figures):
    """What one run took as a whole process, and what it left."""

    files: int
    written_bytes: int


def environment(engine: Engine, database: Database) -> dict[str, str]:
    """Give what a contestant's process sees: the database, this checkout, and nobody's own settings."""
    return own_environment() | {"BENCH_DATABASE_URL": database.url} | dict(engine.environment(database))


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
    figures = timed(contestant.name, contestant.command(directory), environment, directory)
    if contestant.fetch is not None:
        contestant.fetch(directory)
    files = check_tree(contestant.name, directory / "tree", days) if contestant.writes else []
    return Run(**asdict(figures), files=len(files), written_bytes=sum(file.stat().st_size for file in files))


def check_tree(name: str, tree: Path, days: Days) -> list[Path]:
    """List the Parquet files of a tree whose directories have exactly the rows of each day.

    Raises:
        BenchFailed: A day has other rows, or there is one too many or too few.
    """
    files = sorted(tree.rglob("*.parquet"))
    found: dict[str, int] = {}
    for file in files:
        day = file.parent.name.partition("=")[2]
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
