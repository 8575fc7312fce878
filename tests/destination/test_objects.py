"""Objects of every store: put, read in ranges, deleted, settled."""

from __future__ import annotations

from collections.abc import Callable
from io import SEEK_END

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rivet.destination.protocol import Destination
from rivet.errors import ObjectNotFound
from tests.destination.stores import RUN, Place, names, publish, sizes


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


def test_put_leaves_nothing_staged(place: Place) -> None:
    """A put stages nothing that outlives it."""
    place.destination.put("a/b/c", b"1")

    assert place.staged() == []


@pytest.mark.parametrize("name", ["nothing", "no/such/directory", "day=1", "day=1/p/below"])
def test_read_missing(destination: Destination, name: str) -> None:
    """Reading or opening a directory, what lies below an object, or nothing raises ObjectNotFound."""
    destination.put("day=1/p", b"rows")

    with pytest.raises(ObjectNotFound, match=name):
        destination.read(name)
    with pytest.raises(ObjectNotFound, match=name):
        destination.open(name)


def test_read_missing_root(destination: Destination) -> None:
    """Reading below a root that does not exist raises ObjectNotFound."""
    with pytest.raises(ObjectNotFound):
        destination.read("manifest.json")


def test_read_ranges(destination: Destination) -> None:
    """An open object is read at any offset, from either end."""
    data = bytes(range(256)) * 1000
    publish(destination, "p", data)

    with destination.open("p") as file:
        assert file.seek(-5, SEEK_END) == len(data) - 5
        assert file.read() == data[-5:]
        assert file.read() == b""
        file.seek(100_000)
        assert file.read(70_000) == data[100_000:170_000]
        assert file.tell() == 170_000
        file.seek(3)
        assert file.read(2) == data[3:5]


def test_read_parquet_through_open(destination: Destination) -> None:
    """A Parquet file that pyarrow writes into a staged object is read by pyarrow from the open one."""
    table = pa.table({"n": list(range(10_000)), "t": [f"text {i}" for i in range(10_000)]})
    staged = destination.stage("p.parquet", RUN)
    with pa.output_stream(_Sink(staged.write)) as sink:
        pq.write_table(table, sink, row_group_size=1000)
    staged.finish()
    destination.publish([staged])

    with destination.open("p.parquet") as file:
        assert pq.ParquetFile(file).num_row_groups == 10
        assert pq.read_table(file).equals(table)


def test_read_open_keeps_the_old_object(destination: Destination) -> None:
    """An open object is read to its end as it was, though it is replaced and deleted meanwhile."""
    destination.put("p", b"old and long")
    with destination.open("p") as file:
        assert file.read(3) == b"old"
        destination.put("p", b"new")
        destination.delete(["p"])

        assert file.read() == b" and long"


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


class _Sink:
    """A file that pyarrow writes to, over a function that takes bytes."""

    closed = False

    def __init__(self, write: Callable[[bytes], int]) -> None:
        self.write = write

    def flush(self) -> None:
        """Have nothing to do."""

    def close(self) -> None:
        """Leave the end to the one who opened."""
