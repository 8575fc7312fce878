"""Names of every kind, and tables and queries of every kind, in SQLite."""

from __future__ import annotations

from rivet.plan.overrides import override
from tests.servers.sqlite import SqliteDatabase
from tests.source.sqlite_reading import read_all


def test_identifiers_of_any_kind(sqlite_database: SqliteDatabase) -> None:
    """Names that look like parameters, aliases or nothing at all are names, in tables, views and queries."""
    names = ["", "rivet", "rowid", "a\nb", "?1", ":a", "@b", "$c", "a.b%`[]", "x'y", 'z"', "*", "é€😀", "d"]
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    columns = ", ".join(f"{q} DATE" for q in quoted)
    key = 'PRIMARY KEY("rowid", "z""")) WITHOUT ROWID'
    values = ", ".join(f"'2023-01-{n:02d}'" for n in range(1, len(names) + 1))
    sqlite_database.execute(
        f'CREATE TABLE "t?:@$%\'"({columns}, {key}; INSERT INTO "t?:@$%\'" VALUES ({values});'
        'CREATE VIEW "v\'""" AS SELECT * FROM "t?:@$%\'"'
    )

    for table, query in (("t?:@$%'", None), ("v'\"", None), (None, 'SELECT * FROM "t?:@$%\'"')):
        for name in names:
            read = read_all(sqlite_database, table=table, query=query, order=name)
            assert read.column_names == names
            assert [d.day for d in read.to_pylist()[0].values()] == list(range(1, len(names) + 1))


def test_virtual_and_shadow_tables(sqlite_database: SqliteDatabase) -> None:
    """Full-text and R-tree tables, what lies under them, and functions that give tables are read."""
    sqlite_database.execute(
        "CREATE VIRTUAL TABLE f USING fts5(title, d UNINDEXED); INSERT INTO f VALUES ('a', '2023-01-01');"
        "CREATE VIRTUAL TABLE r USING rtree(id, low, high); INSERT INTO r VALUES (1, 0.5, 1.5)"
    )
    day = {"d": override("date")}

    full_text = read_all(sqlite_database, table="f", order="d", overrides=day).to_pylist()

    assert [(r["title"], str(r["d"])) for r in full_text] == [("a", "2023-01-01")]
    assert read_all(sqlite_database, query="SELECT title FROM f WHERE f MATCH 'a'").num_rows == 1
    assert read_all(sqlite_database, table="f_content").column_names == ["id", "c0", "c1"]
    assert read_all(sqlite_database, table="r").to_pylist() == [{"id": 1, "low": 0.5, "high": 1.5}]
    each = read_all(sqlite_database, query="SELECT value FROM json_each('[1, 2]')")
    assert each.to_pylist() == [{"value": 1}, {"value": 2}]


def test_expressions_become_dates(sqlite_database: SqliteDatabase) -> None:
    """An expression has no declared type, and is a date where the config says so, in compound queries too."""
    sqlite_database.execute("CREATE TABLE t(a)")
    query = (
        "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3) "
        "SELECT n, date('2023-01-01', n || ' days') AS d FROM c UNION SELECT 9, NULL ORDER BY 1 DESC"
    )

    read = read_all(sqlite_database, query=query, order="d", overrides={"d": override("date")})
    values = "VALUES (1672531200), (NULL)"
    made = read_all(
        sqlite_database, query=values, order="column1", overrides={"column1": override("timestamp", unit="s")}
    )

    assert read.column("n").to_pylist() == [9, 1, 2, 3]
    assert [str(d) for d in read.column("d").to_pylist()[1:]] == ["2023-01-02", "2023-01-03", "2023-01-04"]
    assert [str(d) for d in made.column(0).to_pylist()] == ["None", "2023-01-01 00:00:00"]
