"""Which values of the cursor a part holds, as its manifest says, in `strategy: append`.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rivet.plan.cursor import CursorValue, cursor_text, cursor_value
from rivet.plan.schema import Kind
from rivet.plan.watermark import KEY


@dataclass(frozen=True, slots=True)
class CursorRange:
    """The values of the cursor in one part.

    Attributes:
        minimum: The least one, or None where no row has a value.
        maximum: The greatest one, closed, likewise; it may lie in the future.
        null_rows: Rows without a value, whose fallback has none either.
    """

    minimum: CursorValue | None
    maximum: CursorValue | None
    null_rows: int = 0

    def may_hold(self, since: CursorValue) -> bool:
        """Tell whether a row may be not below a bound, or have no value.

        >>> CursorRange(1, 7).may_hold(7), CursorRange(1, 7).may_hold(8), CursorRange(1, 7, 1).may_hold(8)
        (True, False, True)
        """
        return self.null_rows > 0 or (self.maximum is not None and self.maximum >= since)

    def to_json(self, kind: Kind) -> dict[str, object]:
        """Write it as a further key of a part, with all digits of the values.

        >>> CursorRange(1, 7).to_json(Kind.INT64)
        {'watermark': {'minimum': '1', 'maximum': '7'}}
        """
        ends = (self.minimum, self.maximum)
        texts = [None if end is None else cursor_text(end, kind) for end in ends]
        nulls = {"null_rows": self.null_rows} if self.null_rows else {}
        return {KEY: {"minimum": texts[0], "maximum": texts[1], **nulls}}


def read_range(extra: Mapping[str, object], kind: Kind) -> CursorRange | None:
    """Read the range among the further keys of a part; None where there is none that is whole.

    >>> read_range({"watermark": {"minimum": "1", "maximum": "7"}}, Kind.INT64)
    CursorRange(minimum=1, maximum=7, null_rows=0)
    >>> read_range({"watermark": {"minimum": "1", "maximum": "x"}}, Kind.INT64) is None
    True
    """
    found = extra.get(KEY)
    if not isinstance(found, Mapping):
        return None
    nulls = found.get("null_rows", 0)
    ends: list[CursorValue | None] = []
    for key in ("minimum", "maximum"):
        text = found.get(key)
        value = cursor_value(text, kind) if isinstance(text, str) else None
        if value is None and text is not None:
            return None
        ends.append(value)
    if not isinstance(nulls, int) or (None in ends and (ends != [None, None] or nulls <= 0)):
        return None
    return CursorRange(ends[0], ends[1], nulls)
