"""The watermark of an incremental export, as its tree holds it.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rivet.plan.cursor import Cursor, CursorValue, cursor_text, cursor_value
from rivet.plan.schema import Kind

KEY = "watermark"


@dataclass(frozen=True, slots=True)
class Watermark:
    """Up to where a tree holds what has changed.

    Attributes:
        column: The cursor's name.
        fallback_column: The name of what stands in for it, or None.
        kind: Of its values.
        value: The highest one that was seen and was not in the future.
        adds: Whether rows were added to the tree, which may hold versions, and rows that are no more.
    """

    column: str
    fallback_column: str | None
    kind: Kind
    value: CursorValue
    adds: bool = False

    @classmethod
    def of(
        cls,
        cursor: Cursor,
        before: CursorValue | None,
        highest: CursorValue | None,
        *,
        adds: bool = False,
    ) -> Watermark | None:
        """Give the watermark of a run: it never goes back; None where no value was seen ever."""
        known = [value for value in (before, highest) if value is not None]
        fallback = None if cursor.fallback is None else cursor.fallback.name
        return cls(cursor.column.name, fallback, cursor.kind, max(known), adds) if known else None

    @property
    def text(self) -> str:
        """Write the value with all its digits."""
        return cursor_text(self.value, self.kind)

    def is_of(self, cursor: Cursor) -> bool:
        """Tell whether it is a watermark of this cursor."""
        fallback = None if cursor.fallback is None else cursor.fallback.name
        return (self.column, self.fallback_column, self.kind) == (cursor.column.name, fallback, cursor.kind)

    def with_value(self, value: CursorValue) -> Watermark:
        """Give the watermark with another value."""
        return replace(self, value=value)

    def to_json(self) -> dict[str, object]:
        """Write it as manifests and export files hold it."""
        fallback = {} if self.fallback_column is None else {"fallback_column": self.fallback_column}
        strategy = {"strategy": "append"} if self.adds else {}
        return {"column": self.column, **fallback, "type": self.kind.value, "value": self.text, **strategy}


def read_watermark(extra: Mapping[str, object]) -> Watermark | None:
    """Read the watermark among the further keys of an export file; None where there is none that is whole.

    >>> read_watermark({"watermark": {"column": "n", "type": "int64", "value": "7"}}).value
    7
    >>> read_watermark({"watermark": {"column": "n", "type": "int64", "value": "seven"}}) is None
    True
    """
    found = extra.get(KEY)
    if not isinstance(found, Mapping):
        return None
    column, fallback, kind, text = (found.get(k) for k in ("column", "fallback_column", "type", "value"))
    if not (isinstance(column, str) and isinstance(text, str) and isinstance(fallback, str | None)):
        return None
    if kind not in set(Kind):
        return None
    value = cursor_value(text, Kind(kind))
    adds = found.get("strategy") == "append"
    return None if value is None else Watermark(column, fallback, Kind(kind), value, adds)
