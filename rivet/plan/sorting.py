"""Decides who puts the rows of a scan in order: the source, or Rivet after it has read them.

Pure.
"""

from __future__ import annotations

from typing import Literal

from rivet.errors import PlanError
from rivet.plan.scans import Sorter

Wish = Literal["auto", "source", "rivet"]

# So many bytes Rivet sorts in memory, without a temporary file.
_IN_MEMORY_BYTES = 16 * 1024**2
_INDEX = "create an index that leads with the partition column"


def choose_sorter(
    wish: Wish, advised: Sorter, sort_bytes: int, *, free_bytes: int, max_sort_bytes: int
) -> Sorter | None:
    """Decide who sorts a scan; what comes in order nobody sorts. None: nobody may.

    A source is not asked to sort more than the limit. Temporary files are asked to hold twice the estimate,
    which may be wrong, unless the user wants them by name: then as much.

    Args:
        advised: Who does it faster with this source.
        sort_bytes: What there is to sort, by the source's estimate; 0: it comes in order.
        free_bytes: Room for temporary files.
        max_sort_bytes: The most that a source may be asked to sort.

    >>> GB = 10**9
    >>> for size, free in ((0, 0), (1 * GB, 10 * GB), (1 * GB, 1 * GB), (3 * GB, 10 * GB), (3 * GB, 4 * GB)):
    ...     who = choose_sorter("auto", Sorter.RIVET, size, free_bytes=free, max_sort_bytes=2 * GB)
    ...     print(who)
    source
    rivet
    source
    rivet
    None
    """
    if not sort_bytes:
        return Sorter.SOURCE
    at_source = Sorter.SOURCE if sort_bytes <= max_sort_bytes else None
    if wish == "source":
        return at_source
    room = max(free_bytes, _IN_MEMORY_BYTES)
    if wish == "rivet":
        return Sorter.RIVET if sort_bytes <= room else None
    here = Sorter.RIVET if sort_bytes <= max(free_bytes // 2, _IN_MEMORY_BYTES) else None
    return (here or at_source) if advised is Sorter.RIVET else (at_source or here)


def unsortable(where: str, wish: Wish, sort_bytes: int, *, free_bytes: int, max_sort_bytes: int) -> PlanError:
    """Word the refusal of a sort that nobody may do, with the mend.

    Args:
        where: The export's place in the config.
    """
    much = f"about {sort_bytes:,} bytes would have to be sorted"
    if wish == "rivet":
        return PlanError(
            f"{where}.sort: {much} in temporary files, where {free_bytes:,} are free",
            hint="make room there, name another directory with TMPDIR, or set `sort: source`",
        )
    limit = f"{where}.max_sort_size: {much}, and at most {max_sort_bytes:,} are allowed"
    if wish == "source":
        return PlanError(limit, hint=f"{_INDEX}, set `sort: auto`, or raise max_sort_size")
    room = f"temporary files want room for twice that, and {free_bytes:,} are free"
    return PlanError(
        f"{limit} at the source; {room}",
        hint=f"{_INDEX}, name a directory with room with TMPDIR, or raise max_sort_size",
    )
