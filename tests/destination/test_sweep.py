"""What killed and overtaken runs left staged, in every store that can tell."""

from __future__ import annotations

from contextlib import closing

import pytest

from rivet.destination.protocol import Destination
from rivet.errors import ObjectNotFound
from tests.destination.stores import OTHER_RUN, RUN, Place, finished, names, part_name, publish, sweeping


@sweeping
def test_stage_bears_the_run_and_no_name_that_readers_take(place: Place) -> None:
    """What lies staged bears its run id and never ends in .parquet."""
    data = bytes(place.held_bytes)
    for run_id, number in ((RUN, 0), (RUN, 1), (OTHER_RUN, 0)):
        finished(place.destination, part_name(run_id, number), data, run_id)

    staged = place.staged()
    assert sorted(RUN in text for text in staged) == [False, True, True]
    assert not [text for text in staged if text.endswith(".parquet")]


@sweeping
def test_sweep_only_the_named_runs(place: Place) -> None:
    """A later run removes what the named runs left staged, finished or not, and nothing else."""
    data = bytes(place.held_bytes)
    place.destination.put(part_name(), b"live")
    unfinished = place.destination.stage(part_name(number=1), RUN)
    unfinished.write(data)
    finished(place.destination, part_name(number=2), data)
    kept = finished(place.destination, part_name(OTHER_RUN), data, OTHER_RUN)
    with closing(place.again()) as later:
        later.sweep(run_id for run_id in (RUN, "20200101T000000Z-00000000"))
        assert list(later.warnings) == []
    unfinished.discard()

    assert len(place.staged()) == 1
    assert OTHER_RUN in place.staged()[0]
    place.destination.publish([kept])
    assert names(place.destination) == [part_name(), part_name(OTHER_RUN)]


@sweeping
def test_sweep_what_was_swept_is_not_published(place: Place) -> None:
    """Publishing what another run has swept raises, and the live object stays."""
    directories = ("day=1", "day=2")
    place.destination.put(part_name(directory="day=1"), b"live")
    staged = [
        finished(place.destination, part_name(directory=d), bytes(place.held_bytes)) for d in directories
    ]
    with closing(place.again()) as later:
        later.sweep([RUN])

    for one in staged:
        with pytest.raises(ObjectNotFound):
            place.destination.publish([one])
        one.discard()
    assert names(place.destination) == [part_name(directory="day=1")]
    assert place.destination.read(part_name(directory="day=1")) == b"live"


def test_sweep_nothing_there(destination: Destination) -> None:
    """A sweep of runs that staged nothing, and of no runs, changes nothing."""
    destination.put(part_name(), b"live")
    destination.sweep([RUN])
    destination.sweep([])

    assert names(destination) == [part_name()]


def test_sweep_staging_goes_on_after_a_sweep(place: Place) -> None:
    """A run that swept may stage again."""
    finished(place.destination, part_name(), bytes(place.held_bytes)).discard()
    place.destination.sweep([RUN])
    publish(place.destination, part_name(), b"again")

    assert place.destination.read(part_name()) == b"again"


def test_a_closed_destination_has_published_nothing(place: Place) -> None:
    """What was staged and never published is no object after all is let go of, and may be discarded still."""
    with closing(place.again()) as ended:
        staged = [finished(ended, part_name(number=i), bytes(place.held_bytes)) for i in range(2)]
        staged[0].discard()
    place.destination.sweep([RUN])

    assert names(place.destination) == []
    assert place.staged() == []
