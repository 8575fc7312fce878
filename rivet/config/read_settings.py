"""What settings say of how an export is read: types of columns, chunks, what has changed, which windows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Literal


@dataclass(frozen=True, slots=True)
class ColumnSettings:
    """The type that a column shall have, in the config's words.

    Attributes:
        type: One of the names that `columns` takes, such as `decimal`, `json`, `timestamp`.
        precision: Of a decimal, all its digits; else 0.
        scale: Of a decimal, those behind the point; else 0.
        unit: What epoch numbers count, or None.
    """

    type: str
    precision: int = 0
    scale: int = 0
    unit: Literal["s", "ms", "us", "ns"] | None = None


@dataclass(frozen=True, slots=True)
class ChunkSettings:
    """How `mode: chunked` cuts a partition: by ranges of a column, or by pages of a key.

    Attributes:
        column: The column of the ranges, or None.
        key: The columns of the key, or empty.
        size: The width of a range, as a number or a time; or the rows of a page; None: the count, or as
            pages come by default.
        count: The ranges of a partition, or None.
    """

    column: str | None
    key: tuple[str, ...]
    size: Decimal | timedelta | None
    count: int | None


@dataclass(frozen=True, slots=True)
class IncrementalSettings:
    """How `mode: incremental` finds what has changed.

    Attributes:
        cursor_column: What every insert and update advances.
        fallback_column: What counts where that is NULL, or None.
        lag: How far below the watermark rows are looked for, as a number or a time; or None.
        verify_counts: Whether the rows of all windows are counted at the source, too.
        strategy: Whether partitions with changed rows are written anew, or these rows are added to them.
        unique_key: Columns that no two rows share, by which `append` knows rows again; empty: by all.
    """

    cursor_column: str
    fallback_column: str | None = None
    lag: Decimal | timedelta | None = None
    verify_counts: bool = False
    strategy: Literal["rewrite", "append"] = "rewrite"
    unique_key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AskedWindows:
    """What the command line selects, in the user's own words.

    Attributes:
        since: The date at which the first window begins, or None.
        until: The date at which the last window ends, or None.
        partitions: Labels of windows, and `NULL`.
    """

    since: str | None = None
    until: str | None = None
    partitions: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Tell whether anything is selected."""
        return self.since is not None or self.until is not None or bool(self.partitions)


EVERY_WINDOW = AskedWindows()
