"""What a run leaves alone where the store has checksums of its own: the same bytes, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rivet.destination.memory import MemoryDestination
from rivet.destination.protocol import Listed
from rivet.outcome import ExportOutcome
from rivet.plan.names import PART_SUFFIX
from tests.run.fake_source import FakeSource
from tests.run.running import by_day, run_one

DAYS = [1, 2, 2, None]


def export(directory: Path, monkeypatch: pytest.MonkeyPatch, destination: MemoryDestination) -> ExportOutcome:
    """Export three partitions into a destination in memory, and forget what was done before."""
    destination.operations.clear()
    monkeypatch.setattr("rivet.exporting.open_destination", lambda _: destination)
    monkeypatch.setattr("rivet.run.open_source", lambda _: FakeSource(DAYS))
    source = {"type": "sqlite", "path": "none.db"}
    return run_one(directory, source, by_day(directory / "unused", partition_by="day"))


def parts(destination: MemoryDestination) -> dict[str, bytes]:
    """Give the live parts."""
    return {name: data for name, data in destination.objects.items() if name.endswith(PART_SUFFIX)}


def parts_opened(destination: MemoryDestination) -> int:
    """Count the parts that were opened for reading."""
    return sum(o.kind == "open" and o.name.endswith(PART_SUFFIX) for o in destination.operations)


def test_equal_checksums_spare_the_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the store says that live parts are what was staged, none of them is read, and all stay."""
    destination = MemoryDestination()
    export(tmp_path, monkeypatch, destination)
    before = parts(destination)
    outcome = export(tmp_path, monkeypatch, destination)

    assert (outcome.partitions_unchanged, outcome.partitions_written) == (3, 0)
    assert parts(destination) == before
    assert parts_opened(destination) == 0


def test_a_part_that_was_altered_is_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that differ from those of the manifest, though as many, do not stay."""
    destination = MemoryDestination()
    export(tmp_path, monkeypatch, destination)
    before = parts(destination)
    altered = next(iter(before))
    destination.objects[altered] = bytes(len(before[altered]))
    outcome = export(tmp_path, monkeypatch, destination)

    assert (outcome.partitions_unchanged, outcome.partitions_written) == (2, 1)
    assert altered not in parts(destination)
    assert sorted(parts(destination).values()) == sorted(before.values())


def test_other_checksums_may_stand_for_equal_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a store's checksums are not of the bytes alone, as under encryption, the bytes are read."""

    class Encrypted(MemoryDestination):
        def list(self, prefix: str = "") -> Iterator[Listed]:
            return (replace(listed, checksum=f"salted:{listed.name}") for listed in super().list(prefix))

    destination = Encrypted()
    export(tmp_path, monkeypatch, destination)
    outcome = export(tmp_path, monkeypatch, destination)

    assert (outcome.partitions_unchanged, outcome.partitions_written) == (3, 0)
    assert parts_opened(destination) == 3


def test_a_part_that_vanished_during_the_run_is_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part that stood when the run began and was deleted since is not taken for one that stays."""
    destination = MemoryDestination()
    export(tmp_path, monkeypatch, destination)
    lost = next(iter(parts(destination)))
    begun = MemoryDestination.stage

    def stage(self: MemoryDestination, name: str, run_id: str) -> object:
        self.objects.pop(lost, None)
        return begun(self, name, run_id)

    monkeypatch.setattr(MemoryDestination, "stage", stage)
    outcome = export(tmp_path, monkeypatch, destination)

    assert (outcome.partitions_unchanged, outcome.partitions_written) == (2, 1)
