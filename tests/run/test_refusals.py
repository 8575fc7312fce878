"""What is refused once the source is asked: told with its mend, exit 2, and nothing on the disk touched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import REAL, finish
from tests.run.command import picture, write_config
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.refusing import by_query, events_table, refused
from tests.run.running import by_day, run_well
from tests.run.trees import rows_by_manifest
from tests.servers.sqlite import SqliteDatabase

EXPORT = "$.exports[0]"


@pytest.fixture(scope="module", params=ENGINES)
def shop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnyDatabase]:
    """Give a database of each engine with the table `events`, which no refused run changes."""
    with ExitStack() as stack:
        database: AnyDatabase = (
            SqliteDatabase(tmp_path_factory.mktemp("shop") / "shop.db")
            if request.param == "sqlite"
            else stack.enter_context(request.getfixturevalue(request.param).fresh_database())
        )
        database.execute(events_table(request.param))
        yield database


# What the export states, a part of the message, and a part of the mend.
CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "no table": ({"table": "evnts"}, "no table 'evnts' in ", "did you mean 'events'?"),
    "no table like it": ({"table": "xyz"}, "no table 'xyz' in ", "check "),
    "no column": (
        {"partition_by": "create_at"},
        f"{EXPORT}.partition_by: no column 'create_at' in the source",
        "did you mean 'created_at'?",
    ),
    "no column like it": (
        {"partition_by": "xyz"},
        f"{EXPORT}.partition_by: no column 'xyz' in the source",
        "the columns are: id, created_at, note, n",
    ),
    "no column to leave out": (
        {"exclude": ["nte"]},
        "exclude: no column 'nte' in the source",
        "did you mean 'note'?",
    ),
    "no column like that to leave out": (
        {"exclude": ["ssn"]},
        "exclude: no column 'ssn' in the source",
        "the columns are: id, created_at, note, n",
    ),
    "the partition column left out": (
        {"exclude": ["CREATED_AT"]},
        f"{EXPORT}.partition_by: column 'created_at' is left out by exclude",
        "take it out of exclude",
    ),
    "a key that is a column": (
        {"partition_key": "note"},
        f"{EXPORT}.partition_key: 'note' is also the column 'note'",
        "a name that no column has",
    ),
    "a key that is a column in another case": (
        {"partition_key": "NOTE"},
        f"{EXPORT}.partition_key: 'NOTE' is also the column 'note'",
        "a name that no column has",
    ),
    "repeated columns": (
        {"query": "SELECT a.*, b.* FROM events a JOIN events b ON a.id = b.id"},
        "several columns are named 'id', 'created_at', 'note', 'n'",
        "give each its own alias in the query, such as … AS id_2",
    ),
    "a repeated partition column": (
        {"query": "SELECT id, created_at, created_at FROM events"},
        "several columns are named 'created_at'",
        "such as … AS created_at_2",
    ),
    "too many windows": (
        {"max_partitions": 2},
        f"{EXPORT}.max_partitions: 3 windows that hold rows from '2023-01-01T00:00:00.000000' to ",
        "use a coarser partition_granularity, or raise max_partitions",
    ),
    "too many windows with the empty ones": (
        {"max_partitions": 4, "skip_empty": False},
        f"{EXPORT}.max_partitions: 5 windows, empty ones included,",
        "raise max_partitions",
    ),
    "too large a sort": (
        {"max_sort_size": 1, "sort": "source"},
        f"{EXPORT}.max_sort_size: about ",
        "create an index that leads with the partition column, set `sort: auto`, or raise max_sort_size",
    ),
    "two statements": (
        {"query": "SELECT * FROM events; SELECT 2"},
        "the query holds a second statement, which begins with 'SELECT' in line 1",
        "write one SELECT for each export",
    ),
    "a statement behind": (
        {"query": "SELECT * FROM events;\n-- now\nDROP TABLE events"},
        "a second statement, which begins with 'DROP' in line 3",
        "write one SELECT for each export",
    ),
    "a statement that writes": (
        {"query": "DELETE FROM events"},
        "the query has 'DELETE' in line 1, expected SELECT",
        "write one SELECT that only reads",
    ),
    "a part that writes": (
        {"query": "WITH gone AS (DELETE FROM events RETURNING *) SELECT * FROM gone"},
        "the query has 'DELETE' in line 1",
        "write one SELECT that only reads",
    ),
    "a table made": (
        {"query": "SELECT * INTO copied FROM events"},
        "the query writes: 'INTO' in line 1",
        "take INTO and its target out",
    ),
    "a lock": (
        {"query": "SELECT * FROM events FOR UPDATE"},
        "the query locks rows: 'FOR UPDATE' in line 1",
        "take the locking clause out",
    ),
    "no query": ({"query": "-- nothing"}, "the query is empty", "client first"),
    "a quote that stays open": (
        {"query": "SELECT * FROM events WHERE note = 'a"},
        "the query cannot be read: a quote",
        "client first",
    ),
    "no SQL": ({"query": "SELECT id created_at FROM WHERE"}, "cannot describe the query: ", "client first"),
    "no column in the query": ({"query": "SELECT created_at, e.x1 FROM events e"}, "x1", "client first"),
    "no table in the query": ({"query": "SELECT * FROM x1"}, "x1", "client first"),
}


@pytest.mark.parametrize("case", CASES)
def test_an_export_that_cannot_be_had_is_refused(
    tmp_path: Path, shop: AnyDatabase, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    """Every engine refuses it with what, where and the mend, and makes not even the parents of the root."""
    changes, message, mend = CASES[case]
    export = by_day(tmp_path / "place" / "deep" / "tree", **changes)
    if "query" in changes:
        del export["table"]

    error, hint = refused(tmp_path, capsys, shop.source, export)

    assert message in error
    assert mend in hint


OWN_CASES: dict[str, tuple[str, str, str]] = {
    "executed comment": (
        "mariadb",
        "SELECT id, created_at /*!50000 , note */ FROM events",
        "a comment that the server executes: '/*!50000 , note */'",
    ),
    "MariaDB's own": (
        "mariadb",
        "SELECT id, created_at /*M!100000 , note */ FROM events",
        "a comment that the server executes: '/*M!100000 , note */'",
    ),
    "names that its subqueries take for one": (
        "mariadb",
        "SELECT created_at, id AS a, n AS A FROM events",
        "'A'",
    ),
    "parameter": ("postgres", "SELECT * FROM events WHERE id = $1", "the parameter $1"),
    "MariaDB's parameter": ("mariadb", "SELECT * FROM events WHERE id = ?", "the parameter '?'"),
    "SQLite's parameter": ("sqlite", "SELECT * FROM events WHERE id = :id", "a parameter (?, :name"),
}


@pytest.mark.parametrize("case", OWN_CASES)
def test_what_only_one_engine_knows_is_refused_there(
    tmp_path: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    """Executable comments, parameters and names alike but for case are refused where they exist."""
    engine, query, message = OWN_CASES[case]
    database: AnyDatabase = request.getfixturevalue(f"{engine}_database")
    database.execute(events_table(engine))

    error, _ = refused(
        tmp_path, capsys, database.source, by_query(by_day(tmp_path / "place" / "tree"), query)
    )

    assert message in error


@pytest.mark.parametrize("engine", ENGINES)
def test_a_name_in_another_case_is_the_catalogues(tmp_path: Path, database: AnyDatabase, engine: str) -> None:
    """Columns, and tables where the engine allows it, may be in any case; paths have the exact one."""
    database.execute(events_table(engine))
    table = "events" if engine == "mariadb" else "EVENTS"
    root = tmp_path / "tree"

    run_well(tmp_path, database.source, by_day(root, table=table, partition_by="Created_AT"), validate=True)

    assert (root / "created_at=2023-01-01").is_dir()
    assert sum(map(len, rows_by_manifest(root).values())) == 4


def test_a_table_in_another_case_is_another_to_mariadb(
    tmp_path: Path, mariadb_database: AnyDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the server's files tell cases apart, the near miss is told and nothing is guessed."""
    mariadb_database.execute(events_table("mariadb"))

    error, hint = refused(
        tmp_path, capsys, mariadb_database.source, by_day(tmp_path / "tree", table="EVENTS")
    )

    assert "no table 'EVENTS' in database" in error
    assert hint == "did you mean 'events'?"


def test_a_name_that_fits_two_in_case_is_not_guessed(
    tmp_path: Path, postgres_database: AnyDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    """PostgreSQL may have names that differ only in case: none of them is chosen unless one is exact."""
    postgres_database.execute(
        'CREATE TABLE "Sales" (id int, "At" date, "AT" date); CREATE TABLE "SALES" (id int, at date);'
        """INSERT INTO "Sales" VALUES (1, '2023-01-01', '2024-01-01')"""
    )
    root = tmp_path / "tree"

    assert refused(
        tmp_path, capsys, postgres_database.source, by_day(root, table="sales", partition_by="at")
    ) == (
        "table 'sales' may be any of 'public.SALES', 'public.Sales'",
        "write the name in its exact case, in double quotes",
    )
    assert refused(
        tmp_path, capsys, postgres_database.source, by_day(root, table='"Sales"', partition_by="at")
    ) == (
        f"{EXPORT}.partition_by: 'at' may be any of 'At', 'AT'",
        "write the name in its exact case",
    )
    export = by_day(root, table='"Sales"', partition_by="AT", partition_key="day")
    run_well(tmp_path, postgres_database.source, export, validate=True)
    assert (root / "day=2024-01-01").is_dir()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_process_that_refuses_ends_with_two(tmp_path: Path, database: AnyDatabase, engine: str) -> None:
    """The command itself says what and how to mend it in two lines, and leaves nothing."""
    database.execute(events_table(engine))
    config = write_config(tmp_path, database.source, by_day(tmp_path / "place" / "tree", max_partitions=2))

    ended = finish(*REAL, "run", "--config", str(config), "--quiet")

    assert ended.returncode == 2
    assert ended.stdout == b""
    error, hint = ended.stderr.decode().splitlines()
    assert error.startswith("Error: events: $.exports[0].max_partitions: 3 windows that hold rows")
    assert hint == "Hint: use a coarser partition_granularity, or raise max_partitions"
    assert not (tmp_path / "place").exists()


def test_a_refused_export_over_a_tree_leaves_it_alone(
    tmp_path: Path, shop: AnyDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    """Over a live tree a refusal changes no byte, no time and no inode of it."""
    root = tmp_path / "tree"
    run_well(tmp_path, shop.source, by_day(root))
    before = picture(root)

    refused(tmp_path, capsys, shop.source, by_day(root, max_partitions=1))
    refused(tmp_path, capsys, shop.source, by_day(root, table="evnts"))

    assert picture(root) == before
    run_well(tmp_path, shop.source, by_day(root), validate=True)
