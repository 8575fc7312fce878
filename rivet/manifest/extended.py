"""Makes the manifest of a partition to which parts were added.

Pure.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from rivet.manifest.model import Manifest


def extended(standing: Manifest, added: Manifest) -> Manifest:
    """Give the manifest of all parts: those that stand, as they are, and behind them those that were added.

    Args:
        added: As if its parts were all; what it says of the run, the settings and the source is kept.
    """
    first = 1 + max((part.part_id for part in standing.parts), default=-1)
    parts = tuple(replace(part, part_id=first + n) for n, part in enumerate(added.parts))
    unfit = Counter(standing.unrepresentable_rows) + Counter(added.unrepresentable_rows)
    return replace(
        added,
        source=replace(added.source, consistency="none"),
        row_count=standing.row_count + added.row_count,
        size_bytes=standing.size_bytes + added.size_bytes,
        parts=(*standing.parts, *parts),
        unrepresentable_rows=dict(unfit),
    )
