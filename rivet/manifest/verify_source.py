"""Compares what a tree claims with counts of its source, partition by partition.

Pure: counts are handed in, differences come out. Equal counts prove no equal rows, and other counts may only
say that the source has changed since (docs/manifest.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from rivet.manifest.claimed import Claimed, ClaimedPartition
from rivet.manifest.verdict import Code, Level
from rivet.wording import counted


@dataclass(frozen=True, slots=True)
class SourceCounts:
    """Rows at the source, all counted in one moment where the source gives one.

    Attributes:
        counted_at: When that was.
        rows: By the value of each partition that would hold any.
        unrepresentable_rows: Those whose partition value fits no calendar, where the config lets no run
            export them; they are in no partition.
    """

    counted_at: str
    rows: Mapping[str | None, int] = field(hash=False)
    unrepresentable_rows: int = 0


@dataclass(frozen=True, slots=True)
class Difference:
    """A partition that has not as many rows as its window at the source.

    Attributes:
        level: ERROR, or NOTE where the config wants it so.
        code: One of `Code`.
        value: The partition's label; None without `partition_by`, and for rows that are in no partition.
        path: Where it is or would be, from the validated prefix.
        tree_rows: None where the tree has no such partition.
        started_at: When its writing began; None likewise. Later runs may have found it unchanged.
    """

    level: Level
    code: str
    value: str | None
    path: str
    tree_rows: int | None
    source_rows: int
    started_at: str | None
    message: str

    @property
    def rows_too_many(self) -> int:
        """Give the rows that the tree has and the source has not; below zero, those that it has not."""
        return (self.tree_rows or 0) - self.source_rows


@dataclass(frozen=True, slots=True)
class Comparison:
    """The outcome of a comparison of one partition or one root with its source.

    Attributes:
        source: The database, for people.
        started_at: When the last run began; of one partition, when its writing began.
        counted_at: When the source was asked.
        partitions: How many were compared, in the tree or at the source.
        tree_rows: Rows of those in the tree, by their manifests.
        source_rows: All rows that were counted.
        differences: In the order of partitions, NULL last.
    """

    source: str
    started_at: str
    counted_at: str
    partitions: int
    tree_rows: int
    source_rows: int
    differences: tuple[Difference, ...] = ()

    @property
    def passed(self) -> bool:
        """Tell whether no difference is an error."""
        return all(d.level is not Level.ERROR for d in self.differences)


def compare_counts(
    claimed: Claimed,
    counts: SourceCounts,
    *,
    source: str,
    null_value: str,
    keeps_vanished: bool,
    adds_rows: bool = False,
    path_of: Callable[[str | None], str],
) -> Comparison:
    """Compare what a prefix claims with what the source has in the same windows.

    A partition whose manifest cannot be read is left out: the verdict of the tree says so.

    Args:
        source: Its label.
        null_value: The value of the NULL partition.
        keeps_vanished: Whether the config keeps partitions whose windows hold no rows any more.
        adds_rows: Whether it lets rows stand that were updated or deleted at the source, so that there may be
            more of them in the tree.
        path_of: Gives the path of a partition that the tree has not.
    """
    known = {p.value: p for p in claimed.partitions}
    unread = {value for value, p in known.items() if p.row_count is None}
    values = {*known, *counts.rows} - unread
    found: list[Difference] = []
    # Labels are of one width up to the year 9999, so that they sort as time does.
    for value in sorted(values, key=lambda v: (v == null_value, v or "")):
        rows = counts.rows.get(value, 0)
        partition = known.get(value)
        if partition is None:
            found.append(_not_exported(value, path_of(value), rows))
        elif partition.row_count != rows:
            found.append(_differing(partition, rows, keeps=keeps_vanished, adds=adds_rows))
    found += _unrepresentable(counts.unrepresentable_rows)
    return Comparison(
        source=source,
        started_at=claimed.started_at,
        counted_at=counts.counted_at,
        partitions=len(values),
        tree_rows=sum(p.row_count or 0 for p in known.values()),
        source_rows=sum(rows for value, rows in counts.rows.items() if value not in unread)
        + counts.unrepresentable_rows,
        differences=tuple(found),
    )


def _not_exported(value: str | None, path: str, rows: int) -> Difference:
    message = f"{counted(rows, 'row')} at the source, and the tree has no such partition"
    return Difference(Level.ERROR, Code.SOURCE_NOT_EXPORTED, value, path, None, rows, None, message)


def _differing(partition: ClaimedPartition, rows: int, *, keeps: bool, adds: bool) -> Difference:
    tree_rows = partition.row_count or 0
    held = f"{counted(tree_rows, 'row')} in the tree"
    level, code, message = Level.ERROR, Code.SOURCE_DIFFERS, f"{held}, and {rows:,} at the source"
    if not rows:
        code, message = Code.SOURCE_VANISHED, f"{held}, and none at the source"
        if partition.is_kept or keeps:
            level, message = Level.NOTE, f"{held}, which vanished: keep keeps, and none at the source"
    if adds and tree_rows > rows:
        level, message = Level.NOTE, f"{message}: strategy: append lets versions and deleted rows stand"
    return Difference(
        level, code, partition.value, partition.path, tree_rows, rows, partition.started_at, message
    )


def _unrepresentable(rows: int) -> Iterator[Difference]:
    if rows:
        message = (
            f"{counted(rows, 'row')} at the source whose partition value fits no calendar, which no run "
            "exports without unrepresentable: null"
        )
        yield Difference(Level.ERROR, Code.SOURCE_UNREPRESENTABLE, None, "", None, rows, None, message)
