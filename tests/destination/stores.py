"""The stores that the contract is held against, and how to look into them.

A store joins with one factory in `FACTORIES`: from an empty directory to a `Place`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rivet.destination.local import LocalDestination
from rivet.destination.memory import MemoryDestination
from rivet.destination.names import STAGING_DIRECTORY
from rivet.destination.protocol import Destination

RUN = "20230102T030405Z-0123abcd"
OTHER_RUN = "20230103T030405Z-89abcdef"


@dataclass(frozen=True)
class Place:
    """A fresh destination, and a way to see what lies staged: a text each, which holds the run id."""

    destination: Destination
    staged: Callable[[], list[str]]


def _memory(_: Path) -> Place:
    destination = MemoryDestination()
    return Place(destination, lambda: [f"{run_id}/{number}" for run_id, number in destination.staged])


def _local(directory: Path) -> Place:
    root = directory / "out" / "events"
    staging = root / STAGING_DIRECTORY
    return Place(
        LocalDestination(root),
        lambda: [str(p.relative_to(staging)) for p in staging.rglob("*") if p.is_file()],
    )


FACTORIES: dict[str, Callable[[Path], Place]] = {"memory": _memory, "local": _local}


def names(destination: Destination, prefix: str = "") -> list[str]:
    """List names only."""
    return [listed.name for listed in destination.list(prefix)]


def sizes(destination: Destination, prefix: str = "") -> list[tuple[str, int]]:
    """List names and sizes, whatever checksums a store has."""
    return [(listed.name, listed.size_bytes) for listed in destination.list(prefix)]


def publish(destination: Destination, name: str, data: bytes, run_id: str = RUN) -> None:
    """Stage, finish and publish one object."""
    staged = destination.stage(name, run_id)
    staged.write(data)
    staged.finish()
    destination.publish([staged])
