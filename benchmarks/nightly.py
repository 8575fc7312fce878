"""Measures a night in which a hundredth of a year's rows has changed: python -m benchmarks.nightly."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.engines import DAYS, ENGINES, Engine
from benchmarks.options import keep_figures, parser, scratch
from benchmarks.race import COMPRESSION_LEVEL, check_tree, environment, rows_by_day
from benchmarks.tables import filled, settle
from benchmarks.timing import RIVET, timed
from tests.servers.database import Database

CHANGED_DAYS = 5
# Of three rows in four: a hundredth of all rows is about so much of five days in a year.
_CHANGE = (
    "UPDATE events SET updated_at = '2025-01-{night:02d} 00:00:00' WHERE created_at >= '2023-03-01 00:00:00' "
    "AND created_at < '2023-03-06 00:00:00' AND id % 4 <> 0"
)
_INDEXES = {
    "an index on the cursor": "CREATE INDEX by_change ON events (updated_at)",
    "and one on the day": "CREATE INDEX by_day ON events (created_at)",
}
GOAL_ROWS, GOAL_TIME = 0.03, 0.05
_INCREMENTAL = {"mode": "incremental", "cursor_column": "updated_at"}
CONTESTANTS: Mapping[str, Mapping[str, object]] = {
    "full": {},
    "incremental": _INCREMENTAL,
    "with verify_counts": {**_INCREMENTAL, "verify_counts": True},
}


@dataclass(frozen=True)
class Night:
    """What one run took, as a process and inside it, and the rows that it read."""

    wall_seconds: float
    export_seconds: float
    rows: int


def main(words: list[str] | None = None) -> int:
    """Measure the engines asked for, print what came of it, and give the exit code."""
    arguments = _parse(words)
    facts = []
    with scratch(arguments.keep) as directory:
        for name in arguments.engine or ENGINES:
            indexes = dict(list(_INDEXES.items())[: 1 if arguments.one_index else None])
            place = directory / name
            facts.append(_measure(ENGINES[name], arguments.rows, arguments.repeat, indexes, place))
            print("\n".join(_lines(facts[-1])), flush=True)
    keep_figures(arguments.json, facts)
    return 0


def _measure(
    engine: Engine, rows: int, repeat: int, indexes: Mapping[str, str], directory: Path
) -> dict[str, Any]:
    directory.mkdir()
    measured: dict[str, Any] = {}
    with filled(engine, rows) as database:
        visible, night = environment(engine, database), 0
        for number, (name, index) in enumerate(indexes.items()):
            database.execute(index)
            settle(engine, database)
            trees = {each: directory / f"{number}-{each.split()[-1]}" for each in CONTESTANTS}
            for each, more in CONTESTANTS.items():  # the trees of the night before, untimed
                _run(database, visible, trees[each], more)
            nights: dict[str, list[Night]] = {each: [] for each in CONTESTANTS}
            for _ in range(repeat):
                night += 1
                database.execute(_CHANGE.format(night=night))
                settle(engine, database)
                days = rows_by_day(engine, database)
                for each, more in CONTESTANTS.items():
                    # A full run writes a tree of its own each time, as if nothing were there.
                    tree = trees[each] if more else directory / f"{number}-full-{night}"
                    nights[each].append(_run(database, visible, tree, more))
                    check_tree(each, tree / "tree", days)
            measured[name] = {each: [asdict(n) for n in runs] for each, runs in nights.items()}
    return {"engine": engine.title, "rows": rows, "days": DAYS, "measured": measured}


def _run(
    database: Database, visible: Mapping[str, str], directory: Path, more: Mapping[str, object]
) -> Night:
    """Run Rivet once, and before it a plan, which tells the rows that it will read."""
    directory.mkdir(exist_ok=True)
    export = {
        "name": "events",
        "table": "events",
        "partition_by": "created_at",
        "partition_key": "day",
        "compression_level": COMPRESSION_LEVEL,
        "destination": {"type": "local", "path": "./tree/{partition}/"},
        **more,
    }
    config, summary, plans = (directory / name for name in ("rivet.yaml", "summary.json", "plan.json"))
    config.write_text(json.dumps({"source": database.source, "exports": [export], "state": "off"}))
    planned = [*RIVET, "plan", "--config", str(config), "--json"]
    timed("rivet plan", planned, visible, directory, told=plans)
    words = [*RIVET, "run", "--config", str(config), "--quiet", "--summary-file", str(summary)]
    figures = timed("rivet run", words, visible, directory)
    (told,) = json.loads(summary.read_text(encoding="utf-8"))["exports"]
    (plan,) = json.loads(plans.read_text(encoding="utf-8"))["exports"]
    return Night(figures.wall_seconds, told["duration_seconds"], plan["rows"])


def _lines(facts: Mapping[str, Any]) -> list[str]:
    """Show medians, and what each night takes of a full run."""
    lines = [f"\n{facts['engine']}: {facts['rows']:,} rows over {facts['days']} days, {CHANGED_DAYS} changed"]
    for name, nights in facts["measured"].items():
        lines.append(f"  {name}:")
        full = {key: statistics.median(n[key] for n in nights["full"]) for key in nights["full"][0]}
        for each, runs in nights.items():
            median = {key: statistics.median(n[key] for n in runs) for key in full}
            share = {key: median[key] / full[key] for key in full}
            lines.append(
                f"    {each:<20} {median['rows']:>12,.0f} rows ({share['rows']:.1%})  "
                f"{median['wall_seconds']:6.2f} s as a process ({share['wall_seconds']:.1%}), "
                f"{median['export_seconds']:6.2f} s of export ({share['export_seconds']:.1%})"
            )
    lines.append(
        f"  goals: at most {GOAL_ROWS:.0%} of the rows and {GOAL_TIME:.0%} of the time of a full run"
    )
    return lines


def _parse(words: list[str] | None) -> argparse.Namespace:
    made = parser("benchmarks.nightly", __doc__, rows=3_000_000)
    made.add_argument("--engine", action="append", choices=ENGINES, help="one engine only; repeatable")
    made.add_argument("--one-index", action="store_true", help="leave out the index on the day")
    return made.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
