"""Describes a table or a query without running it: the server prepares it and says what it would give."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
import sqlalchemy
from psycopg import generators, pq

from rivet.errors import ColumnError, SourceError
from rivet.plan.schema import Column
from rivet.source.columns import kept_columns
from rivet.source.postgres.catalogue import Table, find_table, indexed_columns, primary_key
from rivet.source.postgres.connecting import driver_of, run_text
from rivet.source.postgres.errors import translated
from rivet.source.postgres.statements import query_item, quoted, table_item
from rivet.source.postgres.types import column_type
from rivet.source.protocol import Consistency, Relation, Request

_TYPES = """
SELECT format_type(d.oid, d.typmod), t.typname, t.typtype, t.typnamespace = 'pg_catalog'::regnamespace
FROM unnest(%(oids)s::oid[], %(typmods)s::int4[]) WITH ORDINALITY AS d(oid, typmod, place)
JOIN pg_catalog.pg_type t ON t.oid = d.oid
ORDER BY d.place
"""


@dataclass(frozen=True, slots=True)
class _Described:
    """The type of an output column as the server numbers it; a domain comes as its base type."""

    oid: int
    typmod: int


def describe(connection: sqlalchemy.Connection, request: Request) -> Relation:
    """Describe a table or query.

    Raises:
        SourceError: No such table or column, a query that is not one reading SELECT, repeated names.
        ColumnError: A column's type is not handled.
    """
    if request.query is not None:
        return _describe_query(connection, request.query, request.exclude)
    return _describe_table(connection, request.table or "", request.exclude)


def _describe_table(connection: sqlalchemy.Connection, text: str, exclude: Sequence[str]) -> Relation:
    def fetch(statement: str, parameters: dict[str, Any]) -> Sequence[Any]:
        return connection.exec_driver_sql(statement, parameters).all()

    with translated(f"cannot look up table {text!r}"):
        table = find_table(fetch, text)
        key, indexed = primary_key(fetch, table), indexed_columns(fetch, table)
    from_item = table_item(table.schema, table.name)
    doing = f"cannot describe table {str(table)!r}"
    described = _output(connection, f"SELECT * FROM {from_item}", doing)
    columns = _columns(connection, kept_columns(described, exclude), table)
    names = {c.name for c in columns}
    estimate, consistency, reason = _estimate(connection, from_item, doing)
    return Relation(
        from_item=from_item,
        columns=columns,
        table=str(table),
        primary_key=key if names.issuperset(key) else (),
        indexed=indexed & names,
        estimated_rows=estimate,
        consistency=consistency,
        consistency_reason=reason,
    )


def _describe_query(connection: sqlalchemy.Connection, text: str, exclude: Sequence[str]) -> Relation:
    # The tokenizer is heavy, and tables do not need it.
    from rivet.source.query import checked_query, query_sha256

    query = checked_query(text, "postgres")
    doing = "cannot describe the query"
    described = _output(connection, query, doing)
    columns = _columns(connection, kept_columns(described, exclude), None)
    from_item = query_item(query)
    estimate, consistency, reason = _estimate(connection, from_item, doing)
    return Relation(
        from_item=from_item,
        columns=columns,
        query_sha256=query_sha256(text),
        estimated_rows=estimate,
        consistency=consistency,
        consistency_reason=reason,
    )


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
    connection: sqlalchemy.Connection, described: Sequence[tuple[str, _Described]], table: Table | None
) -> tuple[Column, ...]:
    parameters = {"oids": [d.oid for _, d in described], "typmods": [d.typmod for _, d in described]}
    with translated("cannot look up the types of the columns"):
        types = connection.exec_driver_sql(_TYPES, parameters).all()
    columns = []
    for (name, output), (shown, typname, typtype, built_in) in zip(described, types, strict=True):
        kind = column_type(typname, typtype, output.typmod, built_in=built_in)
        if kind is None:
            cast = "to_json({0})::text" if typname.startswith("_") else "CAST({0} AS text)"
            hint = f"cast it in a query: SELECT …, {cast.format(quoted(name))} AS {quoted(name)} FROM …"
            if table is not None:
                hint += f", or leave it out: exclude: [{name}]"
            raise ColumnError(f"column {name!r} is {shown}, a type that is not handled yet", hint=hint)
        columns.append(Column(name, kind, shown))
    return tuple(columns)


def _estimate(
    connection: sqlalchemy.Connection, from_item: str, doing: str
) -> tuple[int | None, Consistency, str]:
    """Let the planner guess the rows, and say whether they all come from this server's snapshot."""
    with translated(doing):
        plan = explain(connection, f"SELECT 1 FROM {from_item}")
    if any(node["Node Type"] == "Foreign Scan" for node in nodes(plan)):
        reason = "it reads a foreign table, whose server has a snapshot of its own for each connection"
        return plan["Plan Rows"], Consistency.STATEMENT, reason
    return plan["Plan Rows"], Consistency.SNAPSHOT, ""


def explain(connection: sqlalchemy.Connection, statement: str) -> dict[str, Any]:
    """Give the root of a statement's plan."""
    document = run_text(connection, f"EXPLAIN (FORMAT JSON) {statement}").scalar_one()
    plan: dict[str, Any] = (json.loads(document) if isinstance(document, str) else document)[0]["Plan"]
    return plan


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """List a plan's nodes, parents before their children."""
    return [plan, *(node for child in plan.get("Plans", ()) for node in nodes(child))]
