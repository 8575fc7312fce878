"""What is exported: tables and views of any name, joins, queries with any sign in them, columns left out."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.running import by_day, run_well
from tests.run.trees import NULL, manifests, rows_by_manifest

TABLES = """
CREATE TABLE events (id int PRIMARY KEY, created_at date, person int, note varchar(40));
CREATE TABLE people (id int PRIMARY KEY, name varchar(40));
INSERT INTO people VALUES (1, 'Ada'), (2, 'Böhm');
INSERT INTO events VALUES (1, '2024-02-28', 1, '100%'), (2, '2024-02-29', 2, 'a:b'),
 (3, '2024-02-29', 1, NULL), (4, NULL, 2, 'a?b');
CREATE VIEW noted AS SELECT id, created_at, note FROM events WHERE note IS NOT NULL;
"""
FIRST, LEAP = dt.date(2024, 2, 28), dt.date(2024, 2, 29)


def _column_names(root: Path) -> list[list[str]]:
    """Give the distinct lists of columns of all parts."""
    schemas = {tuple(pq.ParquetFile(path).schema_arrow.names) for path in root.rglob("*.parquet")}
    return [list(names) for names in schemas]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_view_is_exported_like_a_table(tmp_path: Path, database: AnyDatabase) -> None:
    """A view's rows land by day, NULL among them."""
    root = tmp_path / "tree"
    database.execute(TABLES)

    run_well(tmp_path, database.source, by_day(root, table="noted"), validate=True)

    assert rows_by_manifest(root) == {
        "2024-02-28": [(1, FIRST, "100%")],
        "2024-02-29": [(2, LEAP, "a:b")],
        NULL: [(4, None, "a?b")],
    }


@pytest.mark.parametrize("scan", ["single", "per_partition"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_query_with_a_join_is_exported_by_its_output_columns(
    tmp_path: Path, database: AnyDatabase, scan: str
) -> None:
    """A join with renamed columns lands by the renamed date; comments and a semicolon do no harm."""
    root = tmp_path / "tree"
    database.execute(TABLES)
    query = """
        SELECT e.id AS number, p.name, e.created_at AS happened -- the day; not the hour
        FROM events e JOIN people p ON p.id = e.person /* every event ; has one */
        ; -- the end
    """
    export = by_day(root, query=query, partition_by="happened", scan=scan)
    del export["table"]

    outcome = run_well(tmp_path, database.source, export, validate=True)

    assert outcome.scans == (1 if scan == "single" else 3)
    assert rows_by_manifest(root) == {
        "2024-02-28": [(1, "Ada", FIRST)],
        "2024-02-29": [(2, "Böhm", LEAP), (3, "Ada", LEAP)],
        NULL: [(4, "Böhm", None)],
    }
    assert _column_names(root) == [["number", "name", "happened"]]


# What drivers and libraries have taken for placeholders, with what each engine adds of its own.
SIGNS = "'%s %(x)s 100% %%' AS percents, ':name ::x' AS colons, '? ?? $1 {0} {x} $x' AS others"
OWN_SIGNS = {
    "postgres": "created_at::text AS written, 'a:b' ~ '(?:a|b):' AS matched",
    "mariadb": "DATE_FORMAT(created_at, '%Y-%m-%d') AS written, TIME '12:30:00' = '12:30:00' AS matched",
    "sqlite": "strftime('%Y-%m-%d', created_at) AS written, 'a%b' LIKE '%' AS matched",
}


@pytest.mark.parametrize("scan", ["single", "per_partition"])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_signs_in_a_query_stay_what_they_are(
    tmp_path: Path, database: AnyDatabase, engine: str, scan: str
) -> None:
    """Percent signs, colons, question marks and braces mean nothing to probe, count and read."""
    root = tmp_path / "tree"
    database.execute(TABLES)
    query = (
        f"SELECT id, created_at, {SIGNS}, {OWN_SIGNS[engine]} FROM events "
        "WHERE note LIKE '%:%' OR note LIKE '100%'"
    )
    export = by_day(root, query=query, scan=scan)
    del export["table"]

    run_well(tmp_path, database.source, export)

    tree = rows_by_manifest(root)
    texts = ("%s %(x)s 100% %%", ":name ::x", "? ?? $1 {0} {x} $x")
    assert {label: [row[:6] for row in rows] for label, rows in tree.items()} == {
        "2024-02-28": [(1, FIRST, *texts, "2024-02-28")],
        "2024-02-29": [(2, LEAP, *texts, "2024-02-29")],
    }
    assert [row[6] for rows in tree.values() for row in rows] == [1, 1]


# Reserved, mixed in case, and with every sign that ends a quotation, a path or a format somewhere.
NAMES = [
    "select",
    "Mixed Case",
    'quo"te',
    "it's",
    "back`tick",
    "a.b",
    "100%s",
    "x=y",
    ":p",
    "naïve ☃",
    "é\\",
]
TABLE = 'Order "Of" `Things` 100%s'
DATE = "Created At: 50%/x=y?"
DIRECTORY = "Created At%3A 50%25%2Fx%3Dy%3F"


def _quoted(name: str, engine: str) -> str:
    mark = "`" if engine == "mariadb" else '"'
    return f"{mark}{name.replace(mark, mark * 2)}{mark}"


@pytest.mark.parametrize("scan", ["single", "per_partition"])
@pytest.mark.parametrize("engine", ENGINES)
def test_any_name_can_be_a_table_a_column_or_the_partition_column(
    tmp_path: Path, database: AnyDatabase, engine: str, scan: str
) -> None:
    """Names reach the server, the files and the manifest as they are, and the path escaped once."""
    root = tmp_path / "tree"
    table = _quoted(TABLE, engine)
    declared = ", ".join(f"{_quoted(name, engine)} int" for name in NAMES)
    numbers = ", ".join(str(i) for i in range(len(NAMES)))
    database.execute(
        f"CREATE TABLE {table} ({_quoted(DATE, engine)} date, {declared});"
        f"INSERT INTO {table} VALUES ('2024-02-28', {numbers}), ('2024-02-29', {numbers}), (NULL, {numbers})"
    )

    run_well(
        tmp_path,
        database.source,
        by_day(root, name="every name: é", table=table, partition_by=DATE, scan=scan),
        validate=True,
    )

    rest = tuple(range(len(NAMES)))
    assert rows_by_manifest(root) == {
        "2024-02-28": [(FIRST, *rest)],
        "2024-02-29": [(LEAP, *rest)],
        NULL: [(None, *rest)],
    }
    assert sorted(path.name for path in root.iterdir() if path.is_dir()) == [
        f"{DIRECTORY}={label}" for label in ("2024-02-28", "2024-02-29", NULL)
    ]
    assert _column_names(root) == [[DATE, *NAMES]]
    partition = manifests(root)["2024-02-29"]["partition"]
    assert (partition["column"], partition["key"]) == (DATE, DATE)


@pytest.mark.parametrize("engine", ENGINES)
def test_columns_can_be_left_out_and_the_key_named(tmp_path: Path, database: AnyDatabase) -> None:
    """`exclude` takes columns away, `partition_key` names the directories, and case is the catalogue's."""
    root = tmp_path / "tree"
    database.execute(TABLES)
    export = by_day(root, partition_by="CREATED_AT", partition_key="day of", exclude=["note", "person"])

    run_well(tmp_path, database.source, export, validate=True)

    assert rows_by_manifest(root) == {
        "2024-02-28": [(1, FIRST)],
        "2024-02-29": [(2, LEAP), (3, LEAP)],
        NULL: [(4, None)],
    }
    assert (root / "day of=2024-02-29").is_dir()
    manifest = manifests(root)["2024-02-29"]
    assert [column["name"] for column in manifest["schema"]] == ["id", "created_at"]
    assert (manifest["partition"]["column"], manifest["partition"]["key"]) == ("created_at", "day of")
