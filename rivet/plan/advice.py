"""Says where a layout would mislead a reader, or cost the source more than it need.

Pure. Each piece of advice is one line for people.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence

from rivet.plan.layout import Layout
from rivet.plan.readers import hides_values
from rivet.plan.schema import MAX_DECIMAL_DIGITS, Column, Fidelity, Kind

_DECIMAL = re.compile(r"(?:numeric|decimal|number)\b(?:\((\d+)(?:,\s*(-?\d+))?)?(?!.*\[\])", re.IGNORECASE)
_USUAL_SCALE = 9


def key_advice(layout: Layout) -> list[str]:
    """Warn of a column that stands both in the path and in the files, and of a zone that changes nothing."""
    p = layout.partitioning
    if p is None:
        return []
    lines = []
    if p.axis.timezone is None and p.axis.zone != "UTC":
        lines.append(
            f"column {p.column!r} holds no instants: its values are taken as they are, and "
            f"partition_timezone: {p.axis.zone} changes nothing"
        )
    if hides_values(p):
        lines.append(
            f"column {p.column!r} stands both in the path and in the files: DuckDB and Spark show the label "
            "instead of the value; set partition_key to another name, or read without hive partitioning"
        )
    return lines


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

    Args:
        chosen: Columns whose type the user states himself, as he wrote them.
    """
    folded = {name.casefold() for name in chosen}
    lines = []
    for column in columns:
        match = _DECIMAL.match(column.source_type)
        is_text = column.fidelity is Fidelity.TEXT and column.type.kind is Kind.STRING
        if match is None or not is_text or column.name.casefold() in folded:
            continue
        if match[1] is None:
            why, scale = "comes without precision and scale", _USUAL_SCALE
        else:
            why = f"has more than the {MAX_DECIMAL_DIGITS} digits of a decimal"
            scale = min(max(int(match[2] or 0), 0), MAX_DECIMAL_DIGITS)
        wanted = f'"decimal({MAX_DECIMAL_DIGITS},{scale})"'
        lines.append(
            f"column {column.name!r} ({column.source_type}) {why}, so it is exact text; for numbers write "
            f"columns: {{{json.dumps(column.name, ensure_ascii=False)}: {wanted}}}, with digits that "
            "hold every value, or cast it in a query"
        )
    return lines


def source_advice(
    column: Column | None, *, indexed: bool, table: str | None, primary_key: Sequence[str]
) -> list[str]:
    """Warn of what the source lacks."""
    lines = []
    if column is not None and not indexed:
        lines.append(
            f"no index leads with {column.name!r}: one scan reads the whole table, sorted at the source"
        )
    if table is not None and not primary_key:
        lines.append("no primary key: rows with equal dates may come in another order in another run")
    return lines
