"""Says where a layout would mislead a reader, or cost the source more than it need.

Pure. Each piece of advice is one line for people.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence

from rivet.plan.cursor import Cursor
from rivet.plan.layout import Layout
from rivet.plan.readers import hides_values
from rivet.plan.schema import MAX_DECIMAL_DIGITS, Column, Fidelity, Kind

_DECIMAL = re.compile(r"(?:numeric|decimal|number)\b(?:\((\d+)(?:,\s*(-?\d+))?)?(?!.*\[\])", re.IGNORECASE)
_USUAL_SCALE = 9


def zone_advice(layout: Layout) -> list[str]:
    """Warn of a zone that changes nothing."""
    p = layout.partitioning
    if p is None or p.axis.timezone is not None or p.axis.zone == "UTC":
        return []
    taken = f"column {p.column!r} holds no instants: its values are taken as they are"
    return [f"{taken}, and partition_timezone: {p.axis.zone} changes nothing"]


def key_advice(layout: Layout) -> list[str]:
    """Warn of a column that stands both in the path and in the files, where readers would hide its values.

    What `readers` says of each of them says so too.
    """
    p = layout.partitioning
    if p is None or not hides_values(p):
        return []
    line = (
        f"column {p.column!r} stands both in the path and in the files: DuckDB and Spark show the label "
        "instead of the value; set partition_key to another name, or read without hive partitioning"
    )
    return [line]


def reader_advice(columns: Sequence[Column], layout: Layout) -> list[str]:
    """Warn of names and types that some readers take for something else."""
    lines = []
    if layout.partitioning is not None and layout.partitioning.axis.kind is Kind.TIMESTAMP:
        lines.append(f"column {layout.partitioning.column!r} has no zone: its values are taken as they are")
    folded: dict[str, str] = {}
    for column in columns:
        other = folded.setdefault(column.name.casefold(), column.name)
        if other != column.name:
            lines.append(
                f"columns {other!r} and {column.name!r} differ only in case: some readers see only one"
            )
    return lines


def type_advice(columns: Sequence[Column], chosen: Collection[str]) -> list[str]:
    """Say what makes numbers of decimals that come as text for want of a precision, or for too much of it.

    Columns of one type are told together.

    Args:
        chosen: Columns whose type the user states himself, as he wrote them.
    """
    folded = {name.casefold() for name in chosen}
    alike: dict[str, list[str]] = {}
    for column in columns:
        is_text = column.fidelity is Fidelity.TEXT and column.type.kind is Kind.STRING
        if is_text and column.name.casefold() not in folded and _DECIMAL.match(column.source_type):
            alike.setdefault(column.source_type, []).append(column.name)
    return [_decimals_as_text(source_type, names) for source_type, names in alike.items()]


def _decimals_as_text(source_type: str, names: Sequence[str]) -> str:
    match = _DECIMAL.match(source_type)
    if match is None or match[1] is None:
        why, scale = ("comes", "come"), _USUAL_SCALE
        what = "without precision and scale"
    else:
        why, scale = ("has", "have"), min(max(int(match[2] or 0), 0), MAX_DECIMAL_DIGITS)
        what = f"more than the {MAX_DECIMAL_DIGITS} digits of a decimal"
    wanted = f'"decimal({MAX_DECIMAL_DIGITS},{scale})"'
    asked = ", ".join(f"{json.dumps(name, ensure_ascii=False)}: {wanted}" for name in names)
    column, verb, it, they_are = (
        ("column", why[0], "it", "it is") if len(names) == 1 else ("columns", why[1], "them", "they are")
    )
    return (
        f"{column} {', '.join(map(repr, names))} ({source_type}) {verb} {what}, so {they_are} exact text; "
        f"for numbers write columns: {{{asked}}}, with digits that hold every value, or cast {it} in a query"
    )


def value_advice(columns: Sequence[Column], engine: str) -> list[str]:
    """Say of which columns no probe counts the values that would stop a run: lossy ones.

    SQLite's probe looks at every value; only the numbers between two floats it cannot tell.
    """
    unknown = [
        c
        for c in columns
        if c.fidelity is Fidelity.LOSSY and (engine != "sqlite" or c.type.kind is Kind.FLOAT32)
    ]
    if not unknown:
        return []
    named = ", ".join(f"{c.name!r} ({c.type})" for c in unknown)
    return [f"not counted here: values that do not fit {named}; a run stops at the first and names its row"]


def source_advice(
    column: Column | None, *, indexed: bool, table: str | None, primary_key: Sequence[str]
) -> list[str]:
    """Warn of what the source lacks.

    Args:
        column: The partition column, in whose order the rows are asked for; None where they are not.
    """
    lines = []
    if column is not None and not indexed:
        whole = "all rows of the query, which have" if table is None else "the whole table, which has"
        lines.append(f"no index leads with {column.name!r}: one scan reads {whole} to be sorted")
    if column is not None and table is not None and not primary_key:
        lines.append("no primary key: rows with equal dates may come in another order in another run")
    return lines


def cursor_advice(cursor: Cursor | None, indexed: Collection[str]) -> list[str]:
    """Warn of a cursor that no index serves.

    Args:
        indexed: Columns that lead an index.
    """
    columns = [] if cursor is None else [c for c in (cursor.column, cursor.fallback) if c is not None]
    lacking = [repr(column.name) for column in columns if column.name not in indexed]
    if not lacking:
        return []
    return [f"no index leads with {' nor with '.join(lacking)}: changes are looked for among all rows"]
