"""Columns that cannot partition or cannot be exported: what the mend says to write works as it is written."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

import pytest

from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.refusing import by_query, events_table, refused
from tests.run.running import by_day, run_well
from tests.run.trees import NULL, rows_by_manifest

FIRST, SECOND, BEFORE = dt.datetime(2023, 1, 1), dt.datetime(2023, 1, 2, 10), dt.datetime(1969, 12, 31)


def _as_mended(database: AnyDatabase, hint: str, keys: str = "id") -> str:
    """Do what a mend says, word for word, and give the query to export then."""
    pasted = re.search(r"SELECT …, (.*) FROM …", hint)
    if pasted is not None:
        return f"SELECT {keys}, {pasted[1]} FROM events"
    altered = re.search(r"ALTER TABLE … (ADD COLUMN (\S+|\".*\") DATE AS .*)", hint)
    assert altered is not None, hint
    database.execute(f"ALTER TABLE events {altered[1]}")
    return f"SELECT {keys}, {altered[2]} FROM events"


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
        ("n", "int", "int(11)", BY_SECONDS),
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
    """Text and numbers are refused by name and type, and the cast, pasted in a query, exports them."""
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
    query = _as_mended(database, hint)
    name = query.removesuffix(" FROM events").rpartition(" ")[2].strip('"`')
    run_well(tmp_path, database.source, by_query(by_day(root, partition_by=name), query), validate=True)
    landed = {row[0]: label for label, rows in rows_by_manifest(root).items() for row in rows}
    assert landed == {number: day or NULL for number, day in enumerate(days, 1)}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_cast_is_quoted_as_the_column_needs(
    tmp_path: Path, database: AnyDatabase, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A column whose name holds quotes, braces and blanks gets a cast that can be pasted all the same."""
    name = "the \"day\" `or` {0} 'so'"
    mark = "`" if engine == "mariadb" else '"'
    column = mark + name.replace(mark, mark * 2) + mark
    database.execute(f"CREATE TABLE events (id int PRIMARY KEY, {column} varchar(40))")
    database.execute("INSERT INTO events VALUES (1, '2023-01-01')")
    root = tmp_path / "place" / "tree"

    _, hint = refused(tmp_path, capsys, database.source, by_day(root, partition_by=name))

    query = _as_mended(database, hint)
    key = f"{name}_date" if engine == "sqlite" else name
    export = by_query(by_day(root, partition_by=key, partition_key="day"), query)
    run_well(tmp_path, database.source, export, validate=True)
    assert list(rows_by_manifest(root)) == ["2023-01-01"]


def test_a_year_is_made_a_date(
    tmp_path: Path, mariadb_database: AnyDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    """MariaDB's YEAR is a number but counts no seconds: its mend makes the first day of the year."""
    mariadb_database.execute(
        "CREATE TABLE events (id int PRIMARY KEY, y year); INSERT INTO events VALUES (1, 2023)"
    )
    root = tmp_path / "place" / "tree"

    _, hint = refused(tmp_path, capsys, mariadb_database.source, by_day(root, partition_by="y"))

    export = by_query(by_day(root, partition_by="y"), _as_mended(mariadb_database, hint))
    run_well(tmp_path, mariadb_database.source, export)
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
UNHANDLED = {
    "array": ("postgres", "x int[]", "'{1,NULL}'", "column 'x' is integer[]", "[1,null]"),
    "array of text": ("postgres", "x text[]", "'{\"a,b\"}'", "column 'x' is text[]", '["a,b"]'),
    "log position": ("postgres", "x pg_lsn", "'16/B374D848'", "column 'x' is pg_lsn", "16/B374D848"),
    "point": ("mariadb", "x point", "POINT(1, 2)", "column 'x' is point", bytes.fromhex(
        "0101000000000000000000f03f0000000000000040")),
    "instant": ("sqlite", "x TIMESTAMPTZ", "'2023-01-01 00:00:00+02'", "column 'x' is TIMESTAMPTZ",
                "2023-01-01 00:00:00+02"),
    "several classes": ("sqlite", "x", "'a'), (2, 1.5", "column 'x' is of no declared type", "a"),
    "class beside the type": ("sqlite", "x INT", "'a'", "column 'x' is INT and holds", "a"),
}  # fmt: skip


@pytest.mark.parametrize("case", UNHANDLED)
def test_a_column_of_a_type_not_handled_is_told_with_the_cast(
    tmp_path: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    """It is named, never dropped; the cast that the mend writes exports it, and so does leaving it out."""
    engine, column, value, message, expected = UNHANDLED[case]
    database: AnyDatabase = request.getfixturevalue(f"{engine}_database")
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
    run_well(tmp_path, database.source, by_query(export, _as_mended(database, hint)), validate=True)
    assert (1, expected) in rows_by_manifest(root)[""]
    run_well(tmp_path, database.source, export | {"exclude": ["x"]}, validate=True)
    assert rows_by_manifest(root)[""][0] == (1,)
