"""What `plan` and `check` found out, for people: facts of each export, partitions or columns, warnings.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rivet.errors import Problem
from rivet.outcome import PlanOutcome
from rivet.plan.estimate import Estimate, order_told
from rivet.plan.scans import Sorter
from rivet.plan.schema import Fidelity
from rivet.plan.windows import NULL_VALUE, told_label
from rivet.report.errors import error_lines
from rivet.report.table import cut, table
from rivet.report.wording import by_column, one_line, rows_each, shared_by, size
from rivet.wording import counted

MAX_PARTITIONS = 60
_LOSSY = (
    "lossy: this type cannot hold every value of its source type; the run fails at the first value that it "
    "cannot hold, and rounds nothing"
)


def plan_lines(outcome: PlanOutcome) -> list[str]:
    """Show how an export would be read, and each partition with its expected rows and path."""
    lines = _facts(outcome)
    if outcome.partitions is not None:
        label = outcome.partition_key or "partition"
        is_chunked = any(p.chunks is not None for p in outcome.partitions)
        rows = [
            (
                _label(p.value, outcome),
                "unknown" if p.expected_rows is None else f"{p.expected_rows:,}",
                *([f"{p.chunks or 0:,}"] if is_chunked else []),
                p.path,
            )
            for p in outcome.partitions
        ]
        header = (label, "expected rows", *(["chunks"] if is_chunked else []), "path")
        shown = cut(
            table(header, rows, numbers={1, 2} if is_chunked else {1}), MAX_PARTITIONS, "partition", header=1
        )
        lines += [f"  {line}" for line in shown]
    return lines + _warnings(outcome)


def check_lines(outcome: PlanOutcome) -> list[str]:
    """Show an export's columns, their types at the source and in the files, and what readers make of them."""
    lines = _facts(outcome)
    if outcome.columns:
        rows = [(c.name, c.source_type, str(c.type), c.fidelity.value) for c in outcome.columns]
        header = ("column", "source type", "Arrow type", "values")
        lines += [f"  {line}" for line in table(header, rows)]
        if any(c.fidelity is Fidelity.LOSSY for c in outcome.columns):
            lines.append(f"  {_LOSSY}")
    if outcome.readers is not None:
        lines += [
            f"  {line}" for line in table(("reader", "what it makes of this tree"), _readers(outcome.readers))
        ]
    return lines + _warnings(outcome)


def check_closing(outcomes: Sequence[PlanOutcome]) -> list[str]:
    """Say once what no check looks at; nothing where none came so far."""
    if all(outcome.error is not None for outcome in outcomes):
        return []
    return ["values were not checked: `rivet plan` counts rows, and the values that it can tell not to fit"]


def _readers(readers: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    said = {reader: lines or ("reads it as it is",) for reader, lines in readers.items()}
    return [("" if i else reader, line) for reader, lines in said.items() for i, line in enumerate(lines)]


def plan_error_lines(outcomes: Sequence[PlanOutcome]) -> list[str]:
    """Tell what stands against each export; empty where nothing does."""
    return error_lines([Problem(o.name, o.error, o.hint) for o in outcomes if o.error is not None])


def _facts(outcome: PlanOutcome) -> list[str]:
    facts: list[tuple[str, str]] = []
    if outcome.source:
        facts.append(("source", outcome.source))
    if outcome.columns:
        facts.append(("engine", f"{outcome.engine}, consistency {outcome.consistency}"))
        facts.append(("primary key", ", ".join(map(repr, outcome.primary_key)) or "none"))
    if outcome.partition_column is not None:
        zone = f" in {outcome.timezone}" if outcome.timezone else ""
        index = "an index leads with it" if outcome.indexed else "no index leads with it"
        facts.append(
            ("partitioned by", f"{outcome.partition_column!r}, {outcome.granularity}{zone}; {index}")
        )
    if outcome.rows is not None:
        facts.append(("rows", _rows(outcome)))
    if outcome.unrepresentable_rows:
        facts.append(("made NULL", by_column(outcome.unrepresentable_rows)))
    if outcome.partitions is not None:
        facts.append(("partitions", f"{len(outcome.partitions):,}"))
    if outcome.selected_by is not None:
        facts.append(("selected by", outcome.selected_by))
    if outcome.partitions_unread:
        facts.append(("left alone", counted(outcome.partitions_unread, "live partition")))
    if outcome.scans is not None:
        here = any(scan.sorter is Sorter.RIVET for scan in outcome.scans)
        where = "by Rivet, in temporary files" if here else "at the source"
        sort = f", sorting about {size(outcome.sort_bytes)} {where}" if outcome.sort_bytes else ""
        word = "chunk" if any(scan.chunk is not None for scan in outcome.scans) else "scan"
        rows = [scan.expected_rows or 0 for scan in outcome.scans]
        number = outcome.scans_at_once or 1
        each = rows_each((min(rows, default=0), max(rows, default=0)), number)
        each += f", over {number + 1} connections" if number > 1 else shared_by(outcome.block_ranges)
        facts.append(("read in", counted(len(outcome.scans), word) + each + sort))
    facts += _reasons(outcome)
    tried = ", where an object was written and removed" if outcome.writable else ""
    facts.append(("destination", outcome.destination + tried))
    width = max(len(name) for name, _ in facts)
    return [
        f"{one_line(outcome.name)}:",
        *(f"  {name:<{width}}  {one_line(value)}" for name, value in facts),
    ]


def _reasons(outcome: PlanOutcome) -> list[tuple[str, str]]:
    """Say why it is read so, and what the source thinks that it costs."""
    facts = []
    if outcome.choice is not None and outcome.choice.why:
        facts.append(("since", outcome.choice.why))
    if outcome.estimate is not None:
        facts.append(("estimate", _estimate(outcome.estimate, outcome.partition_column or "")))
    return facts


def _estimate(found: Estimate, column: str) -> str:
    """Say what the source's planner makes of the largest query, and how the table lies."""
    rows = "rows" if found.rows is None else f"about {counted(found.rows, 'row')}"
    ways = [
        f"all of {name}" if access.index is None else f"{name} by index {access.index!r}"
        for access in found.accesses
        for name in [repr(access.table) if access.table else "the table"]
    ]
    parts = [f"{rows} from {' and '.join(ways)}" if ways else rows]
    parts += [f"cost {found.cost:,.0f}"] if found.cost else []
    parts += [] if found.table_bytes is None else [f"{size(found.table_bytes)} in all"]
    order = order_told(found.correlation, column)
    return ", ".join([*parts, *([order] if order else [])])


def _rows(outcome: PlanOutcome) -> str:
    text = f"{outcome.rows:,}"
    if outcome.null_rows:
        text += f" ({outcome.null_rows:,} with NULL)"
    if outcome.minimum is not None:
        text += f", from {outcome.minimum} to {outcome.maximum}"
    return text


def _label(value: str | None, outcome: PlanOutcome) -> str:
    if outcome.partition_column is None:
        return "all rows"
    return told_label(value or NULL_VALUE)


def _warnings(outcome: PlanOutcome) -> list[str]:
    return [f"  warning: {one_line(w)}" for w in outcome.warnings]
