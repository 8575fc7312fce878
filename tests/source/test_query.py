"""The check of a user's query: what passes comes through as it was written, what writes is refused."""

from __future__ import annotations

import pytest

from rivet.errors import SourceError
from rivet.source.query import checked_query
from rivet.source.tokens import Dialect

PASSED: list[tuple[Dialect, str]] = [
    ("postgres", "SELECT '%giraffe%', 100 % 3, ts::date, 'a:b' ~ '(?:a|b)', j ? 'k', j #>> '{a}' FROM ev"),
    ("postgres", "select 'a;b', $$;$$, $x$a;$$b$x$, E'\\';', E'\\\\', '\\', U&'d\\0061', a$b, \"c;\"\"d\""),
    ("postgres", "select 1 /* a /* nested; */ ; */ + /*! only a comment here */ 2"),
    ("postgres", "select 1 -- a;b\n, 2"),
    ("postgres", "select insert, delete from t where update = 1"),
    ("postgres", "with a(x) as not materialized (select 1), b as (select (2)) (select * from a)"),
    ("postgres", "with recursive a as (select 1) search depth first by x set y table a"),
    ("postgres", "((select 1) union (values (2)))"),
    ("postgres", "select substring(a from 1 for 2), rank() over w from t window w as (partition by b)"),
    ("postgres", "select * from json_to_record('{}') as (a int, b text)"),
    ("postgres", "select '😀', é from ü"),
    ("mysql", "select 'a\\';b', \"x;\\\"y\", `a;``b`, 5--1, @n := @n + 1 # a;b\n, 2"),
    ("mysql", "select /*+ no_index(t) */ insert('abc', 1, 2, 'x'), (replace('a', 'b', 'c')) from t"),
    ("sqlite", "select [a;b], \"c;d\", `e;f`, '%s :x ? @y' from t"),
    ("postgres", "select substring(a from 1 for key), overlay(a placing b from 1 for (no)) from t"),
    ("postgres", "select 'for' share, \"for\" key from t where a in ('lock', 'in')"),
    ("postgres", "select into_x, \"into\", t.into, 1 as into, 2 as for, 'into', $$into$$ from t"),
    ("postgres", "select 'for update', $$for share$$, \"for update\" from t -- for update\n, t2"),
    ("postgres", "select * from json_to_record('{}') as (update int, delete text)"),
    ("postgres", "select E'a\\'b' -- c\n, E'a'\n'b\\'c', b'1', x'F', n'x', U&\"d\\0061\", $é$;$é$, a$1$b"),
    ("postgres", "select 5 -/* a */- 1, j #- '{#}', a !-- c\n, 1"),
    ("postgres", "table events"),
    ("postgres", "values (1, 'a'), (2, 'b') order by 1"),
    ("postgres", "select 1 -- a /* b\n, 2 -- c */\n, 3"),
    ("mysql", "select t.into, `into`, 'into outfile' from t"),
    ("mysql", "select 5--1, 5 --1, '--', '#', `a#b` #! no comment that is run\n, 2 -- /*! nor this\n, 3"),
    ("mysql", "select '/*! */', `/*! */`, \"/*M! */\", 5 /* /*! */ + 1"),
    (
        "mysql",
        "select 1e5, 1.5e-3, 2into, .5, @`a;b`, @'c;d', @@sql_mode, _utf8mb4'é', x'4D', {d '2024-01-01'}",
    ),
    ("mysql", "select 'a' 'b\\\\', 'it''s', \"it\"\"s\" for_sale from t for system_time all"),
    ("sqlite", "select 'a\\', [into], \"for\" from t"),
]

REFUSED: list[tuple[Dialect, str, str]] = [
    ("postgres", "", "empty"),
    ("postgres", " ; -- only this", "empty"),
    ("postgres", "select 1;\n\ndrop table t", "second statement.*'drop' in line 3"),
    ("postgres", "select 1; select 2", "second statement"),
    ("postgres", "select 1 -- c\r; select 2", "second statement"),
    ("postgres", "select 'a", "not closed"),
    ("postgres", "select $a$", "not closed"),
    ("postgres", "select 1) x, (select 2", "closes a bracket"),
    ("postgres", "select (1", "does not close"),
    ("postgres", "select '\0'", "zero byte"),
    ("postgres", "explain analyze select 1", "'explain'"),
    ("postgres", "delete from t", "'delete'"),
    ("postgres", "(delete from t)", "'delete'"),
    ("postgres", "copy t to '/tmp/x'", "'copy'"),
    ("postgres", "call p()", "'call'"),
    ("postgres", "with a as (delete from t returning *) select * from a", "'delete'"),
    ("postgres", "with a as materialized (update t set x = 1 returning *) table a", "'update'"),
    ("postgres", "with a as (with b as (select 1) delete from t returning *) select 1", "'delete'"),
    ("postgres", "with a as (select 1) merge into t using a on true when matched then delete", "'merge'"),
    ("postgres", "select * into copy_of_t from t", "'into'"),
    ("postgres", "select * from t for no key update", "locks rows"),
    ("mysql", "select /*! 1 */ 2", "server executes"),
    ("mysql", "/*!50000 select 1 */ select 2", "server executes"),
    ("mysql", "select 1; /*M!100100 drop table t */", "server executes"),
    ("mysql", "select * from t into outfile '/tmp/x'", "'into'"),
    ("mysql", "select * from t lock in share mode", "locks rows"),
    ("mysql", "select * from t for update", "locks rows"),
    ("mysql", "with a as (select 1) update t set x = 1", "'update'"),
    ("mysql", "replace into t values (1)", "'replace'"),
    ("sqlite", "pragma journal_mode = off", "'pragma'"),
    *(
        (dialect, f"{word} x", f"'{word}'")
        for dialect in ("postgres", "mysql", "sqlite")
        for word in ("call", "explain", "show", "copy", "set", "begin", "create", "analyze", "lock", "do")
    ),
    ("postgres", "with d as (delete from t returning *), e as (select 1) select * from d", "'delete'"),
    ("postgres", "with e as (select 1), d as not materialized (insert into t select 1) table d", "'insert'"),
    ("postgres", "select 1 as a into t2 from t", "'into'"),
    ("postgres", "select (select 1 into t2)", "'into'"),
    ("postgres", "select * from (select * from t for share of t nowait) x", "'FOR SHARE OF' in line 1"),
    ("postgres", "with a as (select * from t for key share) select * from a", "'FOR KEY SHARE'"),
    ("postgres", "select 1 \n\n for update skip locked", "'FOR UPDATE SKIP' in line 3"),
    ("postgres", "select 1 /* /* */", "not closed"),
    ("postgres", "select E'a\\'", "not closed"),
    ("postgres", 'select "a', "not closed"),
    ("mysql", "select 1 into @a", "'into'"),
    ("mysql", "select 1 into dumpfile '/tmp/x'", "'into'"),
    ("mysql", "select * from (select * from t limit 1 for share) x", "locks rows"),
    ("mysql", "select 1 /*!99999 + 1 */", "server executes: '/\\*!99999"),
    ("mysql", "select 1 /*! + 1 */ -- /* */", "server executes"),
    ("mysql", "select 'a\\'", "not closed"),
    ("mysql", "select `a", "not closed"),
    ("mysql", "select 1 /* a", "not closed"),
    ("sqlite", "select [a", "not closed"),
    ("sqlite", "attach 'x' as y", "'attach'"),
    ("sqlite", "select 1; attach 'x' as y", "second statement"),
]

# What `sql_mode` makes of quotes and backslashes.
MODES = [
    ("", "select 'a\\';', \"b\\\";\" from t", None),
    ("", "select 'a\\', 'b' from t", "not closed"),
    ("STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES", "select 'a\\', 'b', \"c\\\" from t", None),
    ("NO_BACKSLASH_ESCAPES", "select 'a\\'; drop table t -- '", "second statement"),
    ("ANSI_QUOTES", 'select "a\\", "b;""c" from t', None),
    ("ANSI_QUOTES", 'select "a\\"; drop table t -- "', "second statement"),
    ("ANSI_QUOTES,NO_BACKSLASH_ESCAPES", "select \"a\\\", 'b\\' from t", None),
]


@pytest.mark.parametrize(("dialect", "text"), PASSED)
def test_a_query_comes_through_as_it_was_written(dialect: Dialect, text: str) -> None:
    """A query that reads is returned letter for letter."""
    assert checked_query(text, dialect) == text


@pytest.mark.parametrize(("dialect", "text", "reason"), REFUSED)
def test_what_is_not_one_reading_statement_is_refused(dialect: Dialect, text: str, reason: str) -> None:
    """Anything else is refused with what stands against it."""
    with pytest.raises(SourceError, match=reason):
        checked_query(text, dialect)


@pytest.mark.parametrize(("sql_mode", "text", "reason"), MODES)
def test_quotes_are_those_of_the_sessions_mode(sql_mode: str, text: str, reason: str | None) -> None:
    """Where a backslash is a sign like others, or a double quote begins a name, the text is cut by that."""
    if reason is None:
        assert checked_query(text, "mysql", sql_mode) == text
    else:
        with pytest.raises(SourceError, match=reason):
            checked_query(text, "mysql", sql_mode)


COMMENTS: dict[Dialect, list[str]] = {
    "postgres": ['-- it\'s; a "comment"', "/* a /* nested; */ ' */", "--", "/**/", "/*! plain */", "-- /*"],
    "mysql": ["-- it's; a `comment`", "# it's; one, too", "/* a ' ; */", "#", "--", "/*+ a hint */", "# /*"],
    "sqlite": ["-- it's; a [comment]", "/* a ' ; */", "--", "-- /*", "/* '"],
}


@pytest.mark.parametrize(
    ("dialect", "comment"), [(dialect, c) for dialect, comments in COMMENTS.items() for c in comments]
)
def test_comments_at_the_ends_do_no_harm(dialect: Dialect, comment: str) -> None:
    """Each kind of comment may stand at either end, around semicolons too, with or without a newline."""
    is_open = comment == "/* '"  # which only the end of the text closes
    before = "" if is_open else f"\ufeff{comment}\n;{comment}\n"
    query = "SELECT 'x' AS a" if is_open else f"SELECT 'x' {comment}\n AS a"
    after = f" {comment}" if is_open else f" {comment}\n;; {comment}"

    assert checked_query(before + query + after, dialect) == query


@pytest.mark.parametrize("before", ["", " \n", "-- first\n", "/* first; */", ";"])
@pytest.mark.parametrize("after", ["", ";", " ;; ", "-- last", "; -- last", " /* last */ ;\n"])
def test_ends_are_cut(before: str, after: str) -> None:
    """Semicolons, comments and blanks around the statement do no harm."""
    assert checked_query(f"{before}SELECT 1{after}", "postgres") == "SELECT 1"
