"""Shows where the time of an export goes, stage by stage, and what of it the machine sets as a limit."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.contestants import rivet
from benchmarks.engines import ENGINES
from benchmarks.machine import machine, machine_text
from benchmarks.options import keep_figures, parser, scratch, tell
from benchmarks.printing import megabytes, seconds, table
from benchmarks.race import Contestant, check_tree, environment, rows_by_day, run_once, weigh
from benchmarks.sampler import STAGES
from benchmarks.server_cpu import cpu_seconds, server_process
from benchmarks.tables import filled
from benchmarks.timing import HERE, median, timed

_MEANS = {
    "start": "Python, libraries, config",
    "ask": "describing and the probe",
    "wire": "the driver's loop and its blocks",
    "parse": "bytes of rows to Arrow",
    "split": "sorting, merging and cutting by day",
    "encode": "Parquet and zstd",
    "write": "files, digests, syncs",
    "publish": "renames, manifests, markers",
    "other": "what stands in no room",
    "arrow": "Arrow's own threads",
}


def main(words: list[str] | None = None) -> int:
    """Measure, print what came of it, and give the exit code."""
    made = parser("benchmarks.stages", __doc__, rows=3_000_000)
    made.add_argument("--engine", choices=ENGINES, default="postgres", help="the engine (%(default)s)")
    arguments = made.parse_args(words)
    with scratch(arguments.keep) as directory:
        facts = machine(directory)
        print(machine_text(facts), flush=True)
        measured = measure(arguments, directory)
        print(f"\n{_text(measured)}", flush=True)
        keep_figures(arguments.json, {"machine": facts, **measured})
    return 0


def measure(arguments: argparse.Namespace, directory: Path) -> dict[str, Any]:
    """Give the median processor seconds of each stage and of the server, with the times of whole runs."""
    engine = ENGINES[arguments.engine]
    tell(f"{engine.title}: making {arguments.rows:,} rows")
    with filled(engine, arguments.rows) as database:
        days, visible = rows_by_day(engine, database), environment(engine, database)
        with database.recording() as statements:
            run_once(rivet(database, {"sort": "source"}), visible, directory / "untimed", days)
        floor = engine.floor(database, statements)
        csv_bytes, _ = weigh(floor, visible)
        process = server_process(database.server)
        sampled, plain, floors, servers = [], [], [], []
        for number in range(arguments.repeat):
            plain.append(run_once(rivet(database), visible, directory / f"plain-{number}", days))
            place = directory / f"sampled-{number}"
            place.mkdir()
            words = rivet(database).command(place)[3:]  # without `python -m rivet`
            before = cpu_seconds(process)
            figures = place / "stages.json"
            timed("rivet", [sys.executable, str(HERE / "sampler.py"), str(figures), *words], visible, place)
            servers.append(cpu_seconds(process) - before)
            check_tree("rivet", place / "tree", days)
            sampled.append(json.loads(figures.read_text(encoding="utf-8")))
            before = cpu_seconds(process)
            bare = Contestant("floor", lambda _: floor, writes=False)
            floors.append(
                (
                    run_once(bare, visible, directory / f"floor-{number}", days),
                    cpu_seconds(process) - before,
                )
            )
            tell(
                f"round {number + 1}: {plain[-1].wall_seconds:.2f} s,"
                f" sampled {sampled[-1]['wall_seconds']:.2f} s"
            )
        written = plain[-1].written_bytes
        disk = [_disk_seconds(directory / "disk", written) for _ in range(arguments.repeat)]
    return {
        "engine": engine.title,
        "rows": arguments.rows,
        "partitions": len(days),
        "cores": len(os.sched_getaffinity(0)),
        "csv_bytes": csv_bytes,
        "written_bytes": written,
        "wall_seconds": median(plain),
        "cpu_seconds": median(plain, "cpu_seconds"),
        "sampled_wall_seconds": statistics.median(each["wall_seconds"] for each in sampled),
        "server_seconds": statistics.median(servers),
        "floor_seconds": median([run for run, _ in floors]),
        "floor_server_seconds": statistics.median(server for _, server in floors),
        "disk_seconds": statistics.median(disk),
        "stages": {
            stage: statistics.median(each["stages"][stage] for each in sampled)
            for stage in (*STAGES, "arrow")
        },
    }


def _disk_seconds(file: Path, size: int) -> float:
    """Write so many bytes to one file and sync it: what the disk takes at the least."""
    data = os.urandom(1024**2)
    begin = time.perf_counter()
    with file.open("wb") as output:
        for _ in range(size // len(data) + 1):
            output.write(data)
        output.flush()
        os.fsync(output.fileno())
    return time.perf_counter() - begin


def limits(facts: Mapping[str, Any]) -> dict[str, float]:
    """Give, by what sets it, the least time that an export of the same work could take on this machine."""
    own = sum(facts["stages"].values())
    return {
        "all of it, on every core, without a pause": (facts["server_seconds"] + own) / facts["cores"],
        "the server's part, which is one process": facts["server_seconds"],
        "what it writes, to one file": facts["disk_seconds"],
    }


def _text(facts: Mapping[str, Any]) -> str:
    stages = {"server": facts["server_seconds"], **facts["stages"]}
    every = sum(stages.values())
    means = {"server": "the database's processes", **_MEANS}
    rows = [
        [name, f"{took:.2f} s", f"{took / every:.1%}", f"{1e6 * took / facts['rows']:.2f}", means[name]]
        for name, took in stages.items()
    ]
    rows.append(["all", f"{every:.2f} s", "", f"{1e6 * every / facts['rows']:.2f}", ""])
    wall, bounds = facts["wall_seconds"], limits(facts)
    least = max(bounds.values())
    head = (
        f"{facts['engine']}, {facts['rows']:,} rows, {megabytes(facts['csv_bytes'])} as CSV,"
        f" {facts['partitions']} partitions, {megabytes(facts['written_bytes'])} written"
    )
    floor = f"{seconds(facts['floor_seconds'])} (server {seconds(facts['floor_server_seconds'])} of CPU)"
    return "\n".join(
        [
            head,
            "processor time by stage, sampled, medians:",
            table(["stage", "CPU", "share", "µs a row", ""], rows),
            "",
            f"whole run {seconds(wall)}, sampled {seconds(facts['sampled_wall_seconds'])}, floor {floor}",
            "no less is possible of the same work here, for:",
            *(
                f"  {name:44}{seconds(bound):>9}  {bound / wall:.0%} of the run"
                for name, bound in bounds.items()
            ),
            f"the run takes {wall / least:.2f} times the greatest of these",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
