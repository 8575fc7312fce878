"""Objects of every store: put, read, deleted, settled."""

from __future__ import annotations

from rivet.destination.protocol import Destination
from tests.destination.stores import Place, names, publish, sizes


def test_put_is_read_back(destination: Destination) -> None:
    """What was put is read back, by read and by open, and listed with its size."""
    destination.put("day=1/manifest.json", b"{}\n")

    assert destination.read("day=1/manifest.json") == b"{}\n"
    with destination.open("day=1/manifest.json") as file:
        assert file.read() == b"{}\n"
    assert sizes(destination) == [("day=1/manifest.json", 3)]


def test_put_replaces(destination: Destination) -> None:
    """A put under a taken name leaves the new bytes alone, longer or shorter."""
    for data in (b"first", b"a longer second", b""):
        destination.put("x", data)

        assert destination.read("x") == data
    assert names(destination) == ["x"]


def test_put_takes_what_is_large(place: Place) -> None:
    """A put of many megabytes, which a manifest of very many parts can be, arrives whole."""
    data = bytes(range(256)) * 4096 * 20
    place.destination.put("large", data)

    assert place.destination.read("large") == data
    assert sizes(place.destination) == [("large", len(data))]
    assert place.staged() == []


def test_put_leaves_nothing_staged(place: Place) -> None:
    """A put stages nothing that outlives it."""
    place.destination.put("a/b/c", b"1")

    assert place.staged() == []


def test_delete_missing_is_no_error(destination: Destination) -> None:
    """Deleting what is not there, below a directory or a file that is or is not, changes nothing."""
    destination.delete(["nothing", "no/such/one"])
    destination.put("day=1/p", b"rows")
    destination.delete(["day=1/q", "day=2/q", "day=1/p/below", "day=1"])
    destination.delete([])

    assert names(destination) == ["day=1/p"]


def test_delete_name_is_free_again(destination: Destination) -> None:
    """What was deleted with its directory can be put again."""
    destination.put("a/b/p", b"1")
    destination.delete(["a/b/p"])
    destination.put("a/b/p", b"2")
    destination.delete(["a/b/p"])
    publish(destination, "a/b/p", b"3")

    assert destination.read("a/b/p") == b"3"


def test_settle_any_directory(destination: Destination) -> None:
    """Directories that hold objects, that were pruned or never were, and the root, all settle."""
    destination.settle([""])
    destination.put("a/b/p", b"1")
    destination.put("c/p", b"1")
    destination.delete(["c/p"])
    destination.settle(d for d in ("a/b", "a", "c", "never", "", "a/b"))
    destination.settle([])

    assert names(destination) == ["a/b/p"]


def test_uri_ends_in_a_slash(destination: Destination) -> None:
    """The root is told with one slash at its end, and the kind as one word."""
    assert destination.uri.endswith("/")
    assert not destination.uri.endswith("//")
    assert destination.kind.isalnum()
