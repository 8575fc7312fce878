"""Staged objects of every store: invisible, durable, published or gone."""

from __future__ import annotations

import threading

import pytest

from rivet.destination.names import STAGING_DIRECTORY
from rivet.destination.protocol import Destination
from rivet.errors import ObjectNotFound
from tests.destination.stores import OTHER_RUN, RUN, Place, names, publish, sizes


def test_stage_is_invisible_until_published(place: Place) -> None:
    """What is staged is under no name and in no listing until publish, and then under its own."""
    staged = place.destination.stage("day=1/p.parquet", RUN)
    staged.write(b"rows")
    assert names(place.destination) == []
    staged.finish()

    assert names(place.destination) == []
    assert names(place.destination, STAGING_DIRECTORY) == []
    assert names(place.destination, f"{STAGING_DIRECTORY}/") == []
    with pytest.raises(ObjectNotFound):
        place.destination.read("day=1/p.parquet")
    place.destination.publish([staged])
    assert sizes(place.destination) == [("day=1/p.parquet", 4)]
    assert place.staged() == []


def test_stage_bears_the_run_and_no_name_that_readers_take(place: Place) -> None:
    """What lies staged bears its run id and never ends in .parquet."""
    for _ in range(2):
        place.destination.stage("p.parquet", RUN).finish()
    place.destination.stage("p.parquet", OTHER_RUN).finish()

    staged = place.staged()
    assert sorted(RUN in text for text in staged) == [False, True, True]
    assert not [text for text in staged if text.endswith(".parquet")]


def test_stage_leaves_the_live_object_alone(destination: Destination) -> None:
    """Staging, finishing and discarding leave what stands under the name as it was."""
    destination.put("p.parquet", b"old")
    staged = destination.stage("p.parquet", RUN)
    staged.write(b"new")
    staged.finish()

    assert destination.read("p.parquet") == b"old"
    staged.discard()
    assert destination.read("p.parquet") == b"old"


def test_stage_publish_replaces(destination: Destination) -> None:
    """Publishing over a live object leaves the new one alone."""
    publish(destination, "p.parquet", b"a long old one")
    publish(destination, "p.parquet", b"new")

    assert sizes(destination) == [("p.parquet", 3)]


def test_stage_chunks_of_any_kind_and_size(destination: Destination) -> None:
    """Chunks of any size and kind, a memoryview of words too, arrive in order and are counted in bytes."""
    words = memoryview(bytes(range(240)) * 10).cast("Q")
    chunks: list[bytes | bytearray | memoryview] = [
        *(bytes([i % 251]) for i in range(1000)),
        b"",
        bytearray(b"x" * 70_000),
        words,
        b"y" * 3_000_000,
        b"end",
    ]
    staged = destination.stage("p", RUN)
    sizes = [staged.write(chunk) for chunk in chunks]
    expected = b"".join(bytes(chunk) for chunk in chunks)

    assert sizes == [len(bytes(chunk)) for chunk in chunks]
    assert staged.size_bytes == len(expected)
    staged.finish()
    assert staged.size_bytes == len(expected)
    destination.publish([staged])
    assert destination.read("p") == expected


def test_stage_a_written_buffer_may_change_afterwards(destination: Destination) -> None:
    """Bytes are taken at the time of the write, whatever becomes of the buffer."""
    buffer = bytearray(b"abc")
    staged = destination.stage("p", RUN)
    staged.write(buffer)
    buffer[:] = b"XYZ"
    staged.finish()
    destination.publish([staged])

    assert destination.read("p") == b"abc"


def test_stage_empty_object(destination: Destination) -> None:
    """An object of no bytes is an object."""
    publish(destination, "empty", b"")
    destination.put("void", b"")

    assert sizes(destination) == [("empty", 0), ("void", 0)]
    assert destination.read("empty") == destination.read("void") == b""


def test_stage_large_object(destination: Destination) -> None:
    """An object of many megabytes arrives whole."""
    block = bytes(range(256)) * 4096
    staged = destination.stage("large", RUN)
    for _ in range(40):
        staged.write(block)
    staged.finish()
    destination.publish([staged])

    assert destination.read("large") == block * 40


def test_stage_is_finished_by_another_thread(destination: Destination) -> None:
    """What one thread has written may be finished by a second and published by a third."""
    staged = destination.stage("p", RUN)
    staged.write(b"rows")
    for step in (staged.finish, lambda: destination.publish([staged])):
        thread = threading.Thread(target=step)
        thread.start()
        thread.join()

    assert destination.read("p") == b"rows"


@pytest.mark.parametrize("finished", [False, True])
def test_stage_discard_leaves_nothing(place: Place, *, finished: bool) -> None:
    """Discarding, before or after finish, and twice, leaves nothing staged and nothing to publish."""
    staged = place.destination.stage("p.parquet", RUN)
    staged.write(b"rows")
    if finished:
        staged.finish()
    staged.discard()
    staged.discard()

    assert place.staged() == []
    assert names(place.destination) == []
    with pytest.raises(ValueError, match=r"p\.parquet"):
        place.destination.publish([staged])


def test_stage_discard_after_publish_does_nothing(destination: Destination) -> None:
    """Discarding what is published leaves it published."""
    staged = destination.stage("p", RUN)
    staged.write(b"rows")
    staged.finish()
    destination.publish([staged])
    staged.discard()

    assert destination.read("p") == b"rows"


def test_stage_order_of_calls(destination: Destination) -> None:
    """Publishing before finish or twice, and writing or finishing after finish, are bugs that raise."""
    staged = destination.stage("p", RUN)
    with pytest.raises(ValueError, match="before it is finished"):
        destination.publish([staged])
    staged.finish()
    with pytest.raises(ValueError):  # noqa: PT011 - the words are Python's own
        staged.write(b"late")
    with pytest.raises(ValueError):  # noqa: PT011
        staged.finish()
    destination.publish([staged])
    with pytest.raises(ValueError, match="once too often"):
        destination.publish([staged])


def test_stage_failed_part_leaves_others_alone(place: Place) -> None:
    """A part that is discarded in the middle of its writing leaves the run's other parts as they are."""
    good, bad = (place.destination.stage("p.parquet", RUN) for _ in range(2))
    good.write(b"good")
    bad.write(b"bad")
    bad.discard()
    good.finish()
    place.destination.publish([good])

    assert place.destination.read("p.parquet") == b"good"
    assert place.staged() == []


def test_sweep_only_the_named_runs(place: Place) -> None:
    """A sweep removes what the named runs left staged, finished or not, and nothing else."""
    place.destination.put("p", b"live")
    unfinished = place.destination.stage("p", RUN)
    place.destination.stage("p", RUN).finish()
    kept = place.destination.stage("p", OTHER_RUN)
    kept.finish()
    place.destination.sweep(run_id for run_id in (RUN, "20200101T000000Z-00000000"))
    unfinished.discard()

    assert len(place.staged()) == 1
    assert OTHER_RUN in place.staged()[0]
    place.destination.publish([kept])
    assert names(place.destination) == ["p"]


def test_sweep_nothing_there(destination: Destination) -> None:
    """A sweep of runs that staged nothing, and of no runs, changes nothing."""
    destination.sweep([RUN])
    destination.sweep([])

    assert names(destination) == []


def test_sweep_what_was_swept_is_not_published(destination: Destination) -> None:
    """Publishing what was swept raises, and the live object stays."""
    destination.put("day=1/p", b"live")
    staged = [destination.stage(name, RUN) for name in ("day=1/p", "day=2/p")]
    for one in staged:
        one.finish()
    destination.sweep([RUN])

    for one in staged:
        with pytest.raises(ObjectNotFound):
            destination.publish([one])
    assert names(destination) == ["day=1/p"]


def test_sweep_staging_goes_on_after_a_sweep(destination: Destination) -> None:
    """A run that swept may stage again."""
    destination.stage("p", RUN).finish()
    destination.sweep([RUN])
    publish(destination, "p", b"again")

    assert destination.read("p") == b"again"
