"""How tables and queries of MySQL and MariaDB are described: names, keys, consistency, and refusals."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rivet.errors import SourceDenied, SourceError
from rivet.source.mysql.catalogue import find_table
from rivet.source.opening import open_source
from rivet.source.relation import Consistency, Relation, Request
from tests.servers.database import Database
from tests.servers.mariadb import quoted
from tests.source.reading import EVERYTHING, column_of, in_session, read_all, settings_of, source_of


def described(database: Database, table: str | None = None, **request: object) -> Relation:
    """Describe a table or a query in a session of its own."""
    return in_session(database, lambda s: s.describe(Request(table, **request)))  # type: ignore[arg-type]


def refused(database: Database, table: str | None = None, **request: object) -> SourceError:
    """Describe what must be refused, and give the error."""
    with pytest.raises(SourceError) as caught:
        described(database, table, **request)
    return caught.value


def test_odd_names_are_only_names(mysql_family: Database) -> None:
    """Spaces, backticks, quotes, percent signs, reserved words and other scripts work in every statement."""
    names = [
        "select",
        "created at",
        "a`b",
        "pct%s",
        "x:y",
        "it's",
        'say "x"',
        "schlüssel",
        "a.b",
        "back\\slash",
    ]
    in_backticks = [f"`{name.replace('`', '``')}`" for name in names]
    columns = ", ".join(f"{name} date" for name in in_backticks)
    days = ", ".join(["20230102"] * len(names))
    mysql_family.execute(
        f"CREATE TABLE `order ``s` ({columns}, PRIMARY KEY ({in_backticks[0]}), KEY ({in_backticks[1]}));"
        f"INSERT INTO `order ``s` VALUES ({days})"
    )
    relation = described(mysql_family, "`order ``s`")
    for text in (f"{mysql_family.name}.`order ``s`", f"`{mysql_family.name}`.`order ``s`"):
        assert described(mysql_family, text) == relation
        assert relation.table == f"{mysql_family.name}.order `s"
        assert [c.name for c in relation.columns] == names
        assert relation.indexed == {"select", "created at"}
    with source_of(mysql_family).session() as session:
        for name in names:
            column = column_of(relation, name)
            assert session.probe(relation, column).minimum == 19359
            with session.read(relation, relation.columns, column, EVERYTHING) as batches:
                assert sum(b.num_rows for b in batches) == 1


def test_a_table_is_found_as_it_is_spelled(mysql_family: Database) -> None:
    """A name is exact where the server's names are; a near miss is told, and so is a missing database."""
    mysql_family.execute("CREATE TABLE events (id int); CREATE TABLE `odd.name` (id int)")
    assert described(mysql_family, "events").table == f"{mysql_family.name}.events"
    assert described(mysql_family, "`odd.name`").table == f"{mysql_family.name}.odd.name"
    for wrong in ("event", "EVENTS", f"{mysql_family.name}.evnts"):
        error = refused(mysql_family, wrong)
        assert f"in database '{mysql_family.name}'" in str(error)
        assert error.hint == "did you mean 'events'?"
    assert "in database 'nowhere'" in str(refused(mysql_family, "nowhere.events"))
    for unreadable in ("a.b.c", "", "a.", ".b", "`a", "a``b", "`a`b"):
        assert "cannot be read as a name" in str(refused(mysql_family, unreadable)), unreadable


def test_case_folds_where_the_server_folds_it() -> None:
    """With `lower_case_table_names` set, a name in another case is the table."""
    rows = [("shop", "events", "BASE TABLE", "InnoDB", 5, 9)]

    def fetch(statement: str, parameters: tuple[str, ...]) -> list[tuple[object, ...]]:
        if "ENGINE" in statement:
            return [row for row in rows if row[1] == parameters[1]]
        return [("events",)]

    assert str(find_table(fetch, "EVENTS", "shop", folds_case=True)) == "shop.events"
    with pytest.raises(SourceError):
        find_table(fetch, "EVENTS", "shop", folds_case=False)


def test_without_a_database_a_table_names_its_own(mysql_family: Database) -> None:
    """A source that names no database reads `database.table`, and says so of a bare name."""
    mysql_family.execute("CREATE TABLE t (id int)")
    name = mysql_family.name
    settings = replace(settings_of(mysql_family), database=None)
    with open_source(settings).session() as session:
        assert session.describe(Request(f"{name}.t")).table == f"{name}.t"
        with pytest.raises(SourceError, match="in no database"):
            session.describe(Request("t"))


def test_columns_left_out_are_named_as_they_are(mysql_family: Database) -> None:
    """`exclude` takes a column away, in any case of its name; an unknown one is told with the near miss."""
    mysql_family.execute("CREATE TABLE t (Id int PRIMARY KEY, ssn int, `when` date)")
    relation = described(mysql_family, "t", exclude=("SSN",))
    assert [c.name for c in relation.columns] == ["Id", "when"]
    assert relation.primary_key == ("Id",)
    assert described(mysql_family, "t", exclude=("id",)).primary_key == ()
    assert refused(mysql_family, "t", exclude=("snn",)).hint == "did you mean 'ssn'?"


def test_indexes_that_serve_a_range(mysql_family: Database) -> None:
    """Only a whole column that leads an ordered index counts; the primary key has the order of the key."""
    mysql_family.execute(
        "CREATE TABLE t (a int, b int, c varchar(200), d int, e int, f text, PRIMARY KEY (b, a), KEY (d, e),"
        " KEY part (c(5)), FULLTEXT KEY words (f), KEY f2 (c, d))"
    )
    relation = described(mysql_family, "t")
    assert relation.primary_key == ("b", "a")
    assert relation.indexed == {"b", "d", "c"}
    assert relation.estimated_rows == 0
    mysql_family.execute("DROP INDEX f2 ON t")
    assert described(mysql_family, "t").indexed == {"b", "d"}


def test_an_index_that_the_planner_ignores_serves_nothing(mariadb_database: Database) -> None:
    """MariaDB's IGNORED index is as good as none."""
    mariadb_database.execute("CREATE TABLE t (a int, KEY (a) IGNORED)")
    assert described(mariadb_database, "t").indexed == frozenset()


QUERIES = [
    "SELECT * FROM t WHERE name LIKE '%giraffe%' OR name LIKE '100%'",
    "SELECT id, name AS `pct%s`, '12:30:00' AS t, 'a:b' RLIKE '(:a|b)' AS r FROM t",
    "SELECT (@n := @n + 1) AS n, id FROM t, (SELECT @n := 0) AS s",
    "SELECT id FROM t -- the end",
    "/* first */ SELECT id # why\n FROM t ;; -- done",
    "WITH x AS (SELECT id FROM t) SELECT x.id FROM x ORDER BY 1 LIMIT 5",
    "SELECT id FROM t UNION ALL SELECT id + 1 FROM t",
    "(SELECT id FROM t)",
    "SELECT 5--1 AS six, '%%' AS percents, '\\'?' AS mark FROM t",
    "SELECT `id` AS `name with trailing space? no` FROM t",
]


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_runs_as_it_was_written(mysql_family: Database, query: str) -> None:
    """Percent signs, colons, user variables, comments and brackets reach the server as they are."""
    mysql_family.execute(
        "CREATE TABLE t (id int, name varchar(20)); INSERT INTO t VALUES (1, 'a giraffe'), (2, '100%')"
    )
    text = query.removesuffix(";; -- done")
    wanted = mysql_family.fetch(text)
    read = [tuple(row.values()) for row in read_all(mysql_family, query=query).to_pylist()]
    assert sorted(map(str, read)) == sorted(str(tuple(row)) for row in wanted)
    assert len(read) == len(wanted) > 0


def test_describing_runs_nothing(mysql_family: Database) -> None:
    """The server sees no statement that computes rows while a query is described."""
    mysql_family.execute("CREATE TABLE t (id int); INSERT INTO t VALUES (1)")
    query = "SELECT s.id, SLEEP(1000) AS marker FROM (SELECT id, SLEEP(1000) FROM t LIMIT 5) AS s LIMIT 7"
    with mysql_family.recording() as statements:
        relation = described(mysql_family, query=query)
    assert [c.name for c in relation.columns] == ["id", "marker"]
    seen = [s for s in statements if "marker" in s]
    assert seen
    assert all(s.startswith("EXPLAIN ") for s in seen)


def test_names_that_repeat_are_refused(mysql_family: Database) -> None:
    """Two output columns of one name, in whatever case, stop the export with the alias to write."""
    mysql_family.execute("CREATE TABLE a (id int, created_at date); CREATE TABLE b (id int, created_at date)")
    error = refused(mysql_family, query="SELECT a.*, b.* FROM a JOIN b ON a.id = b.id")
    assert "'id', 'created_at'" in str(error)
    assert "AS id_2" in (error.hint or "")
    error = refused(mysql_family, query="SELECT a.id, b.id AS ID FROM a, b")
    assert "'ID'" in str(error)
    assert "alias" in (error.hint or "")


def test_a_query_that_cannot_be_is_refused(mysql_family: Database) -> None:
    """An unknown table or column, a parameter, a syntax error, a second statement: the user's to mend."""
    mysql_family.execute("CREATE TABLE t (id int)")
    for query, said in [
        ("SELECT nope FROM t", "'nope'"),
        ("SELECT id FROM nowhere", "nowhere"),
        ("SELECT id FROM t WHERE id = ?", "parameter"),
        ("SELECT id FRM t WHERE", "syntax"),
        ("SELECT 1; SELECT 2", "second statement"),
        ("DELETE FROM t", "'DELETE'"),
        ("SELECT id INTO OUTFILE '/tmp/x' FROM t", "INTO"),
        ("SELECT /*! SLEEP(5), */ 1 AS a", "executes"),
        ("SELECT /*M! SLEEP(5), */ 1 AS a", "executes"),
    ]:
        error = refused(mysql_family, query=query)
        assert said in str(error), query
        assert error.exit_code == 2


def test_a_column_without_rights_is_denied(mysql_family: Database) -> None:
    """A column that the user may not see is not left out in silence."""
    server = mysql_family.server
    mysql_family.execute("CREATE TABLE t (id int, ssn int)")
    server.execute(
        f"CREATE USER narrow IDENTIFIED BY '{quoted(server.password)}';"
        f"GRANT SELECT (id) ON {mysql_family.name}.t TO narrow"
    )
    try:
        with pytest.raises(SourceDenied, match="denied"):
            in_session(mysql_family, lambda s: s.describe(Request("t")), user="narrow")
        allowed = in_session(
            mysql_family, lambda s: s.describe(Request(query="SELECT id FROM t")), user="narrow"
        )
        assert [c.name for c in allowed.columns] == ["id"]
    finally:
        server.execute("DROP USER narrow")


def consistency(relation: Relation) -> tuple[Consistency, str]:
    """Give what a relation says of its moment."""
    return relation.consistency, relation.consistency_reason


def test_innodb_alone_has_snapshots(mysql_family: Database) -> None:
    """One moment is promised for InnoDB, through views and joins; another engine is named as the reason."""
    mysql_family.execute(
        "CREATE TABLE a (id int); CREATE TABLE old (id int) ENGINE=MyISAM;"
        "CREATE VIEW good AS SELECT a.id FROM a JOIN a AS b ON a.id = b.id;"
        "CREATE VIEW bad AS SELECT id FROM old;"
        "CREATE VIEW worse AS SELECT good.id FROM good LEFT JOIN bad ON good.id = bad.id"
    )
    snapshot = (Consistency.SNAPSHOT, "")
    for table in ("a", "good"):
        assert consistency(described(mysql_family, table)) == snapshot
    for query in (
        "SELECT a.id FROM a JOIN good ON a.id = good.id WHERE a.id IN (SELECT id FROM a)",
        "WITH x AS (SELECT id FROM a) SELECT * FROM x",
        "WITH a AS (SELECT id FROM a) SELECT * FROM a",
        "SELECT 1 AS one FROM DUAL",
        "SELECT 1 AS one",
        f"SELECT * FROM `{mysql_family.name}`.`a`",
    ):
        assert consistency(described(mysql_family, query=query)) == snapshot, query

    name = mysql_family.name
    for request in (
        {"table": "old"}, {"table": "bad"}, {"table": "worse"},
        {"query": "SELECT a.id FROM a JOIN old ON a.id = old.id"},
        {"query": "SELECT id FROM a WHERE id IN (SELECT id FROM bad)"},
        {"query": "SELECT id FROM a UNION SELECT id FROM worse"},
        {"query": "WITH x AS (SELECT id FROM old) SELECT * FROM x"},
        {"query": "WITH old AS (SELECT id FROM old) SELECT * FROM old"},
        {"query": "SELECT (SELECT MAX(id) FROM old) AS m FROM a"},
    ):  # fmt: skip
        word, reason = consistency(described(mysql_family, **request))
        assert word is Consistency.STATEMENT, request
        assert f"'{name}.old' is stored by MyISAM" in reason
    assert consistency(described(mysql_family, query="SELECT * FROM information_schema.TABLES"))[0] is (
        Consistency.STATEMENT
    )


def test_aria_has_no_snapshots(mariadb_database: Database) -> None:
    """A table of MariaDB's own Aria engine is read by one statement, and says so."""
    mariadb_database.execute("CREATE TABLE t (id int) ENGINE=Aria TRANSACTIONAL=1")
    word, reason = consistency(described(mariadb_database, "t"))
    assert word is Consistency.STATEMENT
    assert "t' is stored by Aria" in reason


def test_a_sequence_has_no_snapshots(mariadb_database: Database) -> None:
    """A sequence of MariaDB lies in InnoDB, and is overwritten in place all the same."""
    mariadb_database.execute("CREATE TABLE t (id int); CREATE SEQUENCE numbers")
    for request in ({"table": "numbers"}, {"query": "SELECT id, next_not_cached_value FROM t, numbers"}):
        word, reason = consistency(described(mariadb_database, **request))
        assert word is Consistency.STATEMENT
        assert "numbers' is a sequence" in reason


def test_a_doubt_is_no_promise(mysql_family: Database) -> None:
    """A stored function, a view that hides its text, and a text that cannot be read leave one statement."""
    server, name = mysql_family.server, mysql_family.name
    server.execute("SET GLOBAL log_bin_trust_function_creators = ON")
    mysql_family.execute(
        "CREATE TABLE a (id int); CREATE FUNCTION peek() RETURNS int READS SQL DATA RETURN 1;"
        "CREATE VIEW calls AS SELECT peek() AS s"
    )
    server.execute(
        f"USE {name}; CREATE SQL SECURITY DEFINER VIEW hidden AS SELECT id FROM a;"
        f"REVOKE ALL ON {name}.* FROM {server.user}; GRANT SELECT, EXECUTE ON {name}.* TO {server.user}"
    )
    for request, said in [
        ({"query": "SELECT id, peek() AS s FROM a"}, "stored function 'peek'"),
        ({"query": f"SELECT id, {name}.PEEK() AS s FROM a"}, "stored function 'PEEK'"),
        ({"table": "hidden"}, "does not show its tables"),
        ({"query": "SELECT * FROM hidden"}, "does not show its tables"),
    ]:
        word, reason = consistency(described(mysql_family, **request))
        assert word is Consistency.STATEMENT, request
        assert said in reason, request
    server.execute(f"GRANT ALL ON {name}.* TO {server.user}")
    assert "stored function" in consistency(described(mysql_family, "calls"))[1]
