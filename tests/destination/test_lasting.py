"""What is staged so as to last, in every store: another run finds it, reads it and takes it over."""

from __future__ import annotations

from contextlib import closing

import pytest

from rivet.destination.names import STAGING_DIRECTORY
from rivet.destination.protocol import Destination, Left
from rivet.errors import ObjectNotFound
from tests.destination.stores import OTHER_RUN, PART_BYTES, RUN, Place, names, part_name, sizes

LARGE = b"0123456789abcdef" * (PART_BYTES // 16) + b"end"
PART, OTHER_PART = part_name(), part_name(OTHER_RUN)
THIRD_RUN = "20230104T030405Z-00112233"


def _stage(destination: Destination, name: str, data: bytes, run_id: str = RUN) -> Left:
    staged = destination.stage_lasting(name, run_id)
    staged.write(data)
    staged.finish()
    assert staged.size_bytes == len(data)
    staged.discard()
    return staged.left


def _read(destination: Destination, left: Left) -> bytes:
    with destination.open_left(left) as file:
        return file.read()


@pytest.mark.parametrize("data", [b"", b"rows", LARGE], ids=["empty", "small", "large"])
def test_what_lasts_is_found_read_and_published_by_another_run(place: Place, data: bytes) -> None:
    """It is in no listing until then, whoever closed the destination meanwhile, and survives its own run."""
    left = _stage(place.destination, PART, data)
    place.destination.note("note.json", b"{}", RUN)
    place.destination.close()
    with closing(place.again()) as later:
        assert names(later) == []
        assert {(one.name, one.size_bytes) for one in later.left(RUN)} == {
            (left.name, len(data)),
            ("note.json", 2),
        }
        assert list(later.left(OTHER_RUN)) == []
        assert _read(later, left) == data
        taken = later.take_over(left, OTHER_RUN)
        later.sweep([RUN])

        assert list(later.left(RUN)) == []
        assert [one.name for one in later.left(OTHER_RUN)] == [taken.name]
        later.publish([later.lasting(taken, OTHER_PART)])
        assert sizes(later) == [(OTHER_PART, len(data))]
        assert later.read(OTHER_PART) == data

        later.delete([OTHER_PART])
        assert _read(later, taken) == data
        later.sweep([OTHER_RUN])
        assert names(later) == []


@pytest.mark.parametrize("data", [b"rows", LARGE], ids=["small", "large"])
def test_what_lasts_is_published_by_the_run_that_staged_it(place: Place, data: bytes) -> None:
    """It stays until the run is swept, and replaces what stands under the name."""
    place.destination.put(PART, b"old")
    staged = place.destination.stage_lasting(PART, RUN)
    staged.write(data)
    with pytest.raises(ValueError, match="published before it is finished"):
        place.destination.publish([staged])
    staged.finish()
    assert place.destination.read(PART) == b"old"

    place.destination.publish([staged])
    with pytest.raises(ValueError, match="once too often"):
        place.destination.publish([staged])

    assert place.destination.read(PART) == data
    assert _read(place.destination, staged.left) == data
    with closing(place.again()) as later:
        assert names(later) == [PART]
        assert names(later, STAGING_DIRECTORY) == []
        later.sweep([RUN])
        assert list(later.left(RUN)) == []
        assert later.read(PART) == data


def test_what_lasts_and_is_not_finished_is_dropped(place: Place) -> None:
    """Discarding it leaves nothing to be found."""
    staged = place.destination.stage_lasting(PART, RUN)
    staged.write(b"ro")
    staged.discard()

    assert list(place.destination.left(RUN)) == []
    assert place.staged() == []


def test_what_is_swept_can_neither_be_taken_over_nor_published(destination: Destination) -> None:
    """Whoever comes too late is told so, and nothing is shown."""
    left = _stage(destination, PART, b"rows")
    late = destination.lasting(left, OTHER_PART)
    destination.sweep([RUN])

    with pytest.raises(ObjectNotFound):
        destination.take_over(left, OTHER_RUN)
    with pytest.raises(ObjectNotFound):
        destination.publish([late])
    with pytest.raises(ObjectNotFound):
        _read(destination, left)
    assert names(destination) == []
    assert list(destination.left(OTHER_RUN)) == []


def test_sweeping_leaves_what_lasts_of_other_runs(place: Place) -> None:
    """A later run that has listed the root sweeps what the named runs have left alone."""
    lefts = [_stage(place.destination, part_name(run), b"rows", run) for run in (RUN, OTHER_RUN, THIRD_RUN)]
    place.destination.put("day=1/x.parquet", b"live")
    with closing(place.again()) as later:
        assert names(later) == ["day=1/x.parquet"]
        later.sweep([RUN, THIRD_RUN])

        assert [list(later.left(run)) != [] for run in (RUN, OTHER_RUN, THIRD_RUN)] == [False, True, False]
        assert _read(later, lefts[1]) == b"rows"
        assert names(later) == ["day=1/x.parquet"]
