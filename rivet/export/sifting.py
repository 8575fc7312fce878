"""Lets new rows alone pass on to a stager, where they are added to what stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import MutableMapping
from dataclasses import dataclass

import pyarrow as pa

from rivet.export.passing import RowTaker
from rivet.export.scan import Shape
from rivet.export.standing import Sieve
from rivet.plan.layout import Partition


@dataclass(frozen=True, slots=True)
class MarkedShape(Shape):
    """A shape whose rows keep their markers, under names of their own, until they are sifted."""

    def rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Give a batch with its markers."""
        markers = [f"{name} is unrepresentable" for name in self.nulled]
        taken = set(self.columns)
        return batch.rename_columns([*self.columns, *(_not_among(name, taken) for name in markers)])

    def written(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Give rows as they are: what is sifted takes off what is not written."""
        return rows


class Sifted:
    """Takes rows in a `MarkedShape`, and hands on those that do not stand already; used by one thread.

    Args:
        shape: What is written of the rows.
        unrepresentable: Is told, by path, of the rows that are handed on.
    """

    def __init__(
        self,
        taker: RowTaker,
        sieve: Sieve,
        shape: Shape,
        unrepresentable: MutableMapping[str, Counter[str]],
    ) -> None:
        self._taker = taker
        self._sieve = sieve
        self._shape = shape
        self._unrepresentable = unrepresentable
        self._path: str | None = None

    def write(self, partition: Partition, rows: pa.RecordBatch) -> None:
        """Take the next rows of a partition."""
        self._path = partition.path
        is_new = self._sieve.fresh(partition, rows)
        rows = rows if is_new is None else rows.filter(is_new)
        if not rows.num_rows:
            return
        marked = self._shape.marked(rows, 0, rows.num_rows)
        if marked:
            self._unrepresentable.setdefault(partition.path, Counter()).update(marked)
        own = rows.select(range(len(self._shape.columns)))
        self._taker.write(partition, self._shape.written(own))

    def end_partition(self) -> None:
        """End the partition under way."""
        self._taker.end_partition()

    def drop_partition(self) -> None:
        """Forget the partition under way."""
        self._sieve.forget()
        self._unrepresentable.pop(self._path or "", None)
        self._taker.drop_partition()


def _not_among(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    taken.add(name)
    return name
