"""A file at a distance reads as the bytes it stands for, in few pieces."""

from __future__ import annotations

import io
import random

from hypothesis import given
from hypothesis import strategies as st

from rivet.destination.store.bucket import Tail
from rivet.destination.store.ranged import TAIL_BYTES, RangedFile

DATA = random.Random(4).randbytes(700_000)
OFFSETS = st.integers(0, len(DATA) + 10)
SIZES = st.one_of(st.just(-1), st.integers(0, 100), st.integers(0, len(DATA) + 10))


def _open(data: bytes, fetched: list[tuple[int, int]]) -> RangedFile:
    def fetch(start: int, end: int) -> bytes:
        assert 0 <= start < end <= len(data)
        fetched.append((start, end))
        return data[start:end]

    return RangedFile(Tail(data[-TAIL_BYTES:], len(data), "1"), fetch)


@given(st.lists(st.tuples(OFFSETS, SIZES), max_size=12), st.sampled_from([0, 1, TAIL_BYTES, len(DATA)]))
def test_reads_as_the_bytes(reads: list[tuple[int, int]], size_bytes: int) -> None:
    """Any reads at any offsets, behind the end too, give what they give of the bytes themselves."""
    data, fetched = DATA[:size_bytes], list[tuple[int, int]]()
    near, far = io.BytesIO(data), _open(data, fetched)
    for offset, size in reads:
        assert far.seek(offset) == near.seek(offset)
        assert far.read(size) == near.read(size)
        assert far.tell() == near.tell()

    buffers = bytearray(100), bytearray(100)
    near.seek(0)
    far.seek(0)
    assert near.readinto(buffers[0]) == far.readinto(buffers[1])
    assert buffers[0] == buffers[1]


def test_what_is_at_hand_is_not_fetched() -> None:
    """A small file and the tail of a large one cost nothing more, and reading on is done in large pieces."""
    fetched: list[tuple[int, int]] = []
    _open(DATA[:TAIL_BYTES], fetched).read()
    file = _open(DATA, fetched)
    file.seek(-TAIL_BYTES, io.SEEK_END)
    file.read()
    assert fetched == []
    file.seek(300_000)
    while file.read(1000):
        pass

    assert len(fetched) == 2
