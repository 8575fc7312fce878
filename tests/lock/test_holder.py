"""What stands in a lock is hearsay: whatever it is, it neither crashes nor misleads."""

from __future__ import annotations

import pytest

from rivet.destination.memory import MemoryDestination
from rivet.errors import LockHeld
from rivet.lock.holder import LIMIT_BYTES, decode, describe
from tests.lock.holding import LOCK, grow_old, held, lock_at

HOSTILE = {
    "nothing": b"",
    "no text": b"\xff\xfe\x00",
    "a list": b"[]",
    "deep": b"[" * 8000,
    "huge": b'{"version": 1, "pid": 1, "token": "' + b"x" * LIMIT_BYTES + b'"}',
    "a huge number": b'{"version": 1, "pid": ' + b"9" * 5000 + b', "token": "t"}',
    "another version": b'{"version": 2, "pid": 1, "token": "t"}',
    "a true version": b'{"version": true, "pid": 1, "token": "t"}',
    "no number": b'{"version": 1, "pid": "1", "token": "t"}',
    "a number below zero": b'{"version": 1, "pid": -1, "token": "t"}',
    "no token": b'{"version": 1, "pid": 1, "token": {}}',
    "NaN": b'{"version": 1, "pid": NaN, "token": "t"}',
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_is_no_lock_keeps_others_out_until_it_is_old(data: bytes) -> None:
    """Whatever stands there is judged by its age alone, and is told without being shown."""
    destination = MemoryDestination()
    destination.objects[LOCK] = data
    with pytest.raises(LockHeld, match="locked by somebody whose lock cannot be read; its last heartbeat"):
        lock_at(destination).await_turn()
    grow_old(destination)
    lock = held(destination)
    lock.release()
    assert destination.objects == {}


def test_a_lock_may_say_what_it_will_and_steers_no_terminal() -> None:
    """Escapes are shown by their codes; what is of no use is left out, and so are unknown keys."""
    data = (
        b'{"version": 1, "pid": 7, "token": "t", "more": [1], "run_id": "\\u001b[2J\\nError: x", "host": "'
        + b"h" * 300
        + b'", "started_at": "\\u001b]0;title\\u0007"}'
    )

    told = describe(decode(data))

    assert told == r"run '\x1b[2J\nError: x' on host '', process 7, since a time that it does not tell"
