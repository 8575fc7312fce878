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


@pytest.mark.parametrize("before", ["", " \n", "-- first\n", "/* first; */", ";"])
@pytest.mark.parametrize("after", ["", ";", " ;; ", "-- last", "; -- last", " /* last */ ;\n"])
def test_ends_are_cut(before: str, after: str) -> None:
    """Semicolons, comments and blanks around the statement do no harm."""
    assert checked_query(f"{before}SELECT 1{after}", "postgres") == "SELECT 1"
