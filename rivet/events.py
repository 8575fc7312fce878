"""What a run tells while it is under way, as values; the cli prints them, the run does not.

Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened.

    Attributes:
        kind: A stable word for machines.
        export: The export's name, or None for the run as a whole.
        message: One line for people; empty for mere progress.
        facts: Numbers and words for machines, JSON types only. Those of progress: `rows` read, `of` so many;
            `uploaded_bytes`, 0 where nothing is far away; and, once publishing has begun, partitions
            `published` and `to_publish`.
    """

    kind: Literal["started", "waiting", "planned", "progress", "warning", "published", "finished", "failed"]
    export: str | None
    message: str
    facts: dict[str, object] = field(default_factory=dict)


Listener = Callable[[Event], None]
