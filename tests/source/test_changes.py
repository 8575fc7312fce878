"""Each engine tells of some windows alone, and which windows hold rows past a bound of a cursor."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from rivet.config.load import load_settings
from rivet.plan.calendar import Granularity, days_from_civil, format_timestamp
from rivet.plan.cursor import Cursor, CursorValue
from rivet.plan.overrides import override
from rivet.plan.resolve import resolve_column
from rivet.plan.scans import Reach, Scan
from rivet.plan.schema import Column, Kind
from rivet.plan.selection import Selection, selected
from rivet.plan.windows import Axis
from rivet.source.opening import open_source
from rivet.source.protocol import Session
from rivet.source.relation import Relation, Request
from tests.servers.database import Database
from tests.servers.sqlite import SqliteDatabase

ENGINES = ("postgres", "mariadb", "sqlite")
MOMENT = {
    ("postgres", "naive"): "timestamp",
    ("postgres", "instant"): "timestamptz",
    ("mariadb", "naive"): "datetime(6)",
    ("mariadb", "instant"): "timestamp(6) NULL",
    ("sqlite", "naive"): "DATETIME",
    ("sqlite", "instant"): "TEXT",
}
NUMBER = {"postgres": "numeric(30,6)", "mariadb": "decimal(30,6)", "sqlite": "BIGINT"}
DAY = 86_400_000_000
FIRST = days_from_civil(2024, 3, 25) * DAY
FUTURE = days_from_civil(2099, 1, 1) * DAY


@dataclass(frozen=True)
class Row:
    """A row: its partition value, cursor, fallback and number, each on its axis or None."""

    at: int | None
    changed: int | None
    made: int | None
    number: int | None

    @property
    def last(self) -> int | None:
        """Give the cursor, or else its fallback."""
        return self.made if self.changed is None else self.changed


def _rows() -> list[Row]:
    """Give rows over twelve days, with equal cursors, neighbours, NULL and one of the year 2099."""
    chance = random.Random(7)
    rows = [
        Row(
            None if chance.random() < 0.05 else FIRST + chance.randrange(12 * DAY),
            None if chance.random() < 0.1 else FIRST + chance.choice([0, 1, chance.randrange(5 * DAY)]),
            None if chance.random() < 0.3 else FIRST + chance.randrange(5 * DAY),
            None if chance.random() < 0.05 else chance.randrange(-500, 500),
        )
        for _ in range(400)
    ]
    return [*rows, Row(FIRST + 3 * DAY, FUTURE, None, 10**17)]


@dataclass(frozen=True)
class Asked:
    """A session, and the table in it."""

    session: Session
    relation: Relation
    engine: str
    form: str

    def column(self, name: str) -> Column:
        """Give a column of the table."""
        return resolve_column(self.relation.columns, name, "here")

    def axis(self, granularity: Granularity = Granularity.DAY) -> Axis:
        """Give the axis of the partition column."""
        zone = "Europe/Berlin" if self.form == "instant" else "UTC"
        return Axis(self.column("at").type.kind, granularity, zone)


@pytest.fixture(params=[(e, f) for e in ENGINES for f in ("naive", "instant")], ids="-".join, scope="module")
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """Give a session over the rows; in SQLite moments are text, of instants with offsets."""
    engine, form = request.param
    directory = tmp_path_factory.mktemp("changes")
    if engine == "sqlite":
        yield from _asked(SqliteDatabase(directory / "rows.db"), engine, form, directory)
        return
    with request.getfixturevalue(engine).fresh_database() as database:
        yield from _asked(database, engine, form, directory)


def _asked(database: Database | SqliteDatabase, engine: str, form: str, directory: Path) -> Iterator[Asked]:
    moment = MOMENT[engine, form]
    database.execute(
        f"CREATE TABLE events (id int PRIMARY KEY, at {moment}, changed {moment}, made {moment}, "
        f"number {NUMBER[engine]}); CREATE INDEX by_change ON events (changed)"
    )
    zoned = {("postgres", "instant"): "+00", ("sqlite", "instant"): "+00:00"}.get((engine, form), "")

    def moment_of(value: int | None) -> str:
        if value is None or (engine == "mariadb" and form == "instant" and value >= FUTURE):
            # A TIMESTAMP ends in 2038.
            return "NULL" if value is None else "'2037-01-01 00:00:00'"
        return f"'{format_timestamp(value, utc=False, separator=' ')}{zoned}'"

    values = ", ".join(
        f"({i}, {moment_of(r.at)}, {moment_of(r.changed)}, {moment_of(r.made)}, "
        f"{'NULL' if r.number is None else r.number})"
        for i, r in enumerate(_rows())
    )
    in_utc = "SET time_zone = '+00:00'; " if engine == "mariadb" else ""
    database.execute(f"{in_utc}INSERT INTO events VALUES {values}")
    config = directory / "rivet.yaml"
    destination = {"type": "local", "path": "out"}
    export = {"name": "events", "table": "events", "destination": destination}
    config.write_text(yaml.safe_dump({"source": database.source, "exports": [export]}))
    overrides = {}
    if engine == "sqlite" and form == "instant":
        overrides = {name: override("timestamptz") for name in ("at", "changed", "made")}
    with open_source(load_settings(config, {}).source).session() as session:
        yield Asked(session, session.describe(Request("events", overrides=overrides)), engine, form)


def _labels(rows: list[Row], axis: Axis) -> dict[str | None, int]:
    return dict(Counter(None if row.at is None else axis.window_of(row.at).label for row in rows))


def _told(windows: dict[str, int], others: int) -> dict[str | None, int]:
    told: dict[str | None, int] = dict(windows.items())
    return {**told, None: others} if others else told


@pytest.mark.parametrize("granularity", [Granularity.DAY, Granularity.MONTH])
def test_the_windows_past_a_bound_are_found(asked: Asked, granularity: Granularity) -> None:
    """Rows at or above the bound count, and those that have no cursor; each window with its number."""
    axis, cursor = asked.axis(granularity), Cursor(asked.column("changed"))
    for bound in (FIRST - 1, FIRST, FIRST + 1, FIRST + 2, FIRST + 2 * DAY, FIRST + 5 * DAY):
        past = [r for r in _rows() if r.changed is None or r.changed >= bound]

        found = asked.session.touched(asked.relation, asked.column("at"), axis, cursor, bound)

        assert _told({w.label: w.rows for w in found.windows}, found.null_rows) == _labels(past, axis)
        real = [r.changed for r in past if r.changed is not None and r.changed < FUTURE]
        assert found.highest == max(real, default=None)


def test_a_fallback_stands_in_for_a_cursor_that_is_null(asked: Asked) -> None:
    """Where the cursor is NULL the fallback decides, and where both are a row may always have changed."""
    cursor = Cursor(asked.column("changed"), asked.column("made"))
    bound = FIRST + 4 * DAY
    past = [r for r in _rows() if r.last is None or r.last >= bound]

    found = asked.session.touched(asked.relation, asked.column("at"), asked.axis(), cursor, bound)

    assert _told({w.label: w.rows for w in found.windows}, found.null_rows) == _labels(past, asked.axis())
    whole = asked.session.touched(asked.relation, asked.column("at"), asked.axis(), cursor, None)
    assert (whole.windows, whole.null_rows) == ((), 0)
    assert whole.highest == max(r.last for r in _rows() if r.last is not None and r.last < FUTURE)


def test_a_number_is_a_cursor_to_its_last_digit(asked: Asked) -> None:
    """Whole numbers and decimals are compared as they are; no number is in the future."""
    column = asked.column("number")
    cursor = Cursor(column)
    is_decimal = column.type.kind is Kind.DECIMAL
    bounds: list[CursorValue] = [Decimal("-0.000001"), Decimal(17)] if is_decimal else [-1, 17]
    for bound in bounds:
        past = [r for r in _rows() if r.number is None or r.number >= bound]

        found = asked.session.touched(asked.relation, asked.column("at"), asked.axis(), cursor, bound)

        assert _told({w.label: w.rows for w in found.windows}, found.null_rows) == _labels(past, asked.axis())
        assert found.highest == 10**17
    highest = asked.session.touched(asked.relation, asked.column("at"), asked.axis(), cursor, None).highest
    assert (type(highest), highest) == (Decimal if is_decimal else int, 10**17)


def test_a_census_counts_all_windows_and_what_is_in_none(asked: Asked) -> None:
    """All rows are counted by window, those without a date apart, and the span is told by itself."""
    axis = asked.axis()

    windows, others = asked.session.census(asked.relation, asked.column("at"), axis)

    assert _told({w.label: w.rows for w in windows}, others) == _labels(_rows(), axis)
    values = [r.at for r in _rows() if r.at is not None]
    assert asked.session.span(asked.relation, asked.column("at")) == (min(values), max(values))


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("case", ["one", "several", "from", "until", "none", "all"])
def test_some_windows_are_a_relation_of_their_own(asked: Asked, case: str, *, nulls: bool) -> None:
    """Probe, counts and scans of it tell of these windows, and a scan gives their very rows in order."""
    axis, column = asked.axis(), asked.column("at")
    windows = [axis.window_of(FIRST + n * DAY) for n in (1, 2, 5, 9)]
    selection = {
        "one": selected(windows[:1], nulls=nulls),
        "several": selected(windows, nulls=nulls),
        "from": Selection(((windows[2].start, None),), nulls),
        "until": Selection(((None, windows[1].end),), nulls),
        "none": Selection((), nulls),
        "all": Selection(((None, None),), nulls),
    }[case]
    rows = [r for r in _rows() if selection.holds(None if r.at is None else axis.window_of(r.at))]
    values = sorted(r.at for r in rows if r.at is not None)

    narrowed = asked.session.narrowed(asked.relation, column, selection)

    probe = asked.session.probe(narrowed, column)
    assert (probe.rows, probe.null_rows) == (len(rows), len(rows) - len(values))
    assert probe.span == ((values[0], values[-1]) if values else None)
    counts = {c.label: c.rows for c in asked.session.count_windows(narrowed, column, axis, probe.span)}
    assert counts == {label: n for label, n in _labels(rows, axis).items() if label is not None}
    with asked.session.read(narrowed, [column], column, Scan(Reach.EVERYTHING)) as batches:
        read = [value for batch in batches for value in batch.column(0).cast("int64").to_pylist()]
    assert [v for v in read if v is not None] == values
    assert batches.server_rows == len(read) == len(rows)


def test_the_source_tells_the_present(asked: Asked) -> None:
    """The source's clock is on the axis of each kind, and does not go back."""
    now = asked.session.now(Kind.INSTANT)
    assert days_from_civil(2024, 1) < now // DAY < days_from_civil(2099, 1)
    assert abs(asked.session.now(Kind.TIMESTAMP) - now) < DAY
    assert asked.session.now(Kind.DATE) - now // DAY in (0, 1)
