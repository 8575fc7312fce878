"""The stores that the contract is held against, and how to look into them.

A store joins with one factory in `FACTORIES`: from a test's request and an empty directory to a `Place`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from rivet.destination.local import LocalDestination
from rivet.destination.memory import MemoryDestination
from rivet.destination.names import STAGING_DIRECTORY
from rivet.destination.opening import open_destination
from rivet.destination.protocol import Destination, Staged
from tests.servers.gcs import GcsBucket
from tests.servers.s3 import S3Bucket

RUN = "20230102T030405Z-0123abcd"
OTHER_RUN = "20230103T030405Z-89abcdef"
PART_BYTES = 8 * 1024**2
"""Objects up to this size wait on this side; larger ones go up to a store in pieces, before publishing."""


@dataclass(frozen=True)
class Place:
    """A fresh destination, and ways to look at it from outside.

    Attributes:
        staged: Gives what lies staged in the store, a text each, which holds the run id.
        again: Opens another destination at the same root, as a later run does.
        held_bytes: What is staged lies in the store if it is as large as this, and its name bears the run id.
    """

    destination: Destination
    staged: Callable[[], list[str]]
    again: Callable[[], Destination]
    held_bytes: int = 0


def part_name(run_id: str = RUN, number: int = 0, directory: str = "day=1") -> str:
    """Name a part as the plan does: the run id in it is what stores know their own by."""
    return f"{directory}/events__1_{run_id}_{number:05d}.parquet"


def names(destination: Destination, prefix: str = "") -> list[str]:
    """List names only."""
    return [listed.name for listed in destination.list(prefix)]


def sizes(destination: Destination, prefix: str = "") -> list[tuple[str, int]]:
    """List names and sizes, whatever checksums a store has."""
    return [(listed.name, listed.size_bytes) for listed in destination.list(prefix)]


def finished(destination: Destination, name: str, data: bytes = b"", run_id: str = RUN) -> Staged:
    """Stage and finish one object."""
    staged = destination.stage(name, run_id)
    staged.write(data)
    staged.finish()
    return staged


def publish(destination: Destination, name: str, data: bytes, run_id: str = RUN) -> None:
    """Stage, finish and publish one object."""
    destination.publish([finished(destination, name, data, run_id)])


def _memory(_: pytest.FixtureRequest, __: Path) -> Place:
    destination = MemoryDestination()

    def staged() -> list[str]:
        return [f"{run_id}/{number}" for run_id, number in destination.staged]

    return Place(destination, staged, lambda: destination)


def _local(_: pytest.FixtureRequest, directory: Path) -> Place:
    root = directory / "out" / "events"
    staging = root / STAGING_DIRECTORY

    def staged() -> list[str]:
        return [str(p.relative_to(staging)) for p in staging.rglob("*") if p.is_file()]

    return Place(LocalDestination(root), staged, lambda: LocalDestination(root))


def _s3(request: pytest.FixtureRequest, _: Path) -> Place:
    pytest.importorskip("rivet.destination.s3.destination")
    bucket: S3Bucket = request.getfixturevalue("shared_s3_bucket")
    prefix = _prefix_with_neighbours(bucket)

    def staged() -> list[str]:
        return [f"{key} (unfinished)" for key in bucket.uploads() if key.startswith(prefix)]

    def open_again() -> Destination:
        return open_destination(bucket.settings(prefix))

    return Place(open_again(), staged, open_again, PART_BYTES + 1)


def _gcs(request: pytest.FixtureRequest, _: Path) -> Place:
    pytest.importorskip("rivet.destination.gcs.destination")
    bucket: GcsBucket = request.getfixturevalue("shared_gcs_bucket")
    prefix = _prefix_with_neighbours(bucket)

    def open_again() -> Destination:
        return open_destination(bucket.settings(prefix))

    return Place(open_again(), list, open_again, PART_BYTES + 1)  # it lists nothing that is not finished


def _prefix_with_neighbours(bucket: S3Bucket | GcsBucket) -> str:
    """Choose a prefix that nobody has used, mark it as a folder, and put objects where it nearly begins."""
    prefix = f"tests/{next(_numbers)} %2F/"
    for key in (prefix, f"{prefix[:-1]}-", f"{prefix[:-1]}2/p.parquet"):
        bucket.put(key, b"")
    return prefix


FACTORIES: dict[str, Callable[[pytest.FixtureRequest, Path], Place]] = {
    "memory": _memory,
    "local": _local,
    "s3": _s3,
    "gcs": _gcs,
}
sweeping = pytest.mark.parametrize("place", [name for name in FACTORIES if name != "gcs"], indirect=True)
"""Holds a test to those stores in which can be seen, and swept, what another run has staged."""

_numbers = itertools.count(1)
