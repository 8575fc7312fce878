"""Decides who puts the rows of a scan in order, and says what that costs.

Composition: the decision is in `rivet.plan.sorting`, the questions go to the source's session.
"""

from __future__ import annotations

from dataclasses import dataclass

from rivet.config.settings import ExportSettings
from rivet.errors import PlanError
from rivet.export.temporary import free_bytes
from rivet.plan.scans import Reach, Scan, Sorter
from rivet.plan.schema import Column
from rivet.plan.sorting import Detour, Wish, choose_sorter, unsortable
from rivet.source.protocol import Session
from rivet.source.relation import Relation


@dataclass(frozen=True, slots=True)
class Ordering:
    """Who sorts a scan.

    Attributes:
        sorter: Who does, or why nobody may.
        source_bytes: What the source would sort, by its estimate; 0: it gives the rows in order.
        detour: What that costs it, where it is known.
    """

    sorter: Sorter | PlanError
    source_bytes: int
    detour: Detour | None = None

    @property
    def sort_bytes(self) -> int:
        """Give what is sorted, whoever does it; 0 where the rows come in order."""
        if self.sorter is Sorter.RIVET and self.detour is not None:
            return self.detour.sort_bytes
        return self.source_bytes


def ordering_of(
    session: Session, export: ExportSettings, relation: Relation, column: Column, scan: Scan
) -> Ordering:
    """Ask the source what the order of a scan costs it, and choose.

    Of a part of the rows the source is asked rather than Rivet, if somebody must sort it.
    """
    wish: Wish = export.sort
    advised = session.advised_sorter
    if scan.reach is not Reach.EVERYTHING:
        wish, advised = ("source" if wish == "source" else "auto"), Sorter.SOURCE
    limit, size = export.max_sort_size_bytes, session.sort_bytes(relation, column, scan)
    detour = None if size or wish == "source" else session.detour(relation, column, scan)
    free = free_bytes() if size or detour is not None else 0
    sorter = choose_sorter(wish, advised, size, free_bytes=free, max_sort_bytes=limit, detour=detour)
    return Ordering(
        sorter or unsortable(export.where, wish, size, free_bytes=free, max_sort_bytes=limit), size, detour
    )
