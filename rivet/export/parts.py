"""Writes the rows of one partition as Parquet parts, in row groups of sensible size."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rivet.export.cursor_values import RangeOfCursor
from rivet.export.row_groups import RowGroup
from rivet.export.staged import StagedFile, StagedPart
from rivet.manifest.model import Part
from rivet.plan.cursor import Cursor
from rivet.plan.windows import Axis

ROW_GROUP_ROWS = 131_072
ROW_GROUP_BYTES = 32 * 1024**2

_WRITE_BUFFER_BYTES = 1024**2

# A dictionary pays where values repeat; a sample of the part's first values tells.
_DICTIONARY_SAMPLE_VALUES = 1024
_DICTIONARY_MAX_SHARE = 0.125
# Of 128 different values that all come as often, 128 draws show about 81; of 256, about 101.
_FEW_VALUES = 128
_FEW_MAX_SHARE = 0.75

# The writer leaves values above 4 KiB out of the statistics, but takes several copies of them on the way:
# where a value is this long, its column has none.
_STATISTICS_MAX_VALUE_BYTES = 1024**2


@dataclass(frozen=True, slots=True)
class ParquetSettings:
    """How parts are written.

    Attributes:
        compression: The config's word.
        sorted_by: The partition column, by which the rows come ordered; None without one.
        axis: Its axis, or None likewise.
        is_sorted: The rows do come in its order; else each part tells its bounds all the same.
        cursor: Tells when a row was changed, and is told of each part, too; or None.
    """

    compression: str
    compression_level: int | None
    max_file_size_bytes: int
    sorted_by: str | None
    axis: Axis | None
    is_sorted: bool = True
    cursor: Cursor | None = None

    @property
    def row_group_bytes(self) -> int:
        """Give the most bytes of values in a row group: small enough to hold a part to its size."""
        return max(1, min(ROW_GROUP_BYTES, self.max_file_size_bytes // 2))

    def format(self, value: int | None) -> str | None:
        """Write a value of the partition column as JSON files hold it; None is NULL, or no value at all."""
        return None if self.axis is None or value is None else self.axis.format(value)


class PartitionWriter:
    """Writes row groups, in order, into as many parts as the file size asks for; used by one thread.

    Args:
        stage: Begins the staged file of a part, by number, and gives its name in the partition too.
        finish: Takes a part's file whose bytes are complete, to make it durable, now or on another thread.
    """

    def __init__(
        self,
        settings: ParquetSettings,
        stage: Callable[[int], tuple[str, StagedFile]],
        finish: Callable[[StagedFile], object],
    ) -> None:
        self._settings = settings
        self._stage = stage
        self._finish = finish
        self._parts: list[StagedPart] = []
        self._noted = 0
        self._open: _OpenPart | None = None

    def write(self, rows: RowGroup) -> None:
        """Write a row group."""
        if self._open is not None and not self._open.has_room(rows.size_bytes):
            self._end_part()
        table = rows.table()
        if self._open is None:
            name, file = self._stage(len(self._parts))
            self._open = _OpenPart(name, file, self._settings, table)
        self._open.write(table)

    def end_chunk(self) -> tuple[StagedPart, ...]:
        """End the part under way, and give the parts since this was last called."""
        self._end_part()
        ended, self._noted = tuple(self._parts[self._noted :]), len(self._parts)
        return ended

    def add(self, take: Callable[[int], StagedPart]) -> None:
        """Put a part behind the others that was written before; its number is given when it is taken."""
        self._end_part()
        self._parts.append(take(len(self._parts)))
        self._noted = len(self._parts)

    def close(self) -> tuple[StagedPart, ...]:
        """End the last part and give all of them; the row groups written are all in."""
        self._end_part()
        return tuple(self._parts)

    def _end_part(self) -> None:
        part, self._open = self._open, None
        if part is None:
            return
        part.close()
        self._finish(part.file)
        facts = Part(
            part_id=len(self._parts),
            path=part.name,
            row_count=part.rows,
            size_bytes=part.file.size_bytes,
            sha256=part.sha256.hexdigest(),
            minimum=self._settings.format(part.first),
            maximum=self._settings.format(part.last),
            extra={} if part.range is None else part.range.to_json(),
        )
        self._parts.append(StagedPart(facts, part.file, part.first, part.last))


class _OpenPart:
    """One Parquet file under way, digested as its bytes pass.

    Args:
        sample: Its first row group.
    """

    def __init__(self, name: str, file: StagedFile, settings: ParquetSettings, sample: pa.Table) -> None:
        self.name = name
        self.file = file
        self.rows = 0
        self.sha256 = hashlib.sha256()
        self.first: int | None = None
        self.last: int | None = None
        self._sorted_by = settings.sorted_by
        self._max_file_size_bytes = settings.max_file_size_bytes
        self.range = None if settings.cursor is None else RangeOfCursor(settings.cursor)
        # A Parquet writer writes many small pieces; gathered, they do not each wait for the interpreter.
        raw = pa.PythonFile(_DigestingSink(file, self.sha256), mode="w")
        self._sink = pa.BufferedOutputStream(raw, _WRITE_BUFFER_BYTES)
        self._is_sorted = settings.is_sorted
        is_told = settings.sorted_by is not None and settings.is_sorted
        sorted_by = [] if not is_told else [sample.schema.get_field_index(settings.sorted_by)]
        leaves = list(_leaves(sample))
        self._writer = pq.ParquetWriter(
            self._sink,
            sample.schema,
            compression=settings.compression,
            compression_level=settings.compression_level,
            use_dictionary=[path for path, values in leaves if _repeats(values)],
            write_statistics=[path for path, values in leaves if _are_short(values)],
            write_page_index=True,
            sorting_columns=[pq.SortingColumn(index) for index in sorted_by] or None,
        )

    def has_room(self, size_bytes: int) -> bool:
        """Tell whether a row group with so many bytes of values surely keeps the file within its size."""
        return bool(self._sink.tell() + size_bytes <= self._max_file_size_bytes)

    def write(self, table: pa.Table) -> None:
        """Append one row group."""
        if self._sorted_by is not None:
            self._note_bounds(table.column(self._sorted_by))
        if self.range is not None:
            self.range.note(table)
        self._writer.write_table(table, row_group_size=table.num_rows)
        self.rows += table.num_rows

    def _note_bounds(self, column: pa.ChunkedArray) -> None:
        if self._is_sorted:
            self.first = column[0].value if self.first is None else self.first
            self.last = column[-1].value
            return
        ends = pc.min_max(column)
        least, most = ends["min"].value, ends["max"].value
        if least is not None:
            self.first = least if self.first is None else min(self.first, least)
            self.last = most if self.last is None else max(self.last, most)

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()
        self._sink.close()


class _DigestingSink:
    """A file object that digests what passes on its way to the staged file."""

    closed = False

    def __init__(self, file: StagedFile, sha256: hashlib._Hash) -> None:
        self._file = file
        self._sha256 = sha256

    def write(self, data: memoryview) -> int:
        self._sha256.update(data)
        return self._file.write(data)

    def tell(self) -> int:
        return self._file.size_bytes

    def flush(self) -> None:
        """Do nothing: the staged file flushes when it is finished."""

    def close(self) -> None:
        """Do nothing: the staged file outlives the Parquet writer."""

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False


def _repeats(values: pa.Array) -> bool:
    """Tell whether values repeat so often that a dictionary pays; where they do not, a few mostly tell."""
    if pa.types.is_boolean(values.type):
        return False
    few = values[:_FEW_VALUES]
    if len(few) == _FEW_VALUES and len(few.unique()) > _FEW_VALUES * _FEW_MAX_SHARE:
        return False
    sample = values[:_DICTIONARY_SAMPLE_VALUES]
    return 0 < len(sample.unique()) <= len(sample) * _DICTIONARY_MAX_SHARE


def _are_short(values: pa.Array) -> bool:
    return (
        not (pa.types.is_string(values.type) or pa.types.is_binary(values.type))
        or values.nbytes <= _STATISTICS_MAX_VALUE_BYTES  # then none of them is longer
        or (pc.max(pc.binary_length(values)).as_py() or 0) <= _STATISTICS_MAX_VALUE_BYTES
    )


def _leaves(table: pa.Table) -> Iterator[tuple[str, pa.Array]]:
    """Yield the columns of values that a Parquet file has, by their paths: those of a list lie deeper."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        path, values = name, column.chunk(0)
        if pa.types.is_list(values.type):
            path, values = f"{name}.list.element", values.flatten()
        yield path, values.storage if isinstance(values, pa.ExtensionArray) else values
