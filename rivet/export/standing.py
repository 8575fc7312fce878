"""Tells rows that a partition holds already from new ones, where the new ones alone are added to it.

Rows are told apart as a whole, or by a key and the cursor. Of each row that stands past the bound a digest of
16 bytes is kept, one partition after the other, so memory grows with these rows and not with the partition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rivet.errors import IntegrityError, ObjectNotFound, PlanError
from rivet.export.bits import bits_of
from rivet.export.cursor_values import cursor_values, reaches
from rivet.export.readable import WRITE_ANEW, ReadablePart
from rivet.plan.cursor import Cursor, CursorValue
from rivet.plan.layout import Partition

_BATCH_ROWS = 65_536


@dataclass(frozen=True, slots=True)
class Identity:
    """By what rows are told from each other.

    Attributes:
        columns: Names of all columns of the files; or of the key's and the cursor's.
        is_key: Whether they are a key's, which no two rows share.
        cursor: What tells when a row was changed; its columns are among these.
        since: The bound of the cursor, closed, past which rows are read.
        is_hidden: Whether NULL in the cursor's column may stand for a value that cannot be represented, by
            which the source counts a row as past the bound whatever the fallback says.
    """

    columns: tuple[str, ...]
    is_key: bool
    cursor: Cursor
    since: CursorValue
    is_hidden: bool = False


class Sieve:
    """Holds back the rows that stand already; of a table or a query that has the rows past a bound alone.

    Args:
        parts_of: Gives the parts of a partition that may hold rows past the bound.
        where: The place of the key in the config.
    """

    def __init__(
        self, identity: Identity, parts_of: Callable[[Partition], Sequence[ReadablePart]], where: str
    ) -> None:
        self._identity = identity
        self._parts_of = parts_of
        self._where = where
        self._path: str | None = None
        self._standing = Counter[bytes]()
        self._cursors: pa.Array | None = None

    def forget(self) -> None:
        """Take the partition under way as if none of its rows had come."""
        self._path = None

    def fresh(self, partition: Partition, rows: pa.RecordBatch) -> pa.BooleanArray | None:
        """Tell of each of the next rows of a partition whether it is new; None: all of them are.

        Raises:
            PlanError: Two rows have the key of one that stands, so that it does not tell them apart.
            IntegrityError: A part that stands cannot be read.
        """
        if self._path != partition.path:
            self._learn(partition)
            self._path = partition.path
        if self._cursors is None:
            return None
        # Most rows have a value of the cursor that no row has had before.
        may_stand = pc.is_in(cursor_values(rows, self._identity.cursor), value_set=self._cursors)
        if not may_stand.true_count:
            return None
        digests = _digests(rows.filter(may_stand), self._identity.columns)
        is_new = [not known or self._is_new(next(digests), partition) for known in may_stand.to_pylist()]
        return None if all(is_new) else pa.array(is_new, pa.bool_())

    def _learn(self, partition: Partition) -> None:
        self._standing = Counter()
        cursors: list[pa.Array] = []
        for part in self._parts_of(partition):
            for batch in _past(part, self._identity):
                self._standing.update(_digests(batch, self._identity.columns))
                cursors.append(pc.unique(cursor_values(batch, self._identity.cursor)))
        self._cursors = pa.concat_arrays(cursors).unique() if cursors else None

    def _is_new(self, digest: bytes, partition: Partition) -> bool:
        """Tell whether a row is new, given that each that stands is met by one row at most."""
        if digest not in self._standing:
            return True
        if self._standing[digest] > 0:
            self._standing[digest] -= 1
            return False
        if self._identity.is_key:
            names = ", ".join(map(repr, self._identity.columns))
            raise PlanError(
                f"{self._where}: several rows of partition {partition.path!r} have the same {names}, so that "
                "it does not tell rows apart",
                hint="name columns that no two rows share, or leave it out: whole rows are compared then",
            )
        return True


def _past(part: ReadablePart, identity: Identity) -> Iterator[pa.RecordBatch]:
    """Read the rows of a part that are not below the bound, or have no cursor."""
    cursor = identity.cursor
    names = [c.name for c in (cursor.column, cursor.fallback) if c is not None]
    try:
        with part.open() as opened:
            file = pq.ParquetFile(opened)
            for group in range(file.num_row_groups):
                told = file.read_row_group(group, columns=names)
                values = _in_one(cursor_values(told, cursor))
                wanted = pc.or_(pc.is_null(values), reaches(values, identity.since))
                if identity.is_hidden:
                    wanted = pc.or_(wanted, pc.is_null(_in_one(told.column(cursor.column.name))))
                if wanted.true_count:
                    rows = file.read_row_group(group, columns=list(identity.columns)).filter(wanted)
                    yield from rows.to_batches(_BATCH_ROWS)
    except (pa.ArrowException, ObjectNotFound) as error:
        raise IntegrityError(
            f"{part.name}: what stands cannot be read, so that new rows cannot be told from it",
            hint=WRITE_ANEW,
        ) from error


def _in_one(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _digests(rows: pa.RecordBatch, names: Sequence[str]) -> Iterator[bytes]:
    columns = [bits_of(rows.column(name)).to_pylist() for name in names]
    for row in zip(*columns, strict=True):
        yield blake2b(repr(row).encode("utf-8", "surrogatepass"), digest_size=16).digest()
