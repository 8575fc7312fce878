"""Says where a layout would mislead a reader, or cost the source more than it need.

Pure. Each piece of advice is one line for people.
"""

from __future__ import annotations

from collections.abc import Sequence

from rivet.plan.layout import Layout
from rivet.plan.schema import Column, Kind


def key_advice(layout: Layout) -> list[str]:
    """Warn of a column that stands both in the path and in the files."""
    p = layout.partitioning
    if p is None or p.key.casefold() != p.column.casefold():
        return []
    advice = (
        f"column {p.column!r} stands both in the path and in the files: DuckDB shows the label instead of "
        "the value and pyarrow refuses the two types; set partition_key to another name, or read without "
        "hive partitioning"
    )
    return [advice]


def reader_advice(columns: Sequence[Column], layout: Layout) -> list[str]:
    """Warn of names and types that some readers take for something else."""
    lines = []
    if layout.partitioning is not None:
        if not layout.manifest_name.startswith("_"):
            lines.append(
                f"{layout.manifest_name} lies beside the data: readers that open whole folders may take it "
                "for data; set manifest_name: _manifest.json for them"
            )
        if layout.partitioning.axis.kind is Kind.TIMESTAMP:
            lines.append(
                f"column {layout.partitioning.column!r} has no zone: its values are taken as they are"
            )
    folded: dict[str, str] = {}
    for column in columns:
        other = folded.setdefault(column.name.casefold(), column.name)
        if other != column.name:
            lines.append(
                f"columns {other!r} and {column.name!r} differ only in case: some readers see only one"
            )
    return lines


def source_advice(
    column: Column | None, *, indexed: bool, table: str | None, primary_key: Sequence[str]
) -> list[str]:
    """Warn of what the source lacks."""
    lines = []
    if column is not None and not indexed:
        lines.append(
            f"no index leads with {column.name!r}: one scan reads the whole table, sorted by the server"
        )
    if table is not None and not primary_key:
        lines.append("no primary key: rows with equal dates may come in another order in another run")
    return lines
