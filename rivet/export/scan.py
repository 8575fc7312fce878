"""Counts what comes through of an export, and proves that it is every row once."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from rivet.errors import ColumnError, IntegrityError
from rivet.plan.layout import Partition
from rivet.plan.windows import Axis
from rivet.source.protocol import Probe
from rivet.source.relation import Consistency
from rivet.wording import counted

_UNSTEADY = (
    "a query that gives other rows each time it runs (LIMIT without a total order, random(), now()) cannot "
    "be proved; otherwise run it again and report it"
)


@dataclass(slots=True)
class Account:
    """Rows that came through, as they are counted on the way, by as many threads as read scans.

    Attributes:
        rows: All of them.
        by_path: Rows of each partition, by its path.
        left_out: Paths of those that were read on the way to others, and are not written.
        span: Smallest and largest value of the partition column, both closed, or None.
        unrepresentable: Rows with NULL for a value that cannot be represented, by path and column, where
            there are any.
        failed: Partitions that could not be read while others were, and why, by their paths.
    """

    rows: int = 0
    by_path: dict[str, int] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)
    span: tuple[int, int] | None = None
    unrepresentable: dict[str, dict[str, int]] = field(default_factory=dict)
    failed: dict[str, tuple[Partition, ColumnError]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, path: str, rows: int, marked: Mapping[str, int]) -> None:
        """Count further rows of a partition, and, by column, those of them with an unrepresentable value."""
        with self._lock:
            self.rows += rows
            self.by_path[path] = self.by_path.get(path, 0) + rows
            if marked:
                counts = self.unrepresentable.setdefault(path, {})
                counts.update(Counter(counts) + Counter(marked))

    def forget(self, path: str) -> None:
        """Count no row of a partition that is not read to its end."""
        with self._lock:
            self.rows -= self.by_path.pop(path, 0)
            self.unrepresentable.pop(path, None)

    def widen(self, span: tuple[int, int] | None) -> None:
        """Take note of the smallest and the largest value of rows that came through, if they had any."""
        if span is None:
            return
        with self._lock:
            before = self.span or span
            self.span = min(before[0], span[0]), max(before[1], span[1])

    @property
    def written(self) -> dict[str, int]:
        """Give the rows of each partition that is written, by its path."""
        return {path: rows for path, rows in self.by_path.items() if path not in self.left_out}

    @property
    def unrepresentable_rows(self) -> Counter[str]:
        """Add up the unrepresentable values of each column, of all rows."""
        return _added_up(self.unrepresentable.values())

    @property
    def unrepresentable_rows_written(self) -> Counter[str]:
        """Add up the unrepresentable values of each column, of the partitions that are written."""
        return _added_up(counts for path, counts in self.unrepresentable.items() if path not in self.left_out)


@dataclass(frozen=True, slots=True)
class Shape:
    """What the batches of a scan hold, and what of it is written.

    Attributes:
        columns: The columns in order; after them come the markers of `nulled`, as `Batches` says.
        nulled: Those with a marker, in order.
        dropped: The one that is not written, or None.
    """

    columns: tuple[str, ...]
    nulled: tuple[str, ...] = ()
    dropped: str | None = None

    def rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Give a batch without its markers."""
        return batch.select(range(len(self.columns))) if self.nulled else batch

    def marked(self, batch: pa.RecordBatch, start: int, rows: int) -> dict[str, int]:
        """Count the marked rows among some rows of a batch, by column, where there are any."""
        markers = zip(self.nulled, batch.columns[len(self.columns) :], strict=True)
        counts = {name: marker.slice(start, rows).true_count for name, marker in markers}
        return {name: count for name, count in counts.items() if count}

    def written(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Give the columns that are written."""
        if self.dropped is None:
            return rows
        return rows.select([i for i, name in enumerate(self.columns) if name != self.dropped])


def prove(
    account: Account,
    probe: Probe,
    consistency: Consistency,
    *,
    axis: Axis | None,
    null_path: str | None,
    expected: Mapping[str, int] | None,
    whole: bool = True,
    of_one_moment: bool = True,
) -> None:
    """Compare what came through with what the probe counted in the same snapshot.

    Without a snapshot the probe saw another moment than the scan, whose own end and row count are then the
    proof, and nothing is compared here.

    Args:
        axis: Axis of the partition column, or None without one.
        null_path: Path of the NULL partition, or None without `partition_by`.
        expected: Rows of each partition by its path, where the probe counted them.
        whole: Whether every row of the source was to come through; else those of `expected`, in which the
            NULL partition then stands, too.
        of_one_moment: Whether all rows are of the snapshot; else their values may be others than the probe
            saw, and only their numbers are compared.

    Raises:
        IntegrityError: If any count differs.
    """
    if consistency is not Consistency.SNAPSHOT:
        return
    if not whole:
        _prove_part(account, probe if of_one_moment else None, expected or {})
        return
    if axis is not None and account.span != probe.span:
        seen, expected_span = (s and tuple(map(axis.format, s)) for s in (account.span, probe.span))
        raise IntegrityError(
            f"the export: values from and to {seen} came through, the probe saw {expected_span}",
            hint=_UNSTEADY,
        )
    agree("the export", account.rows, probe.rows, "the probe counted")
    came, probed = account.unrepresentable_rows, dict(probe.unrepresentable)
    for name in {**probed, **came}:
        what = f"column {name!r}, values that cannot be represented"
        agree(what, came[name], probed.get(name, 0), "the probe counted")
    if null_path is not None:
        agree(
            f"partition {null_path!r}",
            account.by_path.get(null_path, 0),
            probe.null_partition_rows,
            "the probe counted",
        )
    for path, rows in (expected or {}).items():
        agree(f"partition {path!r}", account.by_path.get(path, 0), rows, "the probe counted")


def prove_windows(account: Account, paths: Iterable[str], expected: Mapping[str, int]) -> None:
    """Compare windows that a scan has passed, before the others have come, where they were counted.

    Raises:
        IntegrityError: If a count differs.
    """
    for path in paths:
        if path in expected:
            agree(f"partition {path!r}", account.by_path.get(path, 0), expected[path], "the probe counted")


def _prove_part(account: Account, probe: Probe | None, expected: Mapping[str, int]) -> None:
    """Compare each window that was read, and that there was no other; with the probe some values, too."""
    for path in {**expected, **account.by_path}:
        rows, counted_rows = account.by_path.get(path, 0), expected.get(path, 0)
        agree(f"partition {path!r}", rows, counted_rows, "the probe counted")
    if probe is None:
        return
    probed = dict(probe.unrepresentable)
    for name, rows in account.unrepresentable_rows.items():
        if rows > probed.get(name, 0):
            what = f"column {name!r}, values that cannot be represented"
            agree(what, rows, probed.get(name, 0), "the probe counted")


def _added_up(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    total = Counter[str]()
    for one in counts:
        total.update(one)
    return total


def agree(what: str, seen: int, claimed: int, who: str) -> None:
    """Compare rows that came through with those that somebody counted.

    Raises:
        IntegrityError: They differ.
    """
    if seen != claimed:
        raise IntegrityError(
            f"{what}: {counted(seen, 'row')} came through, {who} {claimed:,}",
            hint=_UNSTEADY,
        )
