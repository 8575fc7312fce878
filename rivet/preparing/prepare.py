"""Probes and plans one described export, in one session, without writing anything.

Composition: the decisions are in `rivet.plan`, the questions go to the source's session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from time import monotonic

from rivet.config.settings import ExportSettings
from rivet.errors import PlanError
from rivet.manifest.model import PartitionEntry
from rivet.plan.estimate import Estimate
from rivet.plan.pace import Pace, pace_of_last_run, pace_of_probe, pace_of_whole_run
from rivet.plan.scans import Reach, Scan, largest_of
from rivet.plan.schema import Column
from rivet.plan.selection import EVERYTHING, Selection
from rivet.plan.unrepresentable import nulled_columns
from rivet.plan.ways import Choice, Way
from rivet.preparing.chunked import Cutting
from rivet.preparing.described import Described
from rivet.preparing.prepared import Prepared
from rivet.preparing.windowed import Windowing
from rivet.publish.tree import Tree
from rivet.publish.vanished import decide_vanished, possibly_present
from rivet.source.protocol import Probe, Session
from rivet.source.relation import Relation


def prepare(
    session: Session,
    export: ExportSettings,
    described: Described,
    *,
    count: bool,
    selection: Selection = EVERYTHING,
    is_narrowed: bool = False,
    is_checked: bool = False,
    ask: Callable[[Relation, Column | None], Probe] | None = None,
    pace: Pace | None = None,
) -> Prepared:
    """Probe an export and plan its scans.

    The probe is of all rows of the relation, whatever is selected: its span tells a window that vanished from
    one that was purged (see `spanned` where the relation is narrowed).

    Args:
        count: Count every window, also where one scan would not need it.
        selection: The windows to read; everything without `partition_by`.
        is_narrowed: Whether the relation has the rows of these windows alone, or few others.
        is_checked: See the relation.
        ask: Finds what a probe does; None: the session.
        pace: How fast the source was read before; None: the probe tells.

    Raises:
        PlanError: There are values that their type cannot represent, too many partitions, or a sort too
            large.
        IntegrityError: The query gives other rows each time it runs.
    """
    column, axis = described.column, described.axis
    begun = monotonic()
    relation = replace(_may_be_null(described.relation, column, export), is_checked=is_checked)
    probe = (ask or session.probe)(relation, column)
    pace = pace or pace_of_probe(probe.rows, monotonic() - begun)
    nulled = nulled_columns(described.relation.columns, probe, export.unrepresentable)
    if nulled:
        described = replace(described, relation=replace(described.relation, nulled=nulled))
    expected = probe.rows if described.is_steady else None
    whole = Scan(Reach.EVERYTHING, expected_rows=expected)
    if export.chunks is not None:
        cutting = Cutting(session, export, export.chunks, described, probe)
        return _chunked(cutting, export, described, probe, selection)
    if column is None or axis is None:
        choice = Choice(Way.SINGLE, "it has no partition column")
        return Prepared(described, probe, None, (whole,), 0, choice=choice)
    windowing = Windowing(
        session,
        export,
        described,
        probe,
        column=column,
        axis=axis,
        selection=selection,
        is_narrowed=is_narrowed,
        pace=pace,
    )
    return windowing.run(whole, count=count)


def _chunked(
    cutting: Cutting, export: ExportSettings, described: Described, probe: Probe, selection: Selection
) -> Prepared:
    counts = cutting.counts(selection)
    limit = export.max_partitions
    held = sum(selection.holds(c.window) for c in counts)
    if held > limit:
        raise PlanError(
            f"{export.where}.max_partitions: {held} windows that hold rows, and at most {limit} are allowed",
            hint="use a coarser partition_granularity, or raise max_partitions",
        )
    scans = cutting.scans()
    held_counts = None if described.axis is None else counts
    advice = tuple(cutting.advice(scans))
    choice = Choice(Way.CHUNKS, "`mode: chunked` asks for it")
    return Prepared(described, probe, held_counts, scans, 0, selection, advice, choice=choice)


def last_pace(export: ExportSettings, tree: Tree) -> Pace | None:
    """Give how fast the last run has read this export's source, where somebody wants to know."""
    last = tree.export
    if export.max_scan_seconds is None or last is None:
        return None
    pace = pace_of_last_run(last.extra, last.run_id)
    if pace is not None or last.source_rows is None or last.finished_at is None:
        return pace
    return pace_of_whole_run(last.source_rows, last.started_at, last.finished_at, last.run_id)


def estimated(session: Session, prepared: Prepared) -> Estimate | None:
    """Ask what the largest scan would cost, for people; None where nothing is read."""
    described = prepared.described
    if not prepared.scans:
        return None
    return session.estimate(described.relation, described.column, largest_of(prepared.scans))


def _may_be_null(relation: Relation, column: Column | None, export: ExportSettings) -> Relation:
    """Tell the probe that the partition column's unrepresentable values are NULL, if there are any."""
    if column is None or export.unrepresentable == "error":
        return relation
    return replace(relation, nulled=frozenset({column.name}))


def spanned(
    session: Session,
    export: ExportSettings,
    whole: Described,
    prepared: Prepared,
    entries: Iterable[PartitionEntry],
) -> Prepared:
    """Say of a plan for some windows alone that it is one, and where the source ends if that may matter.

    It does where a selected partition has no rows any more, and where empty windows become partitions. Where
    windows were not counted, all that are selected are known to hold rows.

    Args:
        whole: With the relation of all rows.
        entries: The live partitions of the tree.
    """
    axis, column = whole.axis, whole.column
    chosen = [e for e in entries if prepared.is_selected(e)]
    present = {e.path for e in chosen}
    if prepared.counts is not None:
        present = possibly_present(chosen, axis, prepared.probe, prepared.counts)
    matters = not export.skip_empty or not whole.is_steady or any(e.path not in present for e in chosen)
    span = session.span(whole.relation, column) if matters and column is not None else None
    return replace(prepared, is_narrowed=True, source_span=span)


def refuse_vanished(export: ExportSettings, prepared: Prepared, entries: Iterable[PartitionEntry]) -> None:
    """Refuse, before anything is read, what the probe alone shows to have vanished from a tree.

    Raises:
        PlanError: With labels, counts and the choices.
    """
    described, probe = prepared.described, prepared.probe
    if described.is_steady:
        entries = [e for e in entries if prepared.is_selected(e)]
        present = possibly_present(entries, described.axis, probe, prepared.counts)
        span = prepared.source_span if prepared.is_narrowed else probe.span
        decide_vanished(entries, present, policy=export.vanished, axis=described.axis, span=span)
