"""A zone database that can be changed, as that of the world is when a place changes its law."""

from __future__ import annotations

import shutil
import zoneinfo
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rivet.plan.zones import zone_named

# A place of its own, which no database has: its clock is that of a place that it follows.
PLACE = "Test/Place"

Law = Callable[[str | None], None]


@contextmanager
def zone_law(folder: Path) -> Iterator[Law]:
    """Give what says whose clock the place follows; None: the database knows the place no more."""
    before = zoneinfo.TZPATH
    file = folder / PLACE
    file.parent.mkdir(parents=True)

    def follow(other: str | None) -> None:
        file.unlink(missing_ok=True)
        if other is not None:
            shutil.copy(next(path for f in before if (path := Path(f, other)).exists()), file)
        _forget()

    zoneinfo.reset_tzpath([str(folder), *before])
    try:
        yield follow
    finally:
        zoneinfo.reset_tzpath(before)
        _forget()


def _forget() -> None:
    zoneinfo.ZoneInfo.clear_cache()
    zone_named.cache_clear()
