"""Turns blocks of CSV text, as a server renders it, into typed Arrow batches.

Pure. A block holds whole rows, each ended by a newline: `,` between values, quotes doubled, no header.
NULL is an empty unquoted value, empty text an empty quoted one. No Python object is made per value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from rivet.errors import ColumnError, SourceUnavailable
from rivet.plan.schema import Column, Fidelity, Kind
from rivet.source.arrow import arrow_type
from rivet.source.decoding import Decoder
from rivet.source.from_text import check_infinities, from_text
from rivet.source.misfit import Misfit, shown_value
from rivet.wording import counted

MAX_BLOCK_BYTES = 2**31 - 2  # the CSV reader counts bytes, and Arrow's strings their offsets, in 32 bits
_BOM = b"\xef\xbb\xbf"
_COLUMN_PROBLEM = re.compile(
    r"In CSV column #(\d+): (?:Row #(\d+): )?(?:CSV conversion error to [^:]*: )?(.*)", re.DOTALL
)
# Kinds that the CSV reader does not know, or only in another text, and kinds that it reads as bytes.
_READ_AS_TEXT = frozenset({Kind.LIST, Kind.DURATION, Kind.UUID, Kind.JSON})
_READ_AS_BYTES = frozenset({Kind.STRING, Kind.BINARY})


class CsvDecoder(Decoder):
    """Decode blocks of CSV; binary values are the bytes themselves. Any ASCII sign may be the quote."""

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        nulled: Sequence[str] = (),
        row_names: Sequence[str] = (),
        quote: str = '"',
    ) -> None:
        super().__init__(columns, nulled=nulled, row_names=row_names)
        self._texts = [i for i, c in enumerate(self._columns) if _is_read_as_text(c)]
        self._floats = self._of_kind(Kind.FLOAT32, Kind.FLOAT64)
        self._decimals = self._of_kind(Kind.DECIMAL)
        # By position: names may repeat after a reader's folding, and the schema is put on at the end.
        self._names = [str(i) for i in range(len(self._columns))]
        types = [pa.string() if i in self._texts else t for i, t in enumerate(self.schema.types)]
        self._options = _convert_options(dict(zip(self._names, types, strict=True)))
        self._parse_options = pacsv.ParseOptions(
            quote_char=quote,
            newlines_in_values=True,
            ignore_empty_lines=False,  # with one column, an empty line is a NULL row
        )

    def _decoded(self, block: bytes) -> pa.RecordBatch:
        if not block.endswith(b"\n"):
            raise SourceUnavailable("the server's data ended inside a row")
        if len(block) > MAX_BLOCK_BYTES:
            raise ColumnError(
                f"a row takes {len(block)} bytes as text, expected at most {MAX_BLOCK_BYTES}",
                hint="leave its largest column out, or cut it in the query",
            )
        try:
            table = self._read(block, self._options)
        except pa.ArrowInvalid as exc:
            raise self._problem(exc) from exc
        arrays = [_one_chunk(column) for column in table.columns]
        for index in self._floats:
            self._check_infinities(block, index, arrays[index])
        for index in self._decimals:
            self._check_precision(index, arrays[index])
        for index in self._texts:
            arrays[index] = self._typed(index, arrays[index])
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _shown(self, block: bytes, row: int, indexes: Sequence[int]) -> list[str | None]:
        names = [self._names[i] for i in indexes]
        table = self._read(block, _convert_options(dict.fromkeys(names, pa.binary()), names))
        values = (column[row].as_py() for column in table.columns)
        return [_shown(self._columns[i], value) for i, value in zip(indexes, values, strict=True)]

    def _of_kind(self, *kinds: Kind) -> list[int]:
        return [i for i, c in enumerate(self._columns) if c.type.kind in kinds and i not in self._texts]

    def _read(self, block: bytes, options: pacsv.ConvertOptions) -> pa.Table:
        if block.startswith(_BOM):
            block = _BOM + block  # the reader takes one away, but here it is the text of the first value
        return pacsv.read_csv(
            pa.BufferReader(block),
            # A block above the input's length: a row may be of any size, and the result is one chunk.
            read_options=pacsv.ReadOptions(
                column_names=self._names, block_size=len(block) + 1, use_threads=False
            ),
            parse_options=self._parse_options,
            convert_options=options,
        )

    def _check_infinities(self, block: bytes, index: int, values: pa.Array) -> None:
        """Refuse an infinity that the text does not say: the reader makes one of what is too large."""
        if pc.any(pc.is_inf(values)).as_py():
            name = self._names[index]
            texts = self._read(block, _convert_options({name: pa.string()}, [name])).column(0)
            wanted = arrow_type(self._columns[index].type)
            self._converted(
                index, lambda texts: check_infinities(texts.cast(wanted), texts), _one_chunk(texts)
            )

    def _typed(self, index: int, texts: pa.Array) -> pa.Array:
        column = self._columns[index]
        is_free = column.fidelity is Fidelity.LOSSY
        return self._converted(index, lambda texts: from_text(texts, column.type, is_free=is_free), texts)

    def _check_precision(self, index: int, values: pa.Array) -> None:
        """Refuse a value of more digits than the type has: the reader lets it pass."""
        self._converted(index, lambda values: values.validate(full=True), values)

    def _problem(self, error: pa.ArrowInvalid) -> Misfit | SourceUnavailable:
        match = _COLUMN_PROBLEM.match(str(error))
        if match is None:
            # The reader quotes the whole row here, which is no one's to read in a log.
            return SourceUnavailable(
                f"the server sent a row that has not the {counted(len(self._columns), 'column')} described"
            )
        row = None if match[2] is None else int(match[2]) - 1
        return Misfit(int(match[1]), match[3], row)


def _shown(column: Column, value: bytes | None) -> str | None:
    if value is None:
        return None
    is_binary = column.type.kind is Kind.BINARY
    return shown_value(column, "0x" + value.hex() if is_binary else value.decode(errors="backslashreplace"))


def _is_read_as_text(column: Column) -> bool:
    """Tell whether a column is read as text first: of any text, the reader takes `0x10` for a number."""
    kind = column.type.kind
    return kind in _READ_AS_TEXT or (column.fidelity is Fidelity.LOSSY and kind not in _READ_AS_BYTES)


def _convert_options(types: dict[str, pa.DataType], include: list[str] | None = None) -> pacsv.ConvertOptions:
    return pacsv.ConvertOptions(
        column_types=types,
        include_columns=include,
        # Only an empty unquoted value is NULL; the reader's own list would take NaN and the word NULL.
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        true_values=["t", "1"],
        false_values=["f", "0"],
    )


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
