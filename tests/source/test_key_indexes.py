"""The indexes that give all rows of a table in the order of whole columns, as the catalogue tells them."""

from __future__ import annotations

from rivet.plan.keys import TableIndex
from rivet.source.relation import Relation, Request
from tests.servers.database import Database
from tests.servers.sqlite import SqliteDatabase
from tests.source.reading import in_session
from tests.source.sqlite_reading import source_of as sqlite_source_of


def _told(relation: Relation) -> dict[str, tuple[tuple[str, ...], int]]:
    return {index.name: (index.columns, index.unique) for index in relation.indexes}


def test_indexes_of_postgres(postgres_database: Database) -> None:
    """Not those of some rows, of expressions, of another order or kind; what is included is no key."""
    postgres_database.execute(
        """
        CREATE TABLE t (id int, a int NOT NULL, b text, c int, d int4range, CONSTRAINT pk PRIMARY KEY (id));
        CREATE INDEX plain ON t (a, b);
        CREATE UNIQUE INDEX included ON t (a, c) INCLUDE (b);
        CREATE UNIQUE INDEX backward ON t (b DESC, a DESC);
        CREATE INDEX mixed ON t (c, a DESC);
        CREATE UNIQUE INDEX partial ON t (c) WHERE c > 0;
        CREATE INDEX expression ON t (lower(b), a);
        CREATE INDEX behind ON t (a, lower(b), c);
        CREATE INDEX collated ON t (b COLLATE "C");
        CREATE INDEX patterned ON t (b text_pattern_ops);
        CREATE INDEX nulls_first ON t (c NULLS FIRST);
        CREATE INDEX hashed ON t USING hash (a);
        CREATE INDEX ranged ON t USING gist (d);
        """
    )

    relation = in_session(postgres_database, lambda session: session.describe(Request("t")))

    assert _told(relation) == {
        "pk": (("id",), 1),
        "plain": (("a", "b"), 0),
        "included": (("a", "c"), 2),
        "backward": (("b", "a"), 2),
        "mixed": (("c",), 0),
        "behind": (("a",), 0),
    }
    assert relation.not_null == {"id", "a"}


def test_indexes_of_mysql(mysql_family: Database) -> None:
    """Not those of parts of values; every other one ends with the primary key, which InnoDB puts there."""
    mysql_family.execute(
        """
        CREATE TABLE t (id int, a int NOT NULL, b varchar(20), c int, d text, PRIMARY KEY (id, c),
            KEY plain (a, b), UNIQUE KEY one (b), UNIQUE KEY prefix (d(10)), KEY behind (a, d(5)),
            FULLTEXT KEY words (d));
        """
    )

    relation = in_session(mysql_family, lambda session: session.describe(Request("t")))

    assert _told(relation) == {
        "PRIMARY": (("id", "c"), 2),
        "plain": (("a", "b", "id", "c"), 0),
        "one": (("b", "id", "c"), 1),
        "behind": (("a",), 0),
    }
    assert relation.not_null >= {"id", "a", "c"}


def test_indexes_of_sqlite(sqlite_database: SqliteDatabase) -> None:
    """Not those of some rows, of expressions or of another collation; the rowid ends them, under its name."""
    sqlite_database.execute(
        """
        CREATE TABLE t (id INTEGER PRIMARY KEY, a INT NOT NULL, b TEXT, c TEXT COLLATE NOCASE);
        CREATE INDEX plain ON t (a, b);
        CREATE UNIQUE INDEX one ON t (b);
        CREATE INDEX mixed ON t (a, b DESC);
        CREATE UNIQUE INDEX partial ON t (b) WHERE a > 0;
        CREATE INDEX expression ON t (lower(b));
        CREATE INDEX folded ON t (c);
        CREATE UNIQUE INDEX behind ON t (a, c);
        """
    )
    with sqlite_source_of(sqlite_database).session() as session:
        relation = session.describe(Request("t"))

    assert _told(relation) == {
        "rowid": (("id",), 1),
        "plain": (("a", "b", "id"), 0),
        "one": (("b", "id"), 1),
        "behind": (("a",), 0),
    }
    assert relation.not_null == {"id", "a"}


def test_a_view_and_a_query_have_no_indexes(postgres_database: Database) -> None:
    """What lies under them is not looked at."""
    postgres_database.execute("CREATE TABLE t (id int PRIMARY KEY); CREATE VIEW v AS SELECT * FROM t")

    def indexes(request: Request) -> tuple[TableIndex, ...]:
        return in_session(postgres_database, lambda session: session.describe(request).indexes)

    assert indexes(Request("v")) == ()
    assert indexes(Request(query="SELECT * FROM t")) == ()
