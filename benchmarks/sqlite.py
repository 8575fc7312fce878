"""Measures Rivet on SQLite beside ADBC, which reads the same rows into nothing, and their encoding."""

from __future__ import annotations

import argparse
import random
import sqlite3
import statistics
import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.contestants import rivet
from benchmarks.engines import DAYS
from benchmarks.machine import machine, machine_text
from benchmarks.options import keep_figures, parser, scratch, tell
from benchmarks.printing import goal_line, megabytes, seconds, table
from benchmarks.race import COMPRESSION_LEVEL, Run, race
from benchmarks.timing import HERE, BenchFailed, Figures, median, own_environment, timed
from rivet.export.parts import ROW_GROUP_ROWS
from rivet.plan.windows import NULL_VALUE
from tests.servers.sqlite import SqliteDatabase

GOAL = 1.5
PEAK_BYTES = 350_000_000
_BEGIN = datetime(2023, 1, 1)  # noqa: DTZ001 - the column is naive
_TABLE = """
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    created_at TIMESTAMP,
    customer TEXT NOT NULL,
    status TEXT NOT NULL,
    amount DECIMAL(12,2) NOT NULL,
    quantity INTEGER NOT NULL,
    price REAL NOT NULL,
    is_paid BOOLEAN NOT NULL,
    country TEXT NOT NULL,
    note TEXT,
    payload TEXT NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL
)
"""
READINGS = {
    "adbc": "SELECT * FROM events",
    "adbc, ordered": "SELECT * FROM events ORDER BY created_at",
}


def main(words: list[str] | None = None) -> int:
    """Measure, print what came of it, and give the exit code."""
    arguments = parser("benchmarks.sqlite", __doc__, rows=3_000_000).parse_args(words)
    with scratch(arguments.keep) as directory:
        facts = machine(directory)
        print(machine_text(facts), flush=True)
        measured = _measure(arguments, directory)
        print(f"\n{_text(measured)}", flush=True)
        keep_figures(arguments.json, {"machine": facts, **measured})
    return 0


def _measure(arguments: argparse.Namespace, directory: Path) -> dict[str, Any]:
    database = SqliteDatabase(directory / "events.db")
    tell(f"SQLite: making {arguments.rows:,} rows")
    fill(database, arguments.rows)
    query = "SELECT date(created_at), count(*) FROM events GROUP BY 1"
    days = {NULL_VALUE if day is None else day: rows for day, rows in database.fetch(query)}
    visible, listed = own_environment(), [rivet(database)]
    runs: dict[str, list[Run]] = {"rivet": []}
    readings: dict[str, list[Figures]] = {name: [] for name in READINGS}
    encodings: list[float] = []
    for number in range(arguments.repeat + 1):  # the first round warms the caches
        place = directory / f"round-{number}"
        place.mkdir()
        turn = [_read(database, name, arguments.rows, place, visible) for name in READINGS]
        ours = race(listed, visible, 1, place, days, tell=tell)
        encoded = _encode(place / "rivet-1" / "tree", place, visible)
        if number:
            runs["rivet"] += ours["rivet"]
            encodings.append(encoded)
            for name, figures in zip(READINGS, turn, strict=True):
                readings[name].append(figures)
    encoding = statistics.median(encodings)
    return {
        "engine": f"SQLite {sqlite3.sqlite_version}",
        "rows": sum(days.values()),
        "partitions": len(days),
        "file_bytes": database.path.stat().st_size,
        "rivet": [asdict(run) for run in runs["rivet"]],
        "readings": {name: [asdict(figures) for figures in each] for name, each in readings.items()},
        "encoding_seconds": encodings,
        "wall_seconds": median(runs["rivet"]),
        "peak_bytes": max(run.peak_bytes for run in runs["rivet"]),
        "ratios": {
            name: median(runs["rivet"]) / (median(each) + encoding) for name, each in readings.items()
        },
    }


def _read(
    database: SqliteDatabase, name: str, rows: int, directory: Path, visible: dict[str, str]
) -> Figures:
    told = directory / "rows"
    words = [sys.executable, str(HERE / "sqlite_floor.py"), "read", str(database.path), READINGS[name]]
    figures = timed(name, words, visible, directory, told=told)
    if (read := int(told.read_text(encoding="utf-8"))) != rows:
        raise BenchFailed(f"{name} read {read} rows, expected {rows}")
    return figures


def _encode(tree: Path, directory: Path, visible: dict[str, str]) -> float:
    result = directory / "encoding"
    words = [str(tree), str(result), str(ROW_GROUP_ROWS), str(COMPRESSION_LEVEL)]
    timed("encoding", [sys.executable, str(HERE / "sqlite_floor.py"), "encode", *words], visible, directory)
    return float(result.read_text(encoding="utf-8"))


def _text(facts: dict[str, Any]) -> str:
    walls = [run["wall_seconds"] for run in facts["rivet"]]
    listed = {"rivet": walls}
    listed |= {name: [run["wall_seconds"] for run in each] for name, each in facts["readings"].items()}
    listed["encoding, one thread"] = facts["encoding_seconds"]
    rows = [
        [name, *(seconds(value) for value in (statistics.median(each), min(each), max(each)))]
        for name, each in listed.items()
    ]
    return "\n".join(
        [
            f"{facts['engine']}, {facts['rows']:,} rows of 12 columns, {megabytes(facts['file_bytes'])}",
            f"{facts['partitions']} partitions, {len(walls)} rounds after an untimed one, all counted",
            "",
            table(["", "wall, median", "min", "max"], rows),
            "",
            *(
                goal_line(
                    f"rivet / ({name} + encoding)",
                    f"{ratio:.2f}",
                    f"{GOAL:g}" + ("" if name == "adbc" else ", set for rows in no order"),
                    met=ratio <= GOAL,
                )
                for name, ratio in facts["ratios"].items()
            ),
            goal_line(
                "rivet's peak",
                megabytes(facts["peak_bytes"]),
                megabytes(PEAK_BYTES),
                met=facts["peak_bytes"] <= PEAK_BYTES,
            ),
        ]
    )


def fill(database: SqliteDatabase, rows: int) -> None:
    """Make the table, with rows like those of the other engines, the same each time."""
    with database.connect(autocommit=False) as connection:
        connection.execute(_TABLE)
        places = ", ".join("?" * 12)
        connection.executemany(f"INSERT INTO events VALUES ({places})", _rows(rows))
        connection.commit()


def _rows(count: int) -> Iterator[tuple[object, ...]]:
    chance = random.Random(5)
    draw, pick = chance.random, chance.choice
    statuses = ("new", "paid", "packed", "shipped", "delivered", "returned")
    countries = ("DE", "FR", "IT", "ES", "PL", "NL", "US", "BR")
    for number in range(1, count + 1):
        created = _BEGIN + timedelta(microseconds=int(draw() * DAYS * 86_400_000_000))
        updated = _BEGIN + timedelta(microseconds=int(draw() * 10_000_000_000_000))
        notes = (None, "", 'asked for "gift wrap", twice')
        kind = int(draw() * 16)
        yield (
            number,
            created.isoformat(" ", "microseconds") if number % 1000 else None,
            f"customer {int(draw() * 100_000)}",
            pick(statuses),
            round(draw() * 10_000, 2),
            1 + int(draw() * 20),
            draw() * 1000,
            draw() < 0.8,
            pick(countries),
            notes[kind]
            if kind < 3
            else f"left at door {int(draw() * 1000)}, signed by {int(draw() * 100_000)}",
            f"{chance.getrandbits(128):032x}",
            updated.isoformat(" ", "microseconds") + "+00:00",
        )


if __name__ == "__main__":
    sys.exit(main())
