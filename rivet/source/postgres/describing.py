"""Describes a table or a query without running it: the server prepares it and says what it would give."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
import sqlalchemy
from psycopg import generators, pq

from rivet.errors import SourceError
from rivet.plan.schema import Column, Override
from rivet.source.columns import kept_columns, made_by_name, resolved_overrides
from rivet.source.postgres.catalogue import Fetch, find_table, indexed_columns, indexes_of, primary_key
from rivet.source.postgres.connecting import driver_of, run_text
from rivet.source.postgres.errors import translated
from rivet.source.postgres.rendering import Rendering, rendering
from rivet.source.postgres.rewritten import refuse_rewritten
from rivet.source.postgres.row_security import hiding_in_query, hiding_in_table
from rivet.source.postgres.statements import PostgresRelation, table_item
from rivet.source.postgres.steadiness import unsteadiness_of
from rivet.source.postgres.types import SourceType
from rivet.source.query import checked_query, query_item, query_sha256
from rivet.source.relation import Consistency, Request
from rivet.source.steadiness import unsteadiness

# A domain in an array is followed to what it rests on; one of a whole column never comes here. An array knows
# its element by `typarray`, where `typelem` would take `name` for an array of signs. Whether a type's schema
# is told depends on the search path, so it never is.
_TYPES = """
WITH RECURSIVE formatted AS (
    SELECT d.place, format_type(d.oid, d.typmod) AS shown, coalesce(e.oid, d.oid) AS oid, d.typmod,
        e.oid IS NOT NULL AS is_array,
        quote_ident((SELECT n.nspname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n
            ON n.oid = t.typnamespace WHERE t.oid = d.oid)) || '.' AS schema
    FROM unnest(%(oids)s::oid[], %(typmods)s::int4[]) WITH ORDINALITY AS d(oid, typmod, place)
    LEFT JOIN pg_catalog.pg_type e ON e.typarray = d.oid
), described AS (
    SELECT place, CASE WHEN left(shown, length(schema)) = schema THEN substr(shown, length(schema) + 1)
        ELSE shown END AS shown, oid, typmod, is_array
    FROM formatted
), based AS (
    SELECT * FROM described
    UNION ALL
    SELECT b.place, b.shown, t.typbasetype, t.typtypmod, b.is_array
    FROM based b JOIN pg_catalog.pg_type t ON t.oid = b.oid WHERE t.typtype = 'd'
)
SELECT b.shown, t.typname, b.typmod, t.typnamespace = 'pg_catalog'::regnamespace, b.is_array,
    t.typtype <> 'p' AND NOT EXISTS (SELECT FROM pg_catalog.pg_type e WHERE e.typarray = t.oid), t.typtype
FROM based b JOIN pg_catalog.pg_type t ON t.oid = b.oid
WHERE t.typtype <> 'd'
ORDER BY b.place
"""


@dataclass(frozen=True, slots=True)
class _Described:
    """The type of an output column as the server numbers it; a domain comes as its base type."""

    oid: int
    typmod: int


Hold = Callable[[str], None]
"""Locks, on the other connection of a session, what stands after FROM."""


def describe(connection: sqlalchemy.Connection, request: Request, hold: Hold) -> PostgresRelation:
    """Describe a table or query.

    Args:
        hold: Called as soon as this connection has locked what a read will lock.

    Raises:
        SourceError: No such table or column, a query that is not one reading SELECT, repeated names.
        SourceUnavailable: A table was written anew since the snapshot began.
        ColumnError: Columns cannot become what the config asks for.
    """
    if request.query is not None:
        relation = _describe_query(connection, request.query, request, hold)
    else:
        relation = _describe_table(connection, request.table or "", request, hold)
    with translated(f"cannot look whether {relation.label} was written anew"):
        refuse_rewritten(fetching(connection))
    return relation


def _describe_table(
    connection: sqlalchemy.Connection, text: str, request: Request, hold: Hold
) -> PostgresRelation:
    fetch = fetching(connection)
    with translated(f"cannot look up table {text!r}"):
        table = find_table(fetch, text)
        key, indexed = primary_key(fetch, table), indexed_columns(fetch, table)
        indexes, not_null = indexes_of(fetch, table)
        hiding = hiding_in_table(fetch, table)
    from_item = table_item(table.schema, table.name)
    doing = f"cannot describe table {str(table)!r}"
    described = _output(connection, f"SELECT * FROM {from_item}", doing)
    plan = _planned(connection, from_item, doing, hold)
    kept = kept_columns(described, request.exclude)
    columns, renderings, warnings = _columns(connection, kept, request.overrides)
    names = {c.name for c in columns}
    consistency, reason = _foretold(connection, plan, doing, f"table {str(table)!r}")
    return PostgresRelation(
        from_item=from_item,
        columns=columns,
        table=str(table),
        primary_key=key if names.issuperset(key) else (),
        indexed=indexed & names,
        indexes=indexes,
        not_null=not_null,
        estimated_rows=plan["Plan Rows"],
        consistency=consistency,
        consistency_reason=reason,
        warnings=(*hiding, *warnings),
        renderings=renderings,
    )


def _describe_query(
    connection: sqlalchemy.Connection, text: str, request: Request, hold: Hold
) -> PostgresRelation:
    query = checked_query(text, "postgres")
    doing = "cannot describe the query"
    described = _output(connection, query, doing)
    with translated(doing):
        hiding = hiding_in_query(fetching(connection), query)
    from_item = query_item(query)
    plan = _planned(connection, from_item, doing, hold)
    kept = kept_columns(described, request.exclude)
    columns, renderings, warnings = _columns(connection, kept, request.overrides)
    consistency, reason = _foretold(connection, plan, doing, "the query")
    unsteady = unsteadiness(query, "postgres", "the query")
    if unsteady is not None:
        consistency, reason = Consistency.STATEMENT, unsteady.reason
    return PostgresRelation(
        from_item=from_item,
        columns=columns,
        query_sha256=query_sha256(text),
        estimated_rows=plan["Plan Rows"],
        consistency=consistency,
        consistency_reason=reason,
        warnings=(*hiding, *warnings),
        renderings=renderings,
    )


def fetching(connection: sqlalchemy.Connection) -> Fetch:
    """Give what asks the catalogue on a connection."""
    return lambda statement, parameters: connection.exec_driver_sql(statement, parameters).all()


def _output(connection: sqlalchemy.Connection, statement: str, doing: str) -> list[tuple[str, _Described]]:
    """Let the server parse one statement by itself, and list what it would give."""
    driver = driver_of(connection)
    with translated(doing):
        # libpq's own blocking calls would hold every other thread, and an interrupt, while they wait.
        driver.pgconn.send_prepare(b"", statement.encode())
        result = driver.wait(generators.execute(driver.pgconn))[-1]
        if result.status == pq.ExecStatus.COMMAND_OK:
            driver.pgconn.send_describe_prepared(b"")
            result = driver.wait(generators.execute(driver.pgconn))[-1]
        if result.status != pq.ExecStatus.COMMAND_OK:
            raise psycopg.errors.error_from_result(result, "utf-8")
    if result.nparams:
        raise SourceError(
            f"{doing}: it holds the parameter $1, for which there is no value",
            hint="write the value itself",
        )
    return [
        ((result.fname(i) or b"").decode(), _Described(result.ftype(i), result.fmod(i)))
        for i in range(result.nfields)
    ]


def _columns(
    connection: sqlalchemy.Connection,
    described: Sequence[tuple[str, _Described]],
    overrides: Mapping[str, Override],
) -> tuple[tuple[Column, ...], dict[str, Rendering], list[str]]:
    """Give the columns, how each is rendered, by name, and what people should know of them."""
    names = [name for name, _ in described]
    wanted = resolved_overrides(names, overrides)
    parameters = {"oids": [d.oid for _, d in described], "typmods": [d.typmod for _, d in described]}
    with translated("cannot look up the types of the columns"):
        types = connection.exec_driver_sql(_TYPES, parameters).all()
    sources = {name: SourceType(*found) for name, found in zip(names, types, strict=True)}
    renderings = made_by_name(names, lambda name: rendering(name, sources[name], wanted.get(name)))
    columns = tuple(renderings[name].column(name, source) for name, source in sources.items())
    warnings = [
        f"column {name!r} is {source.shown}, a type of an extension: it is exported as the text that the "
        "server prints; give it the type string under `columns` to say that this is meant"
        for name, source in sources.items()
        if source.is_foreign and name not in wanted
    ]
    return columns, renderings, warnings


def _planned(connection: sqlalchemy.Connection, from_item: str, doing: str, hold: Hold) -> dict[str, Any]:
    """Plan to read everything, which locks indexes and partitions too, and at once lock them elsewhere."""
    with translated(doing):
        plan = explain(connection, f"SELECT * FROM {from_item}")
    hold(from_item)
    return plan


def _foretold(
    connection: sqlalchemy.Connection, plan: dict[str, Any], doing: str, what: str
) -> tuple[Consistency, str]:
    """Say whether every statement of the snapshot sees the same rows."""
    below = nodes(plan)
    with translated(doing):
        if any(node["Node Type"] == "Foreign Scan" for node in below):
            reason = "it reads a foreign table, whose server has a snapshot of its own for each connection"
        else:
            reason = unsteadiness_of(below, what, fetching(connection))
    return Consistency.STATEMENT if reason else Consistency.SNAPSHOT, reason


def explain(connection: sqlalchemy.Connection, statement: str) -> dict[str, Any]:
    """Give the root of a statement's plan."""
    document = run_text(connection, f"EXPLAIN (VERBOSE, FORMAT JSON) {statement}").scalar_one()
    plan: dict[str, Any] = (json.loads(document) if isinstance(document, str) else document)[0]["Plan"]
    return plan


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """List a plan's nodes, parents before their children."""
    return [plan, *(node for child in plan.get("Plans", ()) for node in nodes(child))]
