"""Measures `rivet validate`, at both depths, as a share of the export that wrote the tree."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.contestants import rivet
from benchmarks.engines import ENGINES
from benchmarks.machine import machine, machine_text
from benchmarks.options import keep_figures, parser, scratch, tell
from benchmarks.printing import goal_line, megabytes, seconds, table
from benchmarks.race import Run, environment, rows_by_day, run_once
from benchmarks.tables import filled
from benchmarks.timing import RIVET, BenchFailed, Figures, median, timed

GOALS = {"quick": 0.10, "full": 0.60}


def main(words: list[str] | None = None) -> int:
    """Measure, print what came of it, and give the exit code."""
    made = parser("benchmarks.validation", __doc__, rows=3_000_000)
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
    tell(f"{engine.title}: making {arguments.rows:,} rows")
    with filled(engine, arguments.rows) as database:
        days, visible = rows_by_day(engine, database), environment(engine, database)
        expected = {"partitions": len(days), "rows": sum(days.values())}
        exports: list[Run] = []
        depths: dict[str, list[Figures]] = {depth: [] for depth in GOALS}
        for number in range(arguments.repeat + 1):  # the first round warms the caches
            place = directory / f"round-{number}"
            export = run_once(rivet(database), visible, place, days)
            took = {depth: _validate(depth, place, visible, expected) for depth in GOALS}
            tell(f"round {number}: " + ", ".join(f"{name} {took[name].wall_seconds:.2f} s" for name in took))
            if number:
                exports.append(export)
                for depth, figures in took.items():
                    depths[depth].append(figures)
    return {
        "engine": engine.title,
        "rows": sum(days.values()),
        "partitions": len(days),
        "export": [asdict(run) for run in exports],
        "export_seconds": median(exports),
        "depths": {
            depth: {
                "runs": [asdict(run) for run in runs],
                "wall_seconds": median(runs),
                "peak_bytes": max(run.peak_bytes for run in runs),
                "share": median(runs) / median(exports),
            }
            for depth, runs in depths.items()
        },
    }


def _validate(depth: str, place: Path, visible: dict[str, str], expected: dict[str, int]) -> Figures:
    told = place / f"{depth}.json"
    words = [*RIVET, "validate", "--prefix", str(place / "tree"), "--depth", depth, "--json"]
    figures = timed(f"validate at {depth} depth", words, visible, place, told=told)
    verdict = json.loads(told.read_text(encoding="utf-8"))
    found = verdict["exports"][0]["verdict"]
    seen = {each: found[each] for each in ("partitions", "rows")}
    if seen != expected:
        raise BenchFailed(f"validate at {depth} depth saw {seen}, expected {expected}")
    return figures


def _text(facts: dict[str, Any]) -> str:
    walls = [run["wall_seconds"] for run in facts["export"]]
    rows = [
        [
            "rivet run",
            *(seconds(value) for value in (facts["export_seconds"], min(walls), max(walls))),
            megabytes(max(run["peak_bytes"] for run in facts["export"])),
            "",
        ]
    ]
    for depth, each in facts["depths"].items():
        took = [run["wall_seconds"] for run in each["runs"]]
        rows.append(
            [
                f"validate, {depth}",
                *(seconds(value) for value in (each["wall_seconds"], min(took), max(took))),
                megabytes(each["peak_bytes"]),
                f"{each['share']:.1%}",
            ]
        )
    return "\n".join(
        [
            f"{facts['engine']}, {facts['rows']:,} rows in {facts['partitions']} partitions",
            table(["", f"wall, {len(walls)} times", "min", "max", "peak", "of the export"], rows),
            "",
            *(
                goal_line(
                    f"validate, {depth}",
                    f"{each['share']:.1%} of the export",
                    f"{GOALS[depth]:.0%}",
                    met=each["share"] <= GOALS[depth],
                )
                for depth, each in facts["depths"].items()
            ),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
