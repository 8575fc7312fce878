"""Describes a table or a query without running it: the server prepares it and says what it would give."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy
import sqlalchemy.exc
from pymysql.constants import COMMAND
from pymysql.protocol import FieldDescriptorPacket

from rivet.errors import ColumnError, SourceError
from rivet.plan.schema import Column
from rivet.source.columns import kept_columns, made_by_name, resolved_overrides
from rivet.source.mysql.catalogue import Fetch, Table, TableColumn, find_table, keys_of, table_columns
from rivet.source.mysql.connecting import driver_of, run_text
from rivet.source.mysql.consistency import BaseTables, tables_of_query, tables_of_table
from rivet.source.mysql.errors import code_of, translated
from rivet.source.mysql.rendering import Rendering, rendering
from rivet.source.mysql.statements import MysqlRelation, made_once, quoted, table_item
from rivet.source.mysql.types import Described, SourceType, source_type, type_name
from rivet.source.query import checked_query, query_item, query_sha256
from rivet.source.relation import Consistency, Request

_UNKNOWN_ROW_BYTES = 256
_NO_EXPLAIN = 1345  # ER_VIEW_NO_EXPLAIN
_PREPARED = struct.Struct("<xIHH")  # status, number of the statement, columns, parameters


def describe(connection: sqlalchemy.Connection, database: str | None, request: Request) -> MysqlRelation:
    """Describe a table or query.

    Raises:
        SourceError: No such table or column, a query that is not one reading SELECT, repeated names.
        ColumnError: Types are not handled, or cannot become what the config asks for.
    """
    if request.query is not None:
        return _describe_query(connection, database, request.query, request)
    return _describe_table(connection, database, request.table or "", request)


def plan_of(connection: sqlalchemy.Connection, statement: str) -> list[dict[str, Any]]:
    """Give the lines of a statement's plan, by the names of their columns in lower case.

    There are none where the user may read a view, but not what lies under it.
    """
    try:
        # Newer servers have other forms by default.
        lines = run_text(connection, f"EXPLAIN FORMAT=TRADITIONAL {statement}")
    except sqlalchemy.exc.DBAPIError as exc:
        if exc.orig is not None and code_of(exc.orig) == _NO_EXPLAIN:
            return []
        raise
    return [{name.lower(): value for name, value in line.items()} for line in lines.mappings()]


def planned_rows(plan: Sequence[dict[str, Any]]) -> int | None:
    """Multiply the rows that each table of the outermost SELECT gives for one row of those before it."""
    if not plan:
        return None
    rows = 1
    for line in plan:
        if line["id"] == plan[0]["id"] and line["rows"] is not None:
            # MariaDB writes text, and beside a filter by a second index what is left: "48 (65%)".
            rows *= int(str(line["rows"]).split()[0])
    return rows


def _describe_table(
    connection: sqlalchemy.Connection, database: str | None, text: str, request: Request
) -> MysqlRelation:
    fetch = fetching(connection)
    with translated(f"cannot look up table {text!r}"):
        folds_case = fetch("SELECT @@lower_case_table_names")[0][0] != 0
        table = find_table(fetch, text, database, folds_case=folds_case)
        catalogued, keys = table_columns(fetch, table), keys_of(fetch, table)
    from_item = table_item(table.schema, table.name)
    doing = f"cannot describe table {str(table)!r}"
    with translated(doing):
        described = _output(connection, f"SELECT * FROM {from_item}", doing)
        kept = kept_columns(described, request.exclude)
        rows = (
            planned_rows(plan_of(connection, f"SELECT 1 FROM {from_item}")) if table.is_view else table.rows
        )
        base = tables_of_table(fetch, table)
    if base.is_per_look:
        from_item = made_once(from_item)
    rendered = rendered_columns(kept, catalogued, request, table)
    names = {c.name for c in rendered.columns}
    return MysqlRelation(
        from_item=from_item,
        columns=rendered.columns,
        table=str(table),
        primary_key=keys.primary if names.issuperset(keys.primary) else (),
        indexed=keys.indexed & names,
        indexes=keys.indexes,
        not_null=keys.not_null,
        estimated_rows=rows,
        consistency=_consistency(base),
        consistency_reason=base.reason,
        warnings=_invisible(table, catalogued, described),
        renderings=rendered.renderings,
        row_bytes=base.row_bytes or _UNKNOWN_ROW_BYTES,
    )


def _describe_query(
    connection: sqlalchemy.Connection, database: str | None, text: str, request: Request
) -> MysqlRelation:
    doing, fetch = "cannot describe the query", fetching(connection)
    with translated(doing):
        query = checked_query(text, "mysql", fetch("SELECT @@sql_mode")[0][0])
        from_item = query_item(query)
        kept_columns(_output(connection, query, doing), ())  # by itself, a query may repeat a name
        # In brackets, as it will be read, a column may have another type: NULL becomes a string of bytes.
        kept = kept_columns(_output(connection, f"SELECT * FROM {from_item}", doing), request.exclude)
        rows = planned_rows(plan_of(connection, f"SELECT 1 FROM {from_item}"))
        base = tables_of_query(fetch, query, database)
    if base.is_per_look:
        from_item = made_once(from_item)
    rendered = rendered_columns(kept, {}, request, None)
    return MysqlRelation(
        from_item=from_item,
        columns=rendered.columns,
        query_sha256=query_sha256(text),
        estimated_rows=rows,
        consistency=_consistency(base),
        consistency_reason=base.reason,
        renderings=rendered.renderings,
        row_bytes=base.row_bytes or _UNKNOWN_ROW_BYTES,
    )


def fetching(connection: sqlalchemy.Connection) -> Fetch:
    """Give what asks the catalogue on a connection."""

    def fetch(statement: str, parameters: tuple[str, ...] = ()) -> Sequence[Any]:
        return connection.exec_driver_sql(statement, parameters).all()

    return fetch


def _output(connection: sqlalchemy.Connection, statement: str, doing: str) -> list[tuple[str, Described]]:
    """Let the server prepare one statement, and list what it would give (COM_STMT_PREPARE in its protocol).

    The driver has no public way to it; to run the statement for no rows would not do, since a LIMIT of the
    user's own beats any other, and what stands in brackets may be computed all the same.
    """
    driver: Any = driver_of(connection)
    driver._execute_command(COMMAND.COM_STMT_PREPARE, statement)  # noqa: SLF001
    _, columns, parameters = _PREPARED.unpack_from(driver._read_packet().get_all_data())  # noqa: SLF001
    if parameters:
        raise SourceError(
            f"{doing}: it holds the parameter '?', for which there is no value", hint="write the value itself"
        )
    fields = [driver._read_packet(FieldDescriptorPacket) for _ in range(columns)]  # noqa: SLF001
    driver._read_packet()  # noqa: SLF001  the end of the list
    return [(f.name, Described(f.type_code, f.charsetnr, f.flags, f.length, f.scale)) for f in fields]


@dataclass(frozen=True, slots=True)
class Rendered:
    """The columns of a relation, and how each is rendered, by name."""

    columns: tuple[Column, ...]
    renderings: dict[str, Rendering]


def rendered_columns(
    described: Sequence[tuple[str, Described]],
    catalogued: Mapping[str, TableColumn],
    request: Request,
    table: Table | None,
) -> Rendered:
    """Say what columns become and how each is rendered.

    Args:
        catalogued: What the catalogue knows of a table's columns, by name; nothing of a query's.
        table: None for a query.

    Raises:
        ColumnError: Types are not handled, or cannot become what the config asks for.
    """
    outputs = dict(described)
    wanted = resolved_overrides(list(outputs), request.overrides)

    def source_of(name: str) -> SourceType:
        known, output = catalogued.get(name), outputs[name]
        shown = known.type_name if known is not None else type_name(output)
        source = source_type(output, shown, known.charset if known is not None else "")
        if source is None:
            hint = f"cast it in a query: SELECT …, CAST({quoted(name)} AS char) AS {quoted(name)} FROM …"
            if table is not None:
                hint += f", or leave it out: exclude: [{json.dumps(name, ensure_ascii=False)}]"
            raise ColumnError(f"column {name!r} is {shown}, a type that is not handled yet", hint=hint)
        return source

    sources = made_by_name(outputs, source_of)
    renderings = made_by_name(outputs, lambda name: rendering(name, sources[name], wanted.get(name)))
    columns = tuple(renderings[name].column(name, source) for name, source in sources.items())
    return Rendered(columns, renderings)


def _invisible(
    table: Table, catalogued: Mapping[str, TableColumn], described: Sequence[tuple[str, Described]]
) -> tuple[str, ...]:
    """Warn of columns that `SELECT *` leaves out (manuals, "Invisible Columns")."""
    shown = {name for name, _ in described}
    hidden = ", ".join(repr(name) for name in catalogued if name not in shown)
    warning = (
        f"table {str(table)!r} has invisible columns, which only a query that names them exports: {hidden}"
    )
    return (warning,) if hidden else ()


def _consistency(base: BaseTables) -> Consistency:
    return Consistency.STATEMENT if base.reason else Consistency.SNAPSHOT
