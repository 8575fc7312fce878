"""Describing SQLite's tables, views and queries: every name is the catalogue's, and no query is rewritten."""

from __future__ import annotations

import hashlib

import pytest

from rivet.errors import SourceError
from rivet.source.relation import Consistency, Relation, Request
from tests.servers.sqlite import SqliteDatabase
from tests.source.sqlite_reading import in_session, read_all


def _described(
    database: SqliteDatabase,
    table: str | None = None,
    query: str | None = None,
    exclude: tuple[str, ...] = (),
) -> Relation:
    return in_session(database, lambda s: s.describe(Request(table, query, exclude)))


def test_table(sqlite_database: SqliteDatabase) -> None:
    """A table has its columns, its key, its indexed columns and a snapshot."""
    sqlite_database.execute(
        "CREATE TABLE Events(id INTEGER PRIMARY KEY, Created_At DATETIME, a, b TEXT, p INT, x INT, y INT,"
        " g DATE GENERATED ALWAYS AS (date(Created_At)), s INT AS (p + 1) STORED);"
        "CREATE INDEX i ON Events(Created_At DESC, b); CREATE INDEX j ON Events(b COLLATE NOCASE);"
        "CREATE INDEX k ON Events(p) WHERE p > 1; CREATE INDEX l ON Events(x + 1);"
        "CREATE INDEX m ON Events(x, y);"
        "INSERT INTO Events(Created_At, p) VALUES ('2023-01-05 10:00', 1)"
    )

    relation = _described(sqlite_database, "eVENTS")

    assert relation.table == "main.Events"
    assert [c.name for c in relation.columns] == ["id", "Created_At", "a", "b", "p", "x", "y", "g", "s"]
    assert relation.columns[1].source_type == "DATETIME"
    assert relation.primary_key == ("id",)
    assert relation.indexed == {"id", "Created_At", "x"}
    assert relation.consistency is Consistency.SNAPSHOT
    assert str(read_all(sqlite_database, table="events", order="g").column("g")[0]) == "2023-01-05"


def test_table_without_rowid(sqlite_database: SqliteDatabase) -> None:
    """The key of a table WITHOUT ROWID is its order, and an index."""
    sqlite_database.execute("CREATE TABLE t(a INT, d DATE, PRIMARY KEY(d, a)) WITHOUT ROWID")

    relation = _described(sqlite_database, "t")

    assert relation.primary_key == ("d", "a")
    assert relation.indexed == {"d"}
    assert _described(sqlite_database, "t", exclude=("a",)).primary_key == ()


@pytest.mark.parametrize(
    "written",
    [
        "group",
        "GROUP",
        "main.group",
        "[group]",
        '"group"',
        "`group`",
        'main."group"',
        "MAIN.[Group]",
    ],
)
def test_name_of_a_table(sqlite_database: SqliteDatabase, written: str) -> None:
    """A table is found in any case, with or without the schema, in any of SQLite's quotes."""
    sqlite_database.execute('CREATE TABLE "group"(a INT)')

    assert _described(sqlite_database, written).table == "main.group"


ODD = [
    "a.b",
    'qu"ote',
    "sp ace",
    "per%cent",
    "co:lon",
    "[x]",
    "`y`",
    "é",
    "O'Neill",
    "qu?estion",
    "select",
    "--",
]


def test_odd_names(sqlite_database: SqliteDatabase) -> None:
    """Tables and columns of any name are read, ordered and probed as any others."""
    quoted = ['"' + name.replace('"', '""') + '"' for name in ODD]
    columns = ", ".join(f"{q} DATE" for q in quoted)
    for name in quoted:
        sqlite_database.execute(
            f"CREATE TABLE {name}({columns}); INSERT INTO {name}({name}) VALUES ('2023-01-01')"
        )

    for name in ODD:
        read = read_all(sqlite_database, table=name, order=name)
        assert read.column_names == ODD
        assert [c for c in ODD if read.column(c).null_count == 0] == [name]


def test_view_and_virtual_table(sqlite_database: SqliteDatabase) -> None:
    """A view keeps the declared types of plain columns; a virtual table shows what it shows to SELECT *."""
    sqlite_database.execute(
        "CREATE TABLE t(d DATETIME, m DECIMAL(5,2), x, b BLOB);"
        "INSERT INTO t VALUES ('2023-01-01', 1.5, 'x', x'00');"
        "CREATE VIEW v AS SELECT d AS day, m, m + 1 AS more, x, b, CAST(m AS INTEGER) AS i, NULL AS n FROM t;"
        "CREATE VIEW w AS SELECT * FROM v UNION ALL SELECT d, m, 1, 'b', x'01', 2, NULL FROM t WHERE m > 100;"
        "CREATE VIRTUAL TABLE f USING fts5(title); INSERT INTO f VALUES ('hello')"
    )

    types = ["timestamp[us]", "decimal128(5,2)", "float64", "string", "binary", "int64", "string"]
    assert [str(c.type) for c in _described(sqlite_database, "v").columns] == types
    assert [str(c.type) for c in _described(sqlite_database, "w").columns] == types
    assert read_all(sqlite_database, table="f").to_pylist() == [{"title": "hello"}]


def test_many_columns(sqlite_database: SqliteDatabase) -> None:
    """A table may have nearly as many columns as SQLite allows, of all types."""
    types = ["INT", "TEXT", "DATE", "DECIMAL(5,2)", "", "REAL", "BLOB"]
    columns = ", ".join(f"c{i} {types[i % 7]}" for i in range(1900))
    sqlite_database.execute(f"CREATE TABLE t({columns}); INSERT INTO t(c1898) VALUES ('x')")

    read = read_all(sqlite_database, table="t", order="c2")

    assert read.num_columns == 1900
    assert read.column("c1898").to_pylist() == ["x"]


def test_columns_without_a_name(sqlite_database: SqliteDatabase) -> None:
    """Expressions have the names that SQLite gives them: their text."""
    sqlite_database.execute("CREATE TABLE t(a INT); INSERT INTO t VALUES (1), (2)")

    read = read_all(sqlite_database, query="SELECT count(*), max(a) + 1, 'it''s' FROM t")

    assert read.to_pylist() == [{"count(*)": 2, "max(a) + 1": 3, "'it''s'": "it's"}]


def test_what_is_not_there(sqlite_database: SqliteDatabase) -> None:
    """A wrong name of a table or an excluded column is refused with the near miss."""
    sqlite_database.execute("CREATE TABLE events(id INT, created_at DATE); CREATE TABLE other(a INT)")

    with pytest.raises(SourceError, match="no table 'evnts' in the source") as table:
        _described(sqlite_database, "evnts")
    with pytest.raises(SourceError, match="no column 'create_at'") as column:
        _described(sqlite_database, "events", exclude=("create_at",))
    with pytest.raises(SourceError, match=r"no table 'temp\.events'"):
        _described(sqlite_database, "temp.events")

    assert table.value.hint == "did you mean 'events'?"
    assert column.value.hint == "did you mean 'created_at'?"


def test_query(sqlite_database: SqliteDatabase) -> None:
    """A query of any look is described by SQLite and read as it stands."""
    sqlite_database.execute(
        "CREATE TABLE t(id INT, d DATETIME, name TEXT);"
        "INSERT INTO t VALUES (1, '2023-01-02', '100%'), (2, '2023-01-01', 'a:b'), (3, NULL, '?')"
    )
    queries = [
        "SELECT id, d, name FROM t WHERE name LIKE '%' OR name = ':x' OR name = '?'",
        "SELECT * FROM t -- a comment, with ' a quote",
        "/* one */ WITH c AS (SELECT * FROM t) SELECT * FROM c ORDER BY id DESC LIMIT 10; -- two",
        "SELECT u.* FROM t u LEFT JOIN t v ON v.id = u.id + 1",
        "SELECT id, d, name FROM t UNION ALL SELECT id, d, name FROM t WHERE 0",
    ]

    for query in queries:
        relation = _described(sqlite_database, query=query)
        read = read_all(sqlite_database, query=query, order="d")

        assert [str(c.type) for c in relation.columns] == ["int64", "timestamp[us]", "string"]
        assert (relation.table, relation.primary_key, relation.indexed) == (None, (), frozenset())
        assert relation.query_sha256 == hashlib.sha256(query.encode()).hexdigest()
        assert read.column("id").to_pylist() == [3, 2, 1]


def test_types_of_expressions(sqlite_database: SqliteDatabase) -> None:
    """What declares no type is typed by its values, all of them."""
    sqlite_database.execute("CREATE TABLE t(a INT); INSERT INTO t VALUES (1), (NULL)")

    relation = _described(
        sqlite_database,
        query="SELECT count(*) AS n, avg(a) AS mean, max('x') AS x, zeroblob(1) AS b, NULL AS empty, "
        "CAST(NULL AS REAL) AS r FROM t",
    )

    assert [(c.name, str(c.type), c.source_type) for c in relation.columns] == [
        ("n", "int64", "integer"),
        ("mean", "float64", "real"),
        ("x", "string", "text"),
        ("b", "binary", "blob"),
        ("empty", "string", "text"),
        ("r", "float64", "REAL"),
    ]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("SELECT a.*, b.* FROM t a JOIN t b ON a.id = b.id", "id"),
        ("SELECT 1 AS x, 2 AS X", "x"),
        ("SELECT 1 AS x, 2 AS x, 3 AS x, 4 AS x, 5 AS x", "x"),
        ('SELECT 1 AS "a:1", 2 AS "a:1"', "a:1"),
        ("SELECT id, d, id FROM t", "id"),
    ],
)
def test_repeated_columns(sqlite_database: SqliteDatabase, query: str, name: str) -> None:
    """Output columns of one name are refused, although SQLite would give the second another name."""
    sqlite_database.execute("CREATE TABLE t(id INT, d DATE)")

    with pytest.raises(SourceError, match=f"several columns are named '{name}'"):
        _described(sqlite_database, query=query)


def test_names_that_look_repeated(sqlite_database: SqliteDatabase) -> None:
    """Names with a colon and a number are the user's where he, or a table of his, has them."""
    sqlite_database.execute('CREATE TABLE t(id INT, "id:1" INT)')

    hours = _described(sqlite_database, query='SELECT 1 AS "12:00", 2 AS "12:15"')
    table = _described(sqlite_database, query="SELECT * FROM t")

    assert [c.name for c in hours.columns] == ["12:00", "12:15"]
    assert [c.name for c in table.columns] == ["id", "id:1"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT nope FROM t", "no such column: nope"),
        ("SELECT * FROM nope", "no such table: "),
        ("SELECT 'secret' FROM t WHERE", "syntax error"),
        ("SELECT * FROM t WHERE id = ?", "parameter"),
        ("SELECT * FROM t WHERE id = :id", "parameter"),
        ("DELETE FROM t", "'DELETE'"),
        ("SELECT 1; SELECT 2", "second statement"),
        ("WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", "'INSERT'"),
    ],
)
def test_query_that_is_refused(sqlite_database: SqliteDatabase, query: str, message: str) -> None:
    """A query that SQLite or the check refuses says why, without its own text."""
    sqlite_database.execute("CREATE TABLE t(id INT)")

    with pytest.raises(SourceError) as caught:
        _described(sqlite_database, query=query)

    assert message in str(caught.value)
    assert "secret" not in str(caught.value)


def test_quoted_name_that_is_no_column(sqlite_database: SqliteDatabase) -> None:
    """A broken view is refused when it is described, not taken for text."""
    sqlite_database.execute("CREATE TABLE t(id INT); CREATE VIEW v AS SELECT x FROM t")

    with pytest.raises(SourceError, match="no such column: x"):
        _described(sqlite_database, "v")


def test_describing_leaves_nothing(sqlite_database: SqliteDatabase) -> None:
    """Several tables and queries are described in one session, of which none sees what another left."""
    sqlite_database.execute("CREATE TABLE t(id INT); INSERT INTO t VALUES (1)")

    with pytest.raises(SourceError, match="no such table"):
        in_session(
            sqlite_database,
            lambda s: [
                s.describe(Request(query="SELECT id FROM t")),
                s.describe(Request("t")),
                s.describe(Request(query='SELECT * FROM "rivet described"')),
            ],
        )
