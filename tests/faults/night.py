"""One night of one source and one destination, again and again, with a fault in each."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import environ
from pathlib import Path
from typing import Any

from tests.faults.places import Place, content
from tests.faults.planted import assert_no_secret
from tests.faults.steps import AS_TIME_HAS_IT, Fault, Kind, Side
from tests.faults.watching import Reader, Watch, by_label
from tests.run.conftest import AnyDatabase
from tests.run.refusing import MOMENT
from tests.run.running import by_day, run_well
from tests.run.trees import Rows
from tests.servers.database import ODD_PASSWORD
from tests.servers.sqlite import SqliteDatabase

FOREIGN = {"created_at=2023-01-01/notes.txt": b"foreign", "created_at=2023-01-03/sub/_SUCCESS": b"foreign"}
SECOND_NIGHT = """
    DELETE FROM events WHERE created_at >= '2023-01-03' AND created_at < '2023-01-04';
    UPDATE events SET note = 'changed' WHERE created_at < '2023-01-02' AND id % 3 = 0;
    UPDATE events SET created_at = '2023-01-04 04:00:00' WHERE created_at IS NULL AND id % 8 = 3;
"""
"""The first day has other rows, the second is as it was, the third has none, the fourth is new."""


def first_night(engine: str) -> str:
    """Write the statements that make the table: 300 rows of three days and of none."""

    def moment(i: int) -> str:
        return "NULL" if i % 4 == 3 else f"'2023-01-0{i % 4 + 1} {i % 24:02}:00:00'"

    rows = ", ".join(f"({i}, {moment(i)}, 'row {i} of many')" for i in range(300))
    return (
        f"CREATE TABLE events (id int PRIMARY KEY, created_at {MOMENT[engine]}, note varchar(40));"
        f" INSERT INTO events VALUES {rows};"
    )


def rows_of(database: AnyDatabase) -> Rows:
    """Fetch the table past the code under test, with moments as such."""
    rows: Rows = []
    for key, told, *rest in database.fetch("SELECT * FROM events"):
        rows.append((key, dt.datetime.fromisoformat(told) if isinstance(told, str) else told, *rest))
    return rows


@dataclass(frozen=True)
class Ended:
    """How a run ended.

    Attributes:
        code: The exit code; None where it was killed.
        steps: How often each step came.
        output: All that it said.
    """

    code: int | None
    steps: dict[str, int]
    output: str


class Driver:
    """A process that forks runs."""

    def __init__(self, process: subprocess.Popen[str], output: Path) -> None:
        self._process = process
        self._output = output

    def run(
        self,
        config: Path,
        fault: Fault | None = None,
        *,
        command: str = "run",
        kill_after_seconds: float | None = None,
    ) -> Ended:
        """Run the command, and wait for its end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        task = {
            "arguments": [command, "--config", str(config), "--json"],
            "output": str(self._output),
            "fault": fault,
            "kill_after_seconds": kill_after_seconds,
        }
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        code = None if answer["ended"] == "killed" else answer["ended"]
        output = self._output.read_text(errors="replace")
        assert_no_secret(output)
        return Ended(code, answer["steps"], output)


@contextmanager
def run_driver(directory: Path, environment: dict[str, str]) -> Iterator[Driver]:
    """Run a driver for as long as the block lasts."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.faults.driver"],
        env=environ | environment | {"XDG_STATE_HOME": str(directory / "state")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Driver(process, directory / "output")
        finally:
            process.kill()


class Night:
    """The night after the first: the tree is the old one, the table is new.

    Attributes:
        steps: How often each step comes in a run that nothing befalls.
    """

    def __init__(self, directory: Path, database: AnyDatabase, engine: str, place: Place) -> None:
        self.place = place
        # Of all that is told Rivet can only mask what its config names.
        is_known = not isinstance(database, SqliteDatabase) or bool(place.environment)
        self._secret = ODD_PASSWORD if is_known else "nothing"
        self.steps: dict[str, int] = {}
        self._directory = directory
        self._database = database
        database.execute(first_night(engine))
        old = by_label(rows_of(database))
        self._run_here(place.hold({}))
        self._before = content(place) | FOREIGN
        database.execute(SECOND_NIGHT)
        self._reader = Reader(place, old, by_label(rows_of(database)))

    def rehearse(self, driver: Driver) -> None:
        """Run without a fault, to see that readers are content and which steps there are."""
        ended = self._run(driver, None)
        assert ended.code == 0, ended.output
        self._reader.assert_new(FOREIGN)
        self.steps = ended.steps

    def suffer(self, driver: Driver, step: str, side: Side, kind: Kind, turn: int) -> None:
        """Run with a fault, under the eyes of a reader, then without: the tree is old or new, then new."""
        number = 0 if step in AS_TIME_HAS_IT else turn % self.steps[step]
        fault = Fault(step=step, side=side, number=number, kind=kind, secret=self._secret)
        ended = self._run(driver, fault)
        self._reader.look()
        allowed: dict[Kind, set[int | None]] = {
            "kill": {None},
            "bug": {1},
            "unavailable": {0, 3},
            "cut": {0, 3},
            "full": {0, 3},
        }
        assert ended.code in allowed[kind], ended.output
        assert ("Traceback" in ended.output) == (ended.code == 1), ended.output
        # The mending run keeps what this one has published, by turns.
        self._write(self._section, resume=("redo", "reuse")[turn % 2])
        mended = driver.run(self._config)
        assert mended.code == 0, mended.output
        self._reader.assert_new(FOREIGN)

    def _run(self, driver: Driver, fault: Fault | None) -> Ended:
        self._section = self.place.hold(self._before)
        self._config = self._write(self._section)
        with Watch(self._reader):
            return driver.run(self._config, fault)

    def _run_here(self, section: dict[str, Any]) -> None:
        source, export = self._database.source, by_day(Path(), destination=section)
        outcome = run_well(self._directory, source, export, environ=self.place.environment)
        assert outcome.partitions_written == 4

    def _write(self, section: dict[str, Any], **more: str) -> Path:
        path = self._directory / "rivet.yaml"
        config = {
            "source": {**self._database.source, "retries": 0},
            "exports": [by_day(Path(), destination=section, **more)],
        }
        path.write_text(json.dumps(config))
        return path
