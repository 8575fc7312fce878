"""Objects of every store, read: whole, in ranges, by pyarrow, and while they are replaced."""

from __future__ import annotations

from collections.abc import Callable
from io import SEEK_CUR, SEEK_END

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rivet.destination.protocol import Destination
from rivet.errors import ObjectNotFound
from tests.destination.stores import RUN, part_name, publish


@pytest.mark.parametrize("name", ["nothing", "no/such/directory", "day=1", "day=1/p/below"])
def test_missing(destination: Destination, name: str) -> None:
    """Reading or opening a directory, what lies below an object, or nothing raises ObjectNotFound."""
    destination.put("day=1/p", b"rows")

    with pytest.raises(ObjectNotFound, match=name):
        destination.read(name)
    with pytest.raises(ObjectNotFound, match=name):
        destination.open(name)
    with pytest.raises(ObjectNotFound, match=name):
        destination.open(name, 100_000)


def test_missing_root(destination: Destination) -> None:
    """Reading below a root that does not exist raises ObjectNotFound."""
    with pytest.raises(ObjectNotFound):
        destination.read("manifest.json")


@pytest.mark.parametrize("size", [1, 1000, 64 * 1024, 64 * 1024 + 1, 256_000, 20_000_000])
def test_ranges(destination: Destination, size: int) -> None:
    """An open object of any size is read at any offset, from either end."""
    data = (bytes(range(251)) * (size // 251 + 1))[:size]
    publish(destination, part_name(), data)

    with destination.open(part_name(), size) as file:
        assert file.seek(-min(5, size), SEEK_END) == max(size - 5, 0)
        assert file.read() == data[-5:]
        assert file.read() == b""
        for start in (0, min(3, size - 1), size // 2, size - 1, size // 3):
            assert file.seek(start) == start
            assert file.read(70_000) == data[start : start + 70_000]
            assert file.tell() == min(start + 70_000, size)
        file.seek(0)
        file.seek(size // 2, SEEK_CUR)
        assert file.read(2) == data[size // 2 :][:2]
        buffer = bytearray(7)
        file.seek(size // 5)
        assert buffer[: file.readinto(buffer)] == data[size // 5 :][:7]  # type: ignore[attr-defined]
        file.seek(size + 10)
        assert file.read(1) == b""
        file.seek(0)
        assert file.read() == data


@pytest.mark.parametrize("believed", [None, 0, 10, 199_999, 200_001, 30_000_000])
def test_a_size_that_is_not_true_any_more_does_no_harm(
    destination: Destination, believed: int | None
) -> None:
    """The size that a caller believes an object to have changes nothing of what is read."""
    data = bytes(range(250)) * 800
    publish(destination, "p", data)

    with destination.open("p", believed) as file:
        assert file.seek(0, SEEK_END) == len(data)
        file.seek(-8, SEEK_END)
        assert file.read() == data[-8:]
        file.seek(0)
        assert file.read() == data


def test_several_readers_at_once(destination: Destination) -> None:
    """Two open objects do not move each other's place."""
    publish(destination, "p", bytes(200_000) + b"end")

    with destination.open("p") as one, destination.open("p") as other:
        one.seek(-3, SEEK_END)
        assert other.read(3) == bytes(3)
        assert one.read() == b"end"


def test_parquet(destination: Destination) -> None:
    """A Parquet file that pyarrow writes into a staged object is read by pyarrow from the open one."""
    table = pa.table({"n": list(range(10_000)), "t": [f"text {i}" for i in range(10_000)]})
    staged = destination.stage("p.parquet", RUN)
    with pa.output_stream(_Sink(staged.write)) as sink:
        pq.write_table(table, sink, row_group_size=1000)
    staged.finish()
    destination.publish([staged])

    with destination.open("p.parquet", staged.size_bytes) as file:
        assert pq.ParquetFile(file).num_row_groups == 10
        assert pq.read_table(file).equals(table)


@pytest.mark.parametrize("size", [12, 500_000])
@pytest.mark.parametrize("then", ["replaced", "deleted"])
def test_an_open_object_is_never_half_another(destination: Destination, size: int, then: str) -> None:
    """An open object that is replaced or deleted meanwhile is read on as it was, or found to be gone."""
    publish(destination, "p", b"o" * size)
    with destination.open("p") as file:
        assert file.read(3) == b"ooo"
        if then == "replaced":
            publish(destination, "p", b"n" * size)
        else:
            destination.delete(["p"])
        try:
            rest = file.read()
        except ObjectNotFound:
            rest = b"o" * (size - 3)

        assert rest == b"o" * (size - 3)


class _Sink:
    """A file that pyarrow writes to, over a function that takes bytes."""

    closed = False

    def __init__(self, write: Callable[[bytes], int]) -> None:
        self.write = write

    def flush(self) -> None:
        """Have nothing to do."""

    def close(self) -> None:
        """Leave the end to the one who opened."""
