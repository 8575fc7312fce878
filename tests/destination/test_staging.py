"""Staged objects of every store: invisible, published or gone."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from rivet.destination.names import STAGING_DIRECTORY
from rivet.destination.protocol import Destination
from rivet.errors import ObjectNotFound
from tests.destination.stores import PART_BYTES, RUN, Place, finished, names, part_name, publish, sizes

LARGE = b"0123456789abcdef" * (PART_BYTES // 16) + b"end"
PART = part_name()


@pytest.mark.parametrize("data", [b"rows", LARGE], ids=["small", "large"])
def test_stage_is_invisible_until_published(place: Place, data: bytes) -> None:
    """What is staged is under no name and in no listing until publish, and then under its own."""
    staged = place.destination.stage(PART, RUN)
    staged.write(data)
    assert names(place.destination) == []
    staged.finish()

    assert names(place.destination) == []
    assert names(place.destination, STAGING_DIRECTORY) == []
    assert names(place.destination, f"{STAGING_DIRECTORY}/") == []
    with pytest.raises(ObjectNotFound):
        place.destination.read(PART)
    place.destination.publish([staged])
    assert sizes(place.destination) == [(PART, len(data))]
    assert place.staged() == []


@pytest.mark.parametrize("data", [b"rows", LARGE], ids=["small", "large"])
def test_stage_leaves_the_live_object_alone(destination: Destination, data: bytes) -> None:
    """Staging, finishing and discarding leave what stands under the name as it was."""
    destination.put(PART, b"old")
    staged = finished(destination, PART, data)

    assert destination.read(PART) == b"old"
    staged.discard()
    assert destination.read(PART) == b"old"


@pytest.mark.parametrize("old", [b"a long old one", LARGE], ids=["small", "large"])
@pytest.mark.parametrize("new", [b"new", LARGE[::-1]], ids=["small", "large"])
def test_publish_replaces(destination: Destination, old: bytes, new: bytes) -> None:
    """Publishing over a live object leaves the new one alone, whatever the sizes."""
    publish(destination, PART, old)
    publish(destination, PART, new)

    assert sizes(destination) == [(PART, len(new))]
    assert destination.read(PART) == new


def test_publish_many_at_once(place: Place) -> None:
    """Many objects, small and large, in several directories, are all visible when the call returns."""
    contents = {f"day={i % 3}/p{i}.parquet": b"%d" % i for i in range(100)}
    contents |= {part_name(number=i): LARGE for i in range(2)}
    staged = [finished(place.destination, name, data) for name, data in contents.items()]
    place.destination.publish(staged)
    place.destination.publish([])

    assert sizes(place.destination) == sorted((name, len(data)) for name, data in contents.items())
    assert place.destination.read(part_name(number=1)) == LARGE
    assert place.destination.read("day=0/p99.parquet") == b"99"
    assert place.staged() == []


def test_publish_failed_leaves_each_object_whole(place: Place) -> None:
    """Where one of several cannot be published, each name has its old object or its new one, and no part."""
    place.destination.put("good", b"old")
    place.destination.put("bad", b"old")
    good, bad = finished(place.destination, "good", b"new"), finished(place.destination, "bad", b"new")
    bad.discard()
    with pytest.raises(ValueError, match="bad"):
        place.destination.publish([good, bad])

    assert place.destination.read("good") in (b"old", b"new")
    assert place.destination.read("bad") == b"old"
    good.discard()
    assert place.staged() == []


def test_publish_is_for_what_was_staged_here(destination: Destination) -> None:
    """What another kind of destination staged is refused."""

    class Stranger:
        size_bytes = 0
        checksum = None

        def write(self, data: bytes | bytearray | memoryview) -> int:
            """Take nothing."""
            return 0

        def finish(self) -> None:
            """Do nothing."""

        def discard(self) -> None:
            """Do nothing."""

    with pytest.raises(TypeError, match="not staged here"):
        destination.publish([Stranger()])


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
    staged = destination.stage(PART, RUN)
    written = [staged.write(chunk) for chunk in chunks]
    expected = b"".join(bytes(chunk) for chunk in chunks)

    assert written == [len(bytes(chunk)) for chunk in chunks]
    assert staged.size_bytes == len(expected)
    staged.finish()
    assert staged.size_bytes == len(expected)
    destination.publish([staged])
    assert destination.read(PART) == expected


def test_stage_a_written_buffer_may_change_afterwards(destination: Destination) -> None:
    """Bytes are taken at the time of the write, whatever becomes of the buffer."""
    small, large = bytearray(b"abc"), bytearray(LARGE)
    staged = destination.stage(PART, RUN)
    staged.write(small)
    small[:] = b"XYZ"
    staged.write(large)
    large[:] = bytes(len(large))
    staged.finish()
    destination.publish([staged])

    assert destination.read(PART) == b"abc" + LARGE


def test_stage_empty_object(destination: Destination) -> None:
    """An object of no bytes is an object."""
    publish(destination, "empty", b"")
    destination.put("void", b"")

    assert sizes(destination) == [("empty", 0), ("void", 0)]
    assert destination.read("empty") == destination.read("void") == b""
    with destination.open("empty") as file:
        assert file.read() == b""


@pytest.mark.parametrize("size", [PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 2 * PART_BYTES])
def test_stage_size_about_that_of_a_part(place: Place, size: int) -> None:
    """An object about as large as the pieces that stores upload it in arrives whole, and leaves no piece."""
    data = (LARGE * 2)[:size]
    publish(place.destination, PART, data)

    assert sizes(place.destination) == [(PART, size)]
    assert place.destination.read(PART) == data
    assert place.staged() == []


@pytest.mark.parametrize(
    ("name", "chunk_bytes"), [(PART, 1_000_003), (PART, 20_000_000), ("manifest.json", 1_000_003)]
)
def test_stage_large_object(destination: Destination, name: str, chunk_bytes: int) -> None:
    """An object of several pieces arrives whole, whatever its name and however large its chunks are."""
    data = b"".join(bytes([i]) * 1_234_567 for i in range(35))
    staged = destination.stage(name, RUN)
    for start in range(0, len(data), chunk_bytes):
        staged.write(data[start : start + chunk_bytes])
    staged.finish()
    destination.publish([staged])

    assert destination.read(name) == data


@pytest.mark.parametrize("data", [b"rows", LARGE], ids=["small", "large"])
def test_stage_is_finished_by_another_thread(destination: Destination, data: bytes) -> None:
    """What one thread has written may be finished by a second and published by a third."""
    staged = destination.stage(PART, RUN)
    staged.write(data)
    steps: list[Callable[[], None]] = [staged.finish, lambda: destination.publish([staged])]
    for step in steps:
        thread = threading.Thread(target=step)
        thread.start()
        thread.join()

    assert destination.read(PART) == data


@pytest.mark.parametrize("data", [b"rows", LARGE], ids=["small", "large"])
@pytest.mark.parametrize("is_finished", [False, True])
def test_stage_discard_leaves_nothing(place: Place, data: bytes, *, is_finished: bool) -> None:
    """Discarding, before or after finish, and twice, leaves nothing staged and nothing to publish."""
    staged = place.destination.stage(PART, RUN)
    staged.write(data)
    if is_finished:
        staged.finish()
    staged.discard()
    staged.discard()

    assert place.staged() == []
    assert names(place.destination) == []
    with pytest.raises(ValueError, match=RUN):
        place.destination.publish([staged])


def test_stage_discard_after_publish_does_nothing(destination: Destination) -> None:
    """Discarding what is published leaves it published."""
    staged = finished(destination, PART, b"rows")
    destination.publish([staged])
    staged.discard()

    assert destination.read(PART) == b"rows"


@pytest.mark.parametrize("data", [b"rows", LARGE], ids=["small", "large"])
def test_stage_order_of_calls(destination: Destination, data: bytes) -> None:
    """Publishing before finish or twice, and writing or finishing after finish, are bugs that raise."""
    staged = destination.stage(PART, RUN)
    staged.write(data)
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
    good, bad = (place.destination.stage(PART, RUN) for _ in range(2))
    good.write(b"good")
    bad.write(LARGE)
    bad.discard()
    good.finish()
    place.destination.publish([good])

    assert place.destination.read(PART) == b"good"
    assert place.staged() == []
