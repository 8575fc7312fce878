"""Trees that are not written anew as a whole, and one more night, in which somebody is killed."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.faults.night import Driver, Ended, rows_of
from tests.faults.places import Place, content
from tests.faults.steps import Fault
from tests.faults.watching import Reader, Watch, by_label
from tests.run.conftest import AnyDatabase
from tests.run.refusing import MOMENT
from tests.run.running import by_day

_CHANGING = {"mode": "incremental", "cursor_column": "changed"}
_ROWS = 60


@dataclass(frozen=True)
class Way:
    """How a tree comes to be, and what is done to it.

    Attributes:
        export: Further keys of the export.
        nights: Statements before each run that makes the old tree, but the first.
        change: Statements before what is killed.
        command: What is killed.
        mends: The commands that end it, by turns.
    """

    export: Mapping[str, Any]
    nights: tuple[str, ...] = ()
    change: str = ""
    command: str = "run"
    mends: tuple[tuple[str, ...], ...] = (("run",),)


def _inserted(night: int) -> str:
    """Write rows of the first day, of one that is new, and of none."""
    first = _ROWS + 10 * night
    days = ("'2023-01-01 11:00:00'", f"'2023-01-1{night} 12:00:00'", "NULL", "'2023-01-03 10:00:00'")
    rows = (f"({first + number}, {day}, {first}, 'night {night}')" for number, day in enumerate(days))
    return f"INSERT INTO events VALUES {', '.join(rows)}"


WAYS = {
    "append": Way({**_CHANGING, "strategy": "append"}, (_inserted(1),), _inserted(2)),
    "compact": Way(
        {**_CHANGING, "strategy": "append"},
        (_inserted(1), _inserted(2)),
        command="compact",
        mends=(("compact",), ("run", "compact")),
    ),
    "rewrite": Way(
        {**_CHANGING, "verify_counts": True, "vanished": "remove"},
        (_inserted(1),),
        f"""
        {_inserted(2)};
        DELETE FROM events WHERE created_at >= '2023-01-03' AND created_at < '2023-01-04';
        UPDATE events SET note = 'changed', changed = 900 WHERE id = 4;
        UPDATE events SET created_at = '2023-01-04 04:00:00', changed = 900 WHERE id = 7;
        """,
    ),
    "chunks": Way(
        {"mode": "chunked", "chunk_column": "id", "chunk_size": 20, "resume": "reuse", "vanished": "remove"},
        (),
        "DELETE FROM events WHERE id = 5; UPDATE events SET note = 'changed' WHERE id < 30 OR id % 4 = 3",
    ),
}


class GrowingTree:
    """A tree of one table, and what it is to become.

    Attributes:
        steps: How often each step comes where nobody is killed.
        seconds: How long that takes.
    """

    def __init__(
        self, directory: Path, database: AnyDatabase, engine: str, place: Place, way: Way, driver: Driver
    ) -> None:
        self._place, self._way, self._driver = place, way, driver
        self._source = {**database.source, "retries": 0}
        self._config = directory / "rivet.yaml"
        database.execute(_table(engine))
        self._write(place.hold({}))
        for change in ("", *way.nights):
            database.execute(change or "SELECT 1")
            self._do("run")
        self._before = content(place)
        old = by_label(rows_of(database))
        database.execute(way.change or "SELECT 1")
        self._reader = Reader(place, old, by_label(rows_of(database)))
        self._begin()
        begun_at = time.monotonic()
        ended = self._do(way.command)
        self.seconds = time.monotonic() - begun_at
        self.steps = ended.steps
        self._assert_new()

    def suffer(self, turn: int, *faults: Fault | float) -> int:
        """Kill the command, one time after the other, at steps or after seconds, and let it be ended.

        Readers see old or new all the while, and in the end what a run gives that nobody kills.

        Args:
            turn: By which commands it is ended.

        Returns:
            How often there was still something to kill.
        """
        self._begin()
        killed = 0
        for fault in faults:
            with Watch(self._reader):
                ended = self._killed(fault)
            self._reader.look()
            assert ended.code in (None, 0), ended.output
            killed += ended.code is None
        for command in self._way.mends[turn % len(self._way.mends)]:
            with Watch(self._reader):
                self._do(command)
        self._assert_new()
        return killed

    def _killed(self, fault: Fault | float) -> Ended:
        command = self._way.command
        if isinstance(fault, float):
            return self._driver.run(self._config, command=command, kill_after_seconds=fault)
        return self._driver.run(self._config, fault, command=command)

    def _do(self, command: str) -> Ended:
        ended = self._driver.run(self._config, command=command)
        assert ended.code == 0, ended.output
        return ended

    def _assert_new(self) -> None:
        self._reader.assert_new({}, of_kept_chunks="chunk_column" in self._way.export)

    def _begin(self) -> None:
        self._write(self._place.hold(self._before))

    def _write(self, section: dict[str, Any]) -> None:
        export = by_day(Path(), destination=section, **self._way.export)
        self._config.write_text(json.dumps({"source": self._source, "exports": [export]}))


def _table(engine: str) -> str:
    def moment(i: int) -> str:
        return "NULL" if i % 4 == 3 else f"'2023-01-0{i % 4 + 1} {i % 24:02}:00:00'"

    rows = ", ".join(f"({i}, {moment(i)}, {i}, 'row {i}')" for i in range(_ROWS))
    columns = f"id int PRIMARY KEY, created_at {MOMENT[engine]}, changed int, note varchar(40)"
    return f"CREATE TABLE events ({columns}); INSERT INTO events VALUES {rows};"
