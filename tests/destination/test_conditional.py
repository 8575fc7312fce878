"""Objects that are created, replaced and removed on conditions, by many at once, in every store."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import pytest

from rivet.destination.protocol import Destination, Staged
from rivet.errors import ObjectNotFound
from tests.destination.stores import Place, finished, names

LOCK = "_rivet_lock.json"
CONTENDERS = 6


def test_create_only_where_there_is_none(destination: Destination) -> None:
    """The first creates, the second is told and changes nothing; once it is removed the name is free."""
    version = destination.create(LOCK, b"mine")

    assert version is not None
    assert destination.create(LOCK, b"yours") is None
    assert destination.inspect(LOCK).data == b"mine"
    assert destination.inspect(LOCK).version == version
    assert destination.remove(LOCK, version)
    assert names(destination) == []
    assert destination.create(LOCK, b"yours") is not None


def test_create_sees_what_was_put(destination: Destination) -> None:
    """An object that came by another way stands in the way all the same, an empty one too."""
    destination.put("export", b"")

    assert destination.create("export", b"mine") is None
    assert destination.inspect("export", 10).data == b""


def test_replace_only_what_was_looked_at(destination: Destination) -> None:
    """A version can be replaced once; whoever holds an older one is told and changes nothing."""
    first = destination.create(LOCK, b"1")
    assert first is not None
    second = destination.replace(LOCK, b"2", first)

    assert second not in (None, first)
    assert destination.replace(LOCK, b"3", first) is None
    assert destination.inspect(LOCK).data == b"2"
    assert destination.inspect(LOCK).version == second


def test_replace_nothing(destination: Destination) -> None:
    """What is gone is not replaced, and does not come back."""
    version = destination.create(LOCK, b"1")
    assert version is not None
    destination.delete([LOCK])

    assert destination.replace(LOCK, b"2", version) is None
    assert not destination.remove(LOCK, version)
    assert names(destination) == []


def test_replace_what_was_put(destination: Destination) -> None:
    """What was put has a version too, and a put makes another of it."""
    destination.put("export", b"1")
    before = destination.inspect("export").version
    destination.put("export", b"2")

    assert destination.replace("export", b"3", before) is None
    assert destination.replace("export", b"3", destination.inspect("export").version) is not None
    assert destination.read("export") == b"3"


def test_remove_only_what_was_looked_at(destination: Destination) -> None:
    """An object that was replaced since is not removed."""
    first = destination.create(LOCK, b"1")
    assert first is not None
    destination.replace(LOCK, b"2", first)

    assert not destination.remove(LOCK, first)
    assert destination.read(LOCK) == b"2"


def test_inspect_reads_no_more_than_it_may(destination: Destination) -> None:
    """Of a large object only the first bytes come, with the version of the whole."""
    destination.put("large", b"x" * 300_000)

    assert destination.inspect("large", 1000).data == b"x" * 1000
    assert destination.inspect("large", 1000).version == destination.inspect("large").version
    assert len(destination.inspect("large").data) == 300_000


def test_what_is_not_there(destination: Destination) -> None:
    """Neither version nor age is there of what is not."""
    with pytest.raises(ObjectNotFound):
        destination.inspect(LOCK)
    with pytest.raises(ObjectNotFound):
        destination.inspect(LOCK, 10)
    with pytest.raises(ObjectNotFound):
        destination.age_seconds(LOCK)


def test_age_is_of_the_last_writing(destination: Destination) -> None:
    """What was written just now is young, whatever the clocks are."""
    version = destination.create(LOCK, b"1")
    assert version is not None
    assert 0 <= destination.age_seconds(LOCK) < 30
    destination.replace(LOCK, b"2", version)
    assert 0 <= destination.age_seconds(LOCK) < 30


def test_nothing_is_left_staged(place: Place) -> None:
    """A lock's life leaves nothing in the staging area, and no root that it has made."""
    destination = place.destination
    version = destination.create(LOCK, b"1", private=True)
    assert version is not None
    version = destination.replace(LOCK, b"2", version, private=True)
    assert version is not None
    destination.age_seconds(LOCK)
    assert names(destination) == [LOCK]
    assert destination.remove(LOCK, version)
    destination.remove_root_if_empty()

    assert place.staged() == []
    assert names(destination) == []


def _at_once(place: Place, act: Callable[[Destination, int], str | None]) -> list[str]:
    """Let contenders act at the same moment, each from a destination of its own, and give the winners'."""
    barrier = threading.Barrier(CONTENDERS)
    with ExitStack() as stack:
        mine = [stack.enter_context(closing(place.again())) for _ in range(CONTENDERS)]

        def contend(number: int) -> str | None:
            barrier.wait()
            return act(mine[number], number)

        with ThreadPoolExecutor(CONTENDERS) as pool:
            return [v for v in pool.map(contend, range(CONTENDERS)) if v is not None]


def test_of_many_at_once_one_creates(place: Place) -> None:
    """However many try, one has created, and its bytes stand."""
    for _ in range(3):
        (winner,) = _at_once(place, lambda mine, number: mine.create(LOCK, b"%d" % number))
        assert place.destination.inspect(LOCK).version == winner
        assert place.destination.remove(LOCK, winner)


def test_of_many_at_once_one_replaces(place: Place) -> None:
    """However many saw the same version, one has replaced it, and its bytes stand."""
    version = place.destination.create(LOCK, b"first")
    for _ in range(3):
        assert version is not None
        old: str = version

        def replace(mine: Destination, number: int, old: str = old) -> str | None:
            return mine.replace(LOCK, f"{number} after {old}".encode(), old)

        (version,) = _at_once(place, replace)
        assert place.destination.inspect(LOCK).version == version
    assert place.staged() == []


def test_many_at_once_remove(place: Place) -> None:
    """However many remove a version, it goes, and at least one is told so."""
    version = place.destination.create(LOCK, b"first")
    assert version is not None

    removed = _at_once(place, lambda mine, _: "removed" if mine.remove(LOCK, version) else None)

    assert removed
    assert names(place.destination) == []


def test_publish_over_only_what_was_seen(destination: Destination) -> None:
    """What is staged replaces the version that was seen, or nothing where there was nothing, and no other."""
    first = finished(destination, "day=1/manifest.json", b"1")
    assert publish_over_untried(destination, first)
    seen = destination.inspect("day=1/manifest.json").version
    second, third = (finished(destination, "day=1/manifest.json", data) for data in (b"2", b"3"))

    assert not destination.publish_over(second, None)
    assert destination.publish_over(second, seen)
    assert not destination.publish_over(third, seen)
    assert destination.read("day=1/manifest.json") == b"2"
    destination.publish([third])
    assert destination.read("day=1/manifest.json") == b"3"


def test_a_listing_tells_the_versions_that_inspection_does(destination: Destination) -> None:
    """Where a listing tells a version, it is that of the object."""
    destination.create("a", b"1")
    destination.put("b", b"2")

    for listed in destination.list():
        assert listed.version in (None, destination.inspect(listed.name).version)
    if destination.kind != "local":
        assert all(listed.version for listed in destination.list())


def publish_over_untried(destination: Destination, staged: Staged) -> bool:
    """Publish where nothing stands, once the destination has shown that it keeps to conditions."""
    assert destination.create("untried", b"") is not None
    return destination.publish_over(staged, None)
