"""What the destination in memory offers to tests of other rooms."""

from __future__ import annotations

import pytest

from rivet.destination.memory import MemoryDestination, fail_before
from rivet.errors import DestinationUnavailable
from tests.destination.stores import RUN, publish


def test_records_what_is_done() -> None:
    """Every operation is recorded in order, numbered within its kind."""
    destination = MemoryDestination()
    publish(destination, "day=1/p", b"rows")
    destination.put("day=1/a", b"")
    destination.settle(["day=1", ""])
    destination.delete(["day=1/a"])

    assert [(o.kind, o.name, o.number) for o in destination.operations] == [
        ("stage", "day=1/p", 1),
        ("write", "day=1/p", 1),
        ("finish", "day=1/p", 1),
        ("publish", "day=1/p", 1),
        ("put", "day=1/a", 1),
        ("settle", "day=1", 1),
        ("settle", "", 2),
        ("delete", "day=1/a", 1),
    ]


@pytest.mark.parametrize("error", [DestinationUnavailable("disk full"), KeyboardInterrupt()])
def test_fails_before_the_operation(error: BaseException) -> None:
    """An operation that is made to fail changes nothing and is not recorded; the others go through."""
    destination = MemoryDestination(fail_before("put", 2, error))
    destination.put("a", b"1")
    with pytest.raises(type(error)):
        destination.put("a", b"2")

    assert destination.objects == {"a": b"1"}
    assert len(destination.operations) == 1
    destination.put("a", b"3")
    assert destination.objects == {"a": b"3"}


def test_failed_write_can_be_discarded() -> None:
    """What was staged before a failed write is dropped by discard."""
    destination = MemoryDestination(fail_before("write", 2, DestinationUnavailable("disk full")))
    staged = destination.stage("p", RUN)
    staged.write(b"1")
    with pytest.raises(DestinationUnavailable):
        staged.write(b"2")
    staged.discard()

    assert destination.staged == {}
    assert destination.objects == {}
