"""Shares the scans of a plan among several connections, where the source asks for more than one.

Composition: the decisions are in `rivet.plan.sharing`, the questions go to the source's session.
"""

from __future__ import annotations

from dataclasses import replace

from rivet.config.settings import ExportSettings
from rivet.plan.scans import Reach, Sorter, largest_of
from rivet.plan.sharing import LEAST_ROWS, MOST_PASSES, at_once, heavy_share, shared_scans
from rivet.plan.ways import Choice, Way
from rivet.preparing.described import Described
from rivet.preparing.prepared import Prepared
from rivet.source.protocol import Session
from rivet.source.relation import Consistency
from rivet.wording import counted

_SHAREABLE = [(Reach.EVERYTHING, Sorter.RIVET)]


def must_count(export: ExportSettings, parallel: int, *, is_indexed: bool) -> bool:
    """Tell whether windows must be counted, since their rows are to be dealt out."""
    return parallel > 1 and is_indexed and export.scan == "auto" and export.chunks is None


def shared(session: Session, export: ExportSettings, prepared: Prepared, parallel: int) -> Prepared:
    """Cut the one scan of a plan into several that are read at once, or say why that is not done.

    Args:
        prepared: With its windows counted, where `must_count` says so.
        parallel: Connections that may read at once.
    """
    if parallel == 1:
        return prepared
    why = ""
    is_whole = [scan.reach for scan in prepared.scans] == [Reach.EVERYTHING]
    if is_whole or must_count(export, parallel, is_indexed=prepared.described.is_indexed):
        prepared, why = _cut(session, export, prepared, parallel)
    number = at_once(prepared.scans, parallel)
    if number > 1 and export.chunks is not None and not session.shares_moment:
        number, why = 1, "the chunks of a partition need one snapshot, which one connection has"
    ranges = 1
    if export.scan != "single" and [(s.reach, s.sorter) for s in prepared.scans] == _SHAREABLE:
        ranges = max(1, len(session.blocks(prepared.described.relation, parallel)))
    why = "" if ranges > 1 else why + _why_unshared(session, export, prepared, parallel)
    told = [f"one scan at once, and {parallel} were asked for: {why}"] if why and number == 1 else []
    share = heavy_share(prepared.scans, number)
    if number > 1 and share is not None:
        told.append(
            f"one connection reads {share} % of the rows, all of one partition; a finer "
            "partition_granularity deals them out"
        )
    if number > 1 and not session.shares_moment:
        prepared = replace(prepared, described=_apart(prepared.described))
    return replace(prepared, at_once=number, block_ranges=ranges, advice=(*prepared.advice, *told))


def _why_unshared(session: Session, export: ExportSettings, prepared: Prepared, parallel: int) -> str:
    """Say why the blocks of a table are not shared, where they could be if Rivet sorted."""
    sorts_there = [(s.reach, s.sorter) for s in prepared.scans] == [(Reach.EVERYTHING, Sorter.SOURCE)]
    if not (sorts_there and prepared.sort_bytes) or export.scan == "single":
        return ""
    if len(session.blocks(prepared.described.relation, parallel)) < 2:
        return ""
    because = "`sort: source`"
    if export.sort != "source":
        because = f"temporary files lack room for about {prepared.sort_bytes:,} bytes twice, see TMPDIR"
    return f", and its blocks are shared only where Rivet sorts: {because}"


def _apart(described: Described) -> Described:
    """Say of an export that each of its scans has a moment of its own."""
    reason = "source.parallel reads on several connections, each with a snapshot of its own"
    relation = replace(described.relation, consistency=Consistency.NONE, consistency_reason=reason)
    return replace(described, relation=relation)


def _cut(session: Session, export: ExportSettings, prepared: Prepared, parallel: int) -> tuple[Prepared, str]:
    """Cut a scan of everything, or give it back, and why it stays whole."""
    described, probe = prepared.described, prepared.probe
    relation, column = described.relation, described.column
    why, choice = _why_whole(export, prepared), prepared.choice
    if why or column is None:
        return prepared, why
    scans = shared_scans(
        prepared.counts or (),
        probe.null_partition_rows,
        parallel=parallel,
        max_scan_rows=choice.max_scan_rows if choice.way is Way.BOUNDED else export.max_scan_rows,
        selection=prepared.selection,
    )
    if len(scans) == 1:
        return prepared, "all rows are of one partition, which one connection reads"
    largest = largest_of(scans)
    passes = session.passes(relation, column, largest) * probe.rows / max(1, largest.expected_rows or 0)
    if passes > MOST_PASSES:
        return prepared, (
            f"the table does not lie in the order of {column.name!r}, and {counted(len(scans), 'scan')} by "
            f"its index would read it about {passes:.0f} times"
        )
    sort_bytes = session.sort_bytes(relation, column, largest)
    if sort_bytes > export.max_sort_size_bytes:
        return prepared, f"each would have to sort about {sort_bytes:,} bytes, more than max_sort_size allows"
    told = f"{counted(parallel, 'connection')} may read at once, each by an index"
    choice = Choice(Way.BOUNDED, told, choice.max_scan_rows)
    return replace(prepared, scans=scans, sort_bytes=sort_bytes, choice=choice), ""


def _why_whole(export: ExportSettings, prepared: Prepared) -> str:
    """Say, before the planner is asked, why a scan is not cut; empty where it may be."""
    described, rows = prepared.described, prepared.probe.rows
    name = "" if described.column is None else described.column.name
    reasons = (
        (export.chunks is not None, "there is one chunk"),
        (described.column is None, "without partition_by all rows are one partition, read by one connection"),
        (not described.is_steady, f"several need a snapshot: {described.relation.consistency_reason}"),
        (export.scan == "single", "`scan: single`"),
        (rows < 2 * LEAST_ROWS, f"{counted(rows, 'row')} are not worth a second connection"),
        (not described.is_indexed, f"no index leads with {name!r}: each scan would read the whole table"),
    )
    return next((why for holds, why in reasons if holds), "")
