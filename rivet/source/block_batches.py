"""The rows of one scan that a server sends in blocks, decoded in the consumer's thread."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rivet.source.pipe import BlockStream

if TYPE_CHECKING:
    import pyarrow as pa


class BlockBatches(ABC):
    """See the protocol of batches; an engine says how its stream begins, is decoded and ends."""

    def __init__(self, translated: Callable[[str], AbstractContextManager[None]]) -> None:
        self._translated = translated
        self._stream: BlockStream | None = None
        self._server_rows: int | None = None

    def __enter__(self) -> Self:
        self._stream = self._begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stream is not None:
            self._end(self._stream)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        if self._stream is None:
            raise RuntimeError("batches are read inside their context")
        blocks = iter(self._stream)
        while True:
            with self._translated("the source failed while it was read"):
                block = next(blocks, None)
            if block is None:
                break
            batch = self._decode(block)
            if batch.num_rows:
                yield batch
        self._server_rows = self._stream.rows

    @property
    def server_rows(self) -> int:
        """Give what the server itself said at the end of the data."""
        if self._server_rows is None:
            raise RuntimeError("the rows are counted only once all batches were read")
        return self._server_rows

    @property
    def _is_complete(self) -> bool:
        return self._server_rows is not None

    @abstractmethod
    def _begin(self) -> BlockStream:
        """Start the query."""

    @abstractmethod
    def _decode(self, block: bytes) -> pa.RecordBatch:
        """Make a batch of a block of whole rows."""

    @abstractmethod
    def _end(self, stream: BlockStream) -> None:
        """Leave the stream, and stop the query unless it is complete."""
