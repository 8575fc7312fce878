"""Decides who puts the rows of a scan in order: the source, or Rivet after it has read them.

Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rivet.errors import PlanError
from rivet.plan.scans import Sorter

Wish = Literal["auto", "source", "rivet"]

# So many bytes Rivet sorts in memory, without a temporary file.
_IN_MEMORY_BYTES = 16 * 1024**2
_INDEX = "create an index that leads with the partition column"
# Up to such a share, as of a table that is filled day by day, the processor's own memory has most pages: a
# row of PostgreSQL took 0.45 microseconds at 0.003 and at 0.008, about what Rivet's sort takes, and 1.1 at
# 0.027.
_IN_ORDER = 0.01
# What Rivet's own sort took, of 6,000,000 rows of 16, 66 and 159 bytes through temporary files: 0.28, 0.30
# and 0.50 microseconds a row.
_SECONDS_PER_ROW = 0.25e-6
_SECONDS_PER_BYTE = 1.6e-9


@dataclass(frozen=True, slots=True)
class Detour:
    """How a source gives rows in the order of an index, in which they do not lie.

    Attributes:
        seconds: By how much longer it is about it than to read the rows as they lie.
        rows: Of the scan, by its estimate.
        sort_bytes: What Rivet would have to sort instead.
    """

    seconds: float
    rows: int
    sort_bytes: int

    @property
    def sort_seconds(self) -> float:
        """Guess how long Rivet would take to sort them."""
        return sort_seconds(self.rows, self.sort_bytes)


def is_in_order(share: float) -> bool:
    """Tell whether an index leads through rows at little cost, so near each other do they lie in its order.

    Args:
        share: Of the table over which rows lie that follow each other by the index.
    """
    return share <= _IN_ORDER


def sort_seconds(rows: int, sort_bytes: int) -> float:
    """Guess how long Rivet takes to sort.

    >>> round(sort_seconds(6_000_000, 954_000_000), 1)
    3.0
    """
    return rows * _SECONDS_PER_ROW + sort_bytes * _SECONDS_PER_BYTE


def cost_told(sorter: Sorter, rows: int, sort_bytes: int, detour: Detour | None) -> str:
    """Say, for people, what the order of rows costs; empty where that is not known.

    Args:
        rows: Those that are sorted, and by `sort_bytes` how large they are.

    >>> cost_told(Sorter.RIVET, 6_000_000, 954_000_000, None)
    'Rivet sorts them in about 3.0 s'
    >>> cost_told(Sorter.RIVET, 6_000_000, 0, Detour(14.4, 6_000_000, 954_000_000))
    'Rivet sorts them in about 3.0 s, where in the order of an index they would take the source 14.4 s longer'
    >>> cost_told(Sorter.SOURCE, 9, 0, Detour(0.0, 6_000_000, 954_000_000))
    'they come in the order of an index, by which the source takes 0.0 s longer; Rivet would sort for 3.0 s'
    """
    if detour is None:
        if sorter is not Sorter.RIVET or not sort_bytes:
            return ""
        return f"Rivet sorts them in about {sort_seconds(rows, sort_bytes):.1f} s"
    longer, sorting = f"{max(0.0, detour.seconds):.1f} s longer", f"{detour.sort_seconds:.1f} s"
    if sorter is Sorter.RIVET:
        return (
            f"Rivet sorts them in about {sorting}, where in the order of an index they would take the source "
            f"{longer}"
        )
    return (
        f"they come in the order of an index, by which the source takes {longer}; Rivet would sort for "
        f"{sorting}"
    )


def choose_sorter(
    wish: Wish,
    advised: Sorter,
    sort_bytes: int,
    *,
    free_bytes: int,
    max_sort_bytes: int,
    detour: Detour | None = None,
) -> Sorter | None:
    """Decide who sorts a scan; what comes in order nobody sorts. None: nobody may.

    A source is not asked to sort more than the limit. Temporary files are asked to hold twice the estimate,
    which may be wrong, unless the user wants them by name: then as much. What comes in order by a detour
    Rivet sorts, if that takes less time.

    Args:
        advised: Who does it faster with this source.
        sort_bytes: What there is to sort, by the source's estimate; 0: it comes in order.
        free_bytes: Room for temporary files.
        max_sort_bytes: The most that a source may be asked to sort.
        detour: How the source comes by the order without sorting, where that is known.

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
        if wish == "source" or detour is None or detour.seconds <= detour.sort_seconds:
            return Sorter.SOURCE
        wished = detour.sort_bytes if wish == "rivet" else 2 * detour.sort_bytes
        return Sorter.RIVET if wished <= max(free_bytes, _IN_MEMORY_BYTES) else Sorter.SOURCE
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
