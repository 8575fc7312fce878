"""Says what was measured, and on what: one value for machines, and its text for people. Prints nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.engines import DAYS, Engine, Goal
from benchmarks.printing import goal_line
from benchmarks.race import COMPRESSION_LEVEL, Days, Run
from benchmarks.timing import median
from rivet.export.parts import ROW_GROUP_ROWS
from rivet.plan.windows import NULL_VALUE

GOAL_ROWS = 3_000_000
PEAK_BYTES = 350_000_000
LARGE_PEAK = 1.2  # times that at most, however many rows there are


def measured(
    engine: Engine,
    settings: Mapping[str, str],
    days: Days,
    csv_bytes: int,
    runs: Mapping[str, Sequence[Run]],
) -> dict[str, Any]:
    """Gather what was measured with one engine; ratios are Rivet's to another's in the same rounds."""
    return {
        "engine": engine.title,
        "settings": dict(settings),
        "rows": sum(days.values()),
        "null_rows": days.get(NULL_VALUE, 0),
        "partitions": len(days),
        "csv_bytes": csv_bytes,
        "rounds": len(runs["rivet"]),
        "contestants": [
            {
                "name": name,
                "wall_seconds": median(each),
                "cpu_seconds": median(each, "cpu_seconds"),
                "peak_bytes": max(run.peak_bytes for run in each),
                "runs": [asdict(run) for run in each],
            }
            for name, each in runs.items()
        ],
        "ratios": [
            _ratio(goal, sum(days.values()), runs)
            for goal in engine.goals
            if goal.of in runs and goal.against in runs
        ],
    }


def measured_text(facts: Mapping[str, Any]) -> str:
    """Tell what was measured with one engine."""
    version, *settings = facts["settings"].items()
    lines = [
        f"{facts['engine']} {version[1]}",
        f"settings  {', '.join(f'{name}={value}' for name, value in settings)}",
        f"table     {facts['rows']:,} rows of 12 columns, {facts['csv_bytes'] / 1e6:,.1f} MB as CSV",
        f"          {DAYS} days in random order, {facts['null_rows']:,} rows without a date",
        "          no index on it, but for floor-index, rivet-index and rivet-cli, which come last",
        f"trees     {facts['partitions']} partitions, zstd level {COMPRESSION_LEVEL}",
        f"          row groups of at most {ROW_GROUP_ROWS:,} rows",
        "          every file and directory is synced before the end; DuckDB does not, so its process does;",
        "          rivet-cli is left as it is",
        f"rounds    {facts['rounds']}, after an untimed run of each; all partitions counted after every run",
        "",
        _row("", "wall", "min", "max", "CPU", "peak", "files", "written"),
    ]
    for each in facts["contestants"]:
        walls = [run["wall_seconds"] for run in each["runs"]]
        files, written = (each["runs"][-1][name] for name in ("files", "written_bytes"))
        lines.append(
            _row(
                each["name"],
                *(f"{seconds:.2f} s" for seconds in (each["wall_seconds"], min(walls), max(walls))),
                f"{each['cpu_seconds']:.2f} s",
                f"{each['peak_bytes'] / 1e6:.0f} MB",
                *((f"{files:,}", f"{written / 1e6:,.1f} MB") if files else ("-", "-")),
            )
        )
    lines += [
        "wall and CPU are medians of whole processes; CPU is without the server's; peak is the highest",
        "",
    ]
    lines += [
        goal_line(
            f"{ratio['of']} / {ratio['against']}",
            f"{ratio['ratio']:.2f}  (by round {ratio['minimum']:.2f} to {ratio['maximum']:.2f})",
            f"{ratio['goal']:g}",
            met=ratio["ratio"] <= ratio["goal"],
        )
        for ratio in facts["ratios"]
    ]
    peak_bytes = PEAK_BYTES * (LARGE_PEAK if facts["rows"] > GOAL_ROWS else 1)
    lines += [
        goal_line(
            f"{each['name']}'s peak",
            f"{each['peak_bytes'] / 1e6:.0f} MB",
            f"{peak_bytes / 1e6:.0f} MB",
            met=each["peak_bytes"] <= peak_bytes,
        )
        for each in facts["contestants"]
        if each["name"].startswith("rivet") and each["name"] != "rivet-cli"
    ]
    if facts["rows"] < GOAL_ROWS:
        lines.append(
            f"The goals are for {GOAL_ROWS:,} rows; with fewer, what is measured is mostly starting up."
        )
    return "\n".join(lines)


def _row(name: str, *cells: str) -> str:
    return f"{name:12}" + "".join(f"{cell:>11}" for cell in cells)


def _ratio(goal: Goal, rows: int, runs: Mapping[str, Sequence[Run]]) -> dict[str, Any]:
    """Compare two contestants; where a floor was read with an index, too, the faster one counts.

    Where one of them had fewer rounds, its rounds are compared with the first of the other's.
    """
    listed = {name: runs[name] for name in (goal.against, f"{goal.against}-index") if name in runs}
    against = min(listed, key=lambda name: median(listed[name]))
    ours, theirs = runs[goal.of], runs[against]
    by_round = [our.wall_seconds / their.wall_seconds for our, their in zip(ours, theirs, strict=False)]
    return {
        "against": against,
        "ratio": median(ours) / median(theirs),
        "minimum": min(by_round),
        "maximum": max(by_round),
        "of": goal.of,
        "goal": goal.for_rows(rows),
    }
