"""The checksums that stores have of their objects: known before publishing, and true."""

from __future__ import annotations

import pytest

from rivet.destination.protocol import Destination
from tests.destination.stores import OTHER_RUN, PART_BYTES, finished, part_name

SIZES = pytest.mark.parametrize("size", [0, 1, 100_000, PART_BYTES, PART_BYTES + 1, 2 * PART_BYTES + 7])


@SIZES
def test_listed_as_it_was_staged(destination: Destination, size: int) -> None:
    """What a staged object says of its checksum is what the listing says once it is published."""
    staged = finished(destination, part_name(), b"x" * size)
    told = staged.checksum
    destination.publish([staged])
    (listed,) = destination.list()

    assert (told, staged.checksum) == (listed.checksum, listed.checksum)
    # Local files have none; to trust a store's is what spares the reading of parts that did not change.
    assert (told is None) == (destination.kind == "local")


@SIZES
def test_equal_for_equal_bytes(destination: Destination, size: int) -> None:
    """The same bytes in other chunks, under another name and of another run, have the same checksum."""
    data = bytes(range(256)) * (size // 256 + 1)
    one = finished(destination, part_name(), data[:size])
    other = destination.stage(part_name(OTHER_RUN), OTHER_RUN)
    for start in range(0, size, 1_000_003):
        other.write(data[start : min(start + 1_000_003, size)])
    other.finish()
    destination.publish([one, other])
    first, second = destination.list()

    assert first.checksum == second.checksum == one.checksum


@pytest.mark.parametrize("size", [1, 100_000, PART_BYTES + 1, 2 * PART_BYTES + 7])
@pytest.mark.parametrize("place", ["memory", "s3", "gcs"], indirect=True)
def test_differs_for_other_bytes(destination: Destination, size: int) -> None:
    """One other byte, at the beginning or at the end, is another checksum."""
    variants = [b"x" * size, b"y" + b"x" * (size - 1), b"x" * (size - 1) + b"z"]
    checksums = {finished(destination, part_name(number=i), data).checksum for i, data in enumerate(variants)}

    assert len(checksums) == 3
    assert None not in checksums


@pytest.mark.parametrize("place", ["memory", "s3", "gcs"], indirect=True)
def test_a_put_has_one_too(destination: Destination) -> None:
    """What was put and what was published have the same checksum where they hold the same."""
    destination.put("a", b"same")
    staged = finished(destination, "b", b"same")
    destination.publish([staged])

    assert {listed.checksum for listed in destination.list()} == {staged.checksum}
