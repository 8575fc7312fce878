"""Says what was measured, and on what: one value for machines, and its text for people. Prints nothing."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.engines import DAYS, Engine, Goal
from benchmarks.race import COMPRESSION_LEVEL, Days, Run
from rivet.export.parts import ROW_GROUP_ROWS
from rivet.plan.windows import NULL_VALUE

GOAL_ROWS = 3_000_000
PEAK_GOALS_BYTES = (400_000_000, 350_000_000)  # of today, and the one to come
_PACKAGES = ("rivet-export", "pyarrow", "asyncpg", "asyncmy", "uvloop", "duckdb")


def machine(trees: Path, servers: Path) -> dict[str, Any]:
    """Describe the machine, the file systems that hold trees and servers, and the programs' versions."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "cores": cores,
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "cpu": _first(r"model name\s*: (.*)", "/proc/cpuinfo") or platform.processor() or platform.machine(),
        "kernel": f"{platform.system()} {platform.release()}",
        "trees_on": _file_system(trees),
        "servers_on": _file_system(servers),
        "load": os.getloadavg(),
        "versions": {"Python": platform.python_version()} | {name: _version(name) for name in _PACKAGES},
    }


def machine_text(facts: Mapping[str, Any]) -> str:
    """Tell the machine, with a warning where it has other work."""
    load = facts["load"]
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    lines = [
        f"machine   {facts['cores']} cores, {facts['memory_bytes'] / 1e9:.1f} GB, {facts['cpu']}",
        f"system    {facts['kernel']}, trees on {facts['trees_on']}, servers on {facts['servers_on']}",
        f"versions  {versions}",
        f"load      {' '.join(f'{average:.2f}' for average in load)}",
    ]
    if load[0] > 0.25 * facts["cores"]:
        lines.append("warning: this machine has other work to do; the times below are not to be quoted")
    return "\n".join(lines)


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
                "wall_seconds": _median(each, "wall_seconds"),
                "cpu_seconds": _median(each, "cpu_seconds"),
                "peak_bytes": max(run.peak_bytes for run in each),
                "runs": [asdict(run) for run in each],
            }
            for name, each in runs.items()
        ],
        "ratios": [
            _ratio(goal, runs[goal.of], runs[goal.against])
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
        f"          {DAYS} days in random order, {facts['null_rows']:,} rows without a date, no index on it",
        f"trees     {facts['partitions']} partitions, zstd level {COMPRESSION_LEVEL}",
        f"          row groups of at most {ROW_GROUP_ROWS:,} rows",
        "          every file and directory is synced before the end; DuckDB does not, so its process does",
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
        _goal_text(
            f"{ratio['of']} / {ratio['against']}",
            f"{ratio['ratio']:.2f}  (by round {ratio['minimum']:.2f} to {ratio['maximum']:.2f})",
            ratio["ratio"] <= ratio["goal_now"],
            _goals_text(f"{ratio['goal_now']:g}", f"{ratio['goal_later']:g}"),
        )
        for ratio in facts["ratios"]
    ]
    now, later = PEAK_GOALS_BYTES
    lines += [
        _goal_text(
            f"{each['name']}'s peak",
            f"{each['peak_bytes'] / 1e6:.0f} MB",
            each["peak_bytes"] <= now,
            _goals_text(f"{now / 1e6:.0f} MB", f"{later / 1e6:.0f} MB"),
        )
        for each in facts["contestants"]
        if each["name"].startswith("rivet")
    ]
    if facts["rows"] != GOAL_ROWS:
        lines.append(
            f"The goals are for {GOAL_ROWS:,} rows; with fewer, what is measured is mostly starting up."
        )
    return "\n".join(lines)


def _row(name: str, *cells: str) -> str:
    return f"{name:8}" + "".join(f"{cell:>11}" for cell in cells)


def _goals_text(now: str, later: str) -> str:
    return now if now == later else f"{now}, later {later}"


def _goal_text(name: str, value: str, is_met: bool, goal: str) -> str:  # noqa: FBT001  # a cell of a table
    return f"{name:18}{value:36}{'meets' if is_met else 'misses'} the goal of {goal}"


def _median(runs: Sequence[Run], attribute: str) -> float:
    return float(statistics.median(getattr(run, attribute) for run in runs))


def _ratio(goal: Goal, rivet: Sequence[Run], other: Sequence[Run]) -> dict[str, Any]:
    by_round = [ours.wall_seconds / theirs.wall_seconds for ours, theirs in zip(rivet, other, strict=True)]
    return {
        "against": goal.against,
        "ratio": _median(rivet, "wall_seconds") / _median(other, "wall_seconds"),
        "minimum": min(by_round),
        "maximum": max(by_round),
        "of": goal.of,
        "goal_now": goal.now,
        "goal_later": goal.later,
    }


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _first(pattern: str, file: str) -> str | None:
    path = Path(file)
    match = re.search(pattern, path.read_text(encoding="utf-8")) if path.exists() else None
    return match[1] if match else None


def _file_system(path: Path) -> str:
    """Name the type of the file system of a path: that of the longest mount point above it."""
    mounts = Path("/proc/self/mounts")
    if not mounts.exists():
        return "unknown"
    words = [line.split() for line in mounts.read_text(encoding="utf-8").splitlines()]
    above = [(len(point), kind) for _, point, kind, *_ in words if path.resolve().is_relative_to(point)]
    return max(above)[1]
