"""Columns that cannot partition or cannot be exported: what the mend says to write works as it is written."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.run.command import run_command
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.refusing import by_query, events_table, refused
from tests.run.running import by_day, run_well
from tests.run.trees import NULL, rows_by_manifest
from tests.servers.database import Database

FIRST, SECOND, BEFORE = dt.datetime(2023, 1, 1), dt.datetime(2023, 1, 2, 10), dt.datetime(1969, 12, 31)


def _as_mended(export: Mapping[str, Any], hint: str) -> dict[str, Any]:
    """Do what a mend says, word for word, and give the export then."""
    stated = re.search(r"write `(columns: \{.*?\})`", hint)
    if stated is not None:
        return {**export, **yaml.safe_load(stated[1])}
    pasted = re.search(r"SELECT …, (.*) FROM …", hint)
    assert pasted is not None, hint
    return by_query(export, f"SELECT id, {pasted[1]} FROM events")


# Column, its type as the engine names it, and the days of rows 1 to 4 once the mend is done; None is NULL.
BY_SECONDS: list[str | None] = ["2023-01-01", "2023-01-02", "1969-12-31", None]
BY_TEXT: list[str | None] = ["2023-01-01", "2023-01-02", None, "0001-01-01"]
WRONG: dict[str, list[tuple[str, str | None, str, list[str | None]]]] = {
    "postgres": [
        ("note", "varchar(40)", "character varying(40)", BY_TEXT),
        ("note", "text", "text", BY_TEXT),
        ("note", "char(40)", "character(40)", BY_TEXT),
        ("n", "int", "integer", BY_SECONDS),
        ("n", "numeric", "numeric", BY_SECONDS),
        ("n", "numeric(20,3)", "numeric(20,3)", BY_SECONDS),
        ("n", "double precision", "double precision", BY_SECONDS),
    ],
    "mariadb": [
        ("note", "varchar(40)", "varchar(40)", BY_TEXT),
        ("note", "longtext", "longtext", BY_TEXT),
        ("n", "int", "int", BY_SECONDS),
        ("n", "decimal(20,3)", "decimal(20,3)", BY_SECONDS),
        ("n", "double", "double", BY_SECONDS),
    ],
    "sqlite": [("note", None, "varchar(40)", BY_TEXT), ("n", None, "INT", BY_SECONDS)],
}


@pytest.mark.parametrize(
    ("engine", "column", "declared", "shown", "days"),
    [(engine, *wrong) for engine, several in WRONG.items() for wrong in several],
)
def test_a_partition_column_that_is_no_date_is_told_with_what_to_write(
    tmp_path: Path,
    database: AnyDatabase,
    engine: str,
    capsys: pytest.CaptureFixture[str],
    column: str,
    declared: str | None,
    shown: str,
    days: list[str | None],
) -> None:
    """Text and numbers are refused by name and type; the cast or the type that the mend says exports them."""
    database.execute(events_table(engine))
    if declared is not None:
        change = f"ALTER COLUMN {column} TYPE" if engine == "postgres" else f"MODIFY {column}"
        database.execute(f"ALTER TABLE events {change} {declared}")
    root = tmp_path / "place" / "tree"
    export = by_day(root, partition_by=column)

    error, hint = refused(tmp_path, capsys, database.source, export)

    where = "$.exports[0].partition_by"
    assert (
        error == f"{where}: column {column!r} is {shown}, expected DATE, DATETIME, TIMESTAMP or TIMESTAMPTZ"
    )
    assert hint.endswith("(or timestamptz, for days in a zone)") == (engine == "sqlite" and column == "n")
    run_well(tmp_path, database.source, _as_mended(export, hint), validate=True)
    landed = {row[0]: label for label, rows in rows_by_manifest(root).items() for row in rows}
    assert landed == {number: day or NULL for number, day in enumerate(days, 1)}


@pytest.mark.parametrize("wanted", ["date", "timestamp", "timestamptz"])
@pytest.mark.parametrize("engine", ["postgres", "mariadb"])
def test_text_that_columns_makes_a_date_of_is_told_before_anything_is_counted(
    tmp_path: Path, database: Database, engine: str, wanted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`check` and `run` refuse to partition by it, since a server orders text as text; the cast does it."""
    database.execute(events_table(engine))
    root = tmp_path / "place" / "tree"
    export = by_day(root, partition_by="note", columns={"note": wanted})

    with database.recording() as statements:
        error, hint = refused(tmp_path, capsys, database.source, export)
        told = run_command(capsys, "check", "--config", tmp_path / "rivet.yaml")

    assert error.startswith("$.exports[0].partition_by: column 'note' is ")
    assert "a date only by `columns`" in error
    assert told.exit_code == 2
    assert hint in " ".join(told.lines)
    assert not [text for text in statements if "count(*)" in text.lower()]
    del export["columns"]
    run_well(tmp_path, database.source, _as_mended(export, hint), validate=True)
    landed = {row[0]: label for label, rows in rows_by_manifest(root).items() for row in rows}
    assert landed == {number: day or NULL for number, day in enumerate(BY_TEXT, 1)}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_cast_is_quoted_as_the_column_needs(
    tmp_path: Path, database: AnyDatabase, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A column whose name holds quotes, braces and blanks gets a mend that can be pasted all the same."""
    name = "the \"day\" `or` {0} 'so'"
    mark = "`" if engine == "mariadb" else '"'
    column = mark + name.replace(mark, mark * 2) + mark
    database.execute(f"CREATE TABLE events (id int PRIMARY KEY, {column} varchar(40))")
    database.execute("INSERT INTO events VALUES (1, '2023-01-01')")
    root = tmp_path / "place" / "tree"

    export = by_day(root, partition_by=name, partition_key="day")

    _, hint = refused(tmp_path, capsys, database.source, export)

    run_well(tmp_path, database.source, _as_mended(export, hint), validate=True)
    assert list(rows_by_manifest(root)) == ["2023-01-01"]


def test_a_year_is_made_a_date(
    tmp_path: Path, mariadb_database: AnyDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    """MariaDB's YEAR is a number but counts no seconds: its mend makes the first day of the year."""
    mariadb_database.execute(
        "CREATE TABLE events (id int PRIMARY KEY, y year); INSERT INTO events VALUES (1, 2023)"
    )
    root = tmp_path / "place" / "tree"

    export = by_day(root, partition_by="y")

    _, hint = refused(tmp_path, capsys, mariadb_database.source, export)

    run_well(tmp_path, mariadb_database.source, _as_mended(export, hint))
    assert rows_by_manifest(root) == {"2023-01-01": [(1, dt.date(2023, 1, 1))]}


@pytest.mark.parametrize(
    ("engine", "declared"),
    [
        ("postgres", "time"),
        ("postgres", "uuid"),
        ("postgres", "boolean"),
        ("mariadb", "time"),
        ("mariadb", "blob"),
    ],
)
def test_no_cast_is_told_where_none_helps(
    tmp_path: Path, database: AnyDatabase, capsys: pytest.CaptureFixture[str], declared: str
) -> None:
    """What holds no moment at all is refused without a cast that the server would refuse too."""
    database.execute(f"CREATE TABLE events (id int PRIMARY KEY, x {declared})")

    error, hint = refused(tmp_path, capsys, database.source, by_day(tmp_path / "tree", partition_by="x"))

    assert "column 'x' is " in error
    assert hint == "partition by a date or a timestamp, or make one in a query"


# What makes the column, a part of the message, and the value that the mend gives for row 1.
MIXED = {
    "several classes": ("x", "'a'), (2, 1.5", "column 'x' is of no declared type", "a"),
    "class beside the type": ("x INT", "'a'", "column 'x' is INT and holds", "a"),
}


@pytest.mark.parametrize("case", MIXED)
def test_a_column_of_several_classes_is_told_with_the_type(
    tmp_path: Path, sqlite_database: AnyDatabase, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    """It is named, never dropped; the type that the mend writes exports it, and so does leaving it out."""
    column, value, message, expected = MIXED[case]
    database = sqlite_database
    database.execute(f"CREATE TABLE events (id int PRIMARY KEY, {column})")
    database.execute(f"INSERT INTO events VALUES (1, {value})")
    root = tmp_path / "place" / "tree"
    export = {
        "name": "events",
        "table": "events",
        "destination": {"type": "local", "path": str(root)},
    }

    error, hint = refused(tmp_path, capsys, database.source, export)

    assert error.startswith(message)
    run_well(tmp_path, database.source, _as_mended(export, hint), validate=True)
    assert (1, expected) in rows_by_manifest(root)[""]
    run_well(tmp_path, database.source, export | {"exclude": ["x"]}, validate=True)
    assert rows_by_manifest(root)[""][0] == (1,)
