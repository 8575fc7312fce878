"""Runs the scans of an export into a stager, and proves that every row came through once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from rivet.errors import IntegrityError
from rivet.export.split import Splitter
from rivet.plan.layout import Partition
from rivet.plan.scans import Scan
from rivet.plan.windows import Axis, Window
from rivet.source.protocol import Batches, Consistency, Probe

_UNSTEADY = (
    "a query that gives other rows each time it runs (LIMIT without a total order, random(), now()) cannot "
    "be proved; otherwise run it again and report it"
)


class RowTaker(Protocol):
    """What takes the rows: the stager."""

    def write(self, partition: Partition, rows: pa.RecordBatch) -> None:
        """Take the next rows of a partition."""

    def end_partition(self) -> None:
        """End the partition under way."""


@dataclass(slots=True)
class Account:
    """Rows that came through, as they are counted on the way.

    Attributes:
        rows: All of them.
        by_path: Rows of each partition, by its path.
        span: Smallest and largest value of the partition column, both closed, or None.
    """

    rows: int = 0
    by_path: dict[str, int] = field(default_factory=dict)
    span: tuple[int, int] | None = None


def run_scans(
    scans: Sequence[Scan],
    read: Callable[[Scan], Batches],
    taker: RowTaker,
    *,
    axis: Axis | None,
    column: str | None,
    partition_of: Callable[[Window | None], Partition],
    on_rows: Callable[[int], None],
    on_passed: Callable[[], None],
) -> Account:
    """Read all scans in order, cut them into partitions, and hand the rows to the taker.

    Args:
        on_rows: Told the rows so far, after each batch.
        on_passed: Told whenever the scan has passed a partition, which has then ended in the taker.

    Raises:
        IntegrityError: A scan's rows are not those that the server said it sent, or that the probe
            counted; or the order went back.
    """
    account = Account()
    splitter = None if axis is None or column is None else Splitter(axis, column)
    current: str | None = None
    for number, scan in enumerate(scans):
        before = account.rows
        with read(scan) as batches:
            for batch in batches:
                runs = [(None, batch)] if splitter is None else splitter.split(batch)
                for window, rows in runs:
                    partition = partition_of(window)
                    if current is not None and partition.path != current:
                        taker.end_partition()
                        on_passed()
                    current = partition.path
                    account.rows += rows.num_rows
                    account.by_path[partition.path] = account.by_path.get(partition.path, 0) + rows.num_rows
                    taker.write(partition, rows)
                on_rows(account.rows)
            sent = batches.server_rows
        _agree(f"scan {number + 1} of {len(scans)}", account.rows - before, sent, "the server says it sent")
        if scan.expected_rows is not None:
            _agree(f"scan {number + 1} of {len(scans)}", sent, scan.expected_rows, "the probe counted")
    taker.end_partition()
    account.span = None if splitter is None else splitter.span
    return account


def prove(
    account: Account,
    probe: Probe,
    consistency: Consistency,
    *,
    axis: Axis | None,
    null_path: str | None,
    expected: Mapping[str, int] | None,
) -> None:
    """Compare what came through with what the probe counted in the same snapshot.

    Without a snapshot the probe saw another moment than the scan, whose own end and row count are then the
    proof, and nothing is compared here.

    Args:
        axis: Axis of the partition column, or None without one.
        null_path: Path of the NULL partition, or None without `partition_by`.
        expected: Rows of each partition by its path, where the probe counted them.

    Raises:
        IntegrityError: If any count differs.
    """
    if consistency is not Consistency.SNAPSHOT:
        return
    if axis is not None and account.span != probe.span:
        seen, probed = (s and tuple(map(axis.format, s)) for s in (account.span, probe.span))
        raise IntegrityError(
            f"the export: values from and to {seen} came through, the probe saw {probed}", hint=_UNSTEADY
        )
    _agree("the export", account.rows, probe.rows, "the probe counted")
    if null_path is not None:
        _agree(
            f"partition {null_path!r}",
            account.by_path.get(null_path, 0),
            probe.null_rows,
            "the probe counted",
        )
    for path, rows in (expected or {}).items():
        _agree(f"partition {path!r}", account.by_path.get(path, 0), rows, "the probe counted")


def _agree(what: str, seen: int, claimed: int, who: str) -> None:
    if seen != claimed:
        raise IntegrityError(
            f"{what}: {seen} rows came through, {who} {claimed}",
            hint=_UNSTEADY,
        )
