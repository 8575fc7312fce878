"""Measures how long commands take that have next to nothing to do: whole processes, medians of ten."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.contestants import rivet
from benchmarks.machine import machine, machine_text
from benchmarks.options import keep_figures, parser, scratch
from benchmarks.printing import goal_line, megabytes, seconds, table
from benchmarks.race import run_once
from benchmarks.timing import RIVET, Figures, median, own_environment, timed
from tests.servers.sqlite import SqliteDatabase

GOALS = {"rivet --help": 0.3, "rivet validate": 0.6}
_LINE = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \| ( *)(\S+)")
_MOST_LINES = 15


def main(words: list[str] | None = None) -> int:
    """Measure, print what came of it, and give the exit code."""
    made = parser("benchmarks.startup", __doc__, rows=2, repeat=10)
    made.add_argument("--imports", action="store_true", help="what is imported, too, and how long each takes")
    arguments = made.parse_args(words)
    with scratch(arguments.keep) as directory:
        facts = machine(directory)
        print(machine_text(facts), flush=True)
        commands = _commands(arguments, directory)
        measured = {name: _measure(name, command, arguments, directory) for name, command in commands.items()}
        print(f"\n{_text(measured, arguments.repeat)}", flush=True)
        if arguments.imports:
            for name, command in commands.items():
                print(f"\n{name} imports, in milliseconds, with all that each imports first:")
                print(_imports(command, directory))
        keep_figures(arguments.json, {"machine": facts, "commands": measured})
    return 0


def _commands(arguments: argparse.Namespace, directory: Path) -> dict[str, list[str]]:
    """Export one small partition, and give the commands, the bare start of Python among them."""
    database = SqliteDatabase(directory / "small.db")
    database.execute("CREATE TABLE events (id INTEGER PRIMARY KEY, created_at DATE)")
    with database.connect(autocommit=False) as connection:
        rows = ((number, "2023-01-01") for number in range(arguments.rows))
        connection.executemany("INSERT INTO events VALUES (?, ?)", rows)
        connection.commit()
    run_once(rivet(database), own_environment(), directory / "export", {"2023-01-01": arguments.rows})
    partition = directory / "export" / "tree" / "day=2023-01-01"
    return {
        "python": [sys.executable, "-c", ""],
        "rivet --help": [*RIVET, "--help"],
        "rivet validate": [*RIVET, "validate", "--prefix", str(partition)],
    }


def _measure(name: str, command: list[str], arguments: argparse.Namespace, directory: Path) -> dict[str, Any]:
    runs: list[Figures] = [
        timed(name, command, own_environment(), directory) for _ in range(arguments.repeat + 1)
    ][1:]  # the first one compiles, and warms the caches
    return {
        "wall_seconds": median(runs),
        "cpu_seconds": median(runs, "cpu_seconds"),
        "peak_bytes": max(run.peak_bytes for run in runs),
        "runs": [asdict(run) for run in runs],
    }


def _text(measured: dict[str, Any], repeat: int) -> str:
    rows = []
    for name, each in measured.items():
        walls = [run["wall_seconds"] for run in each["runs"]]
        rows.append(
            [
                name,
                *(seconds(value) for value in (each["wall_seconds"], min(walls), max(walls))),
                seconds(each["cpu_seconds"]),
                megabytes(each["peak_bytes"]),
            ]
        )
    return "\n".join(
        [
            f"whole processes, {repeat} runs after one that is not counted",
            table(["", "wall, median", "min", "max", "CPU", "peak"], rows),
            "",
            *(
                goal_line(
                    name,
                    f"{measured[name]['wall_seconds']:.3f} s",
                    f"{goal:g} s",
                    met=measured[name]["wall_seconds"] < goal,
                )
                for name, goal in GOALS.items()
            ),
        ]
    )


def _imports(command: list[str], directory: Path) -> str:
    words = [command[0], "-X", "importtime", *command[1:]]
    done = subprocess.run(
        words, cwd=directory, env=own_environment(), capture_output=True, text=True, check=True
    )
    found = [(int(match[2]), match[4]) for match in map(_LINE.match, done.stderr.splitlines()) if match]
    return "\n".join(
        f"{took / 1000:8.1f}  {module}" for took, module in sorted(found, reverse=True)[:_MOST_LINES]
    )


if __name__ == "__main__":
    sys.exit(main())
