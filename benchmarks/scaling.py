"""Reckons the time of the same export with more cores and a remote database, from what each stage costs here.

    python -m benchmarks.scaling                      # measures the stages first
    python -m benchmarks.scaling --figures FILE       # takes those of `benchmarks.stages --json FILE`

Nothing that it prints for other machines was measured. The reckoning: starting, asking and publishing come
one after the other; in between, the time is that of whichever of these has most to do, since all overlap:

    server      its seconds / workers, and no more workers than it has cores
    network     bytes as CSV / what the network carries (a remote database only)
    cores       all seconds of Rivet (and of a local server) / cores
    one stage   the seconds of Rivet's longest stage / its threads: one a worker, two at least to encode
    the lock    the seconds that hold Python's lock, however many threads there are

How much of reading and decoding holds the lock is not known, so there are two answers: with none of it, and
with all of it. Encoding, compressing, digests and syncs hold none.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.engines import ENGINES
from benchmarks.machine import machine, machine_text
from benchmarks.options import keep_figures, parser, scratch
from benchmarks.printing import seconds, table
from benchmarks.stages import measure
from rivet.export.stage import ENCODERS

CORES = (2, 16, 64)
WORKERS = (1, 2, 4, 8, 16, 32, 64)
SERIAL = ("start", "ask", "publish", "other")
PARALLEL = ("wire", "parse", "split", "encode", "write", "arrow")
LOCKED = ("wire", "parse", "split")


@dataclass(frozen=True)
class Machine:
    """Where Rivet runs, and its database: on the same cores, or on as many of its own."""

    cores: int
    remote: bool
    network_bytes_per_second: float


@dataclass(frozen=True)
class Reckoned:
    """A time, and what sets it."""

    seconds: float
    bound: str


def reckon(facts: Mapping[str, Any], where: Machine, workers: int, *, locked: bool) -> Reckoned:
    """Give the time of an export with so many workers.

    Args:
        facts: The figures of the stages: `stages`, `server_seconds`, `csv_bytes`.
        locked: Whether reading, decoding and cutting hold Python's lock all the time.
    """
    stages, server = facts["stages"], facts["server_seconds"]
    own = sum(stages[name] for name in PARALLEL)
    shared = own if where.remote else own + server
    bounds = {
        "server": server / min(workers, where.cores),
        "network": facts["csv_bytes"] / where.network_bytes_per_second if where.remote else 0.0,
        "cores": shared / where.cores,
        "one stage": max(stages[name] / _threads(name, workers) for name in PARALLEL),
        "the lock": sum(stages[name] for name in LOCKED) if locked else 0.0,
    }
    bound = max(bounds, key=lambda name: bounds[name])
    return Reckoned(sum(stages[name] for name in SERIAL) + bounds[bound], bound)


def _threads(stage: str, workers: int) -> int:
    return max(ENCODERS, workers) if stage == "encode" else workers


def main(words: list[str] | None = None) -> int:
    """Measure or read the stages, print the reckoning, and give the exit code."""
    made = parser("benchmarks.scaling", __doc__, rows=3_000_000)
    made.formatter_class = argparse.RawDescriptionHelpFormatter
    made.add_argument("--engine", choices=ENGINES, default="postgres", help="the engine (%(default)s)")
    made.add_argument("--figures", type=Path, metavar="FILE", help="what benchmarks.stages wrote by --json")
    made.add_argument("--gigabits", type=float, default=10, help="the network, a second (%(default)s)")
    arguments = made.parse_args(words)
    if arguments.figures:
        facts = json.loads(arguments.figures.read_text(encoding="utf-8"))
        print(machine_text(facts["machine"]), flush=True)
    else:
        with scratch(arguments.keep) as directory:
            described = machine(directory)
            print(machine_text(described), flush=True)
            facts = {"machine": described, **measure(arguments, directory)}
    print(f"\n{_text(facts, arguments.gigabits * 1e9 / 8)}", flush=True)
    keep_figures(arguments.json, facts)
    return 0


def _text(facts: Mapping[str, Any], network: float) -> str:
    here = Machine(facts["cores"], remote=False, network_bytes_per_second=network)
    free, held = (reckon(facts, here, 1, locked=locked).seconds for locked in (False, True))
    rows = []
    for cores in CORES:
        for remote in (False, True):
            where = Machine(cores, remote, network)
            for workers in (number for number in WORKERS if number <= cores):
                answers = [reckon(facts, where, workers, locked=locked) for locked in (False, True)]
                rows.append(
                    [
                        f"{cores} cores, {'remote' if remote else 'local'} database",
                        str(workers),
                        *(cell for answer in answers for cell in (seconds(answer.seconds), answer.bound)),
                    ]
                )
    stages = ", ".join(f"{name} {facts['stages'][name]:.2f}" for name in (*SERIAL, *PARALLEL))
    return "\n".join(
        [
            f"{facts['engine']}, {facts['rows']:,} rows; seconds of CPU by stage, measured here:",
            f"server {facts['server_seconds']:.2f}, {stages}",
            f"reckoned for this machine: {free:.2f} to {held:.2f} s; measured: {facts['wall_seconds']:.2f} s",
            "reckoned, none of it measured, without and with Python's lock on all reading and decoding:",
            table(["", "workers", "without", "bound by", "with", "bound by"], rows),
            f"a network of {network * 8 / 1e9:g} Gbit/s; a remote database has as many cores of its own",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
