"""A store that cannot keep two writers apart: the lock is kept on this machine, and a warning says so."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rivet.destination.memory import MemoryDestination
from rivet.errors import DestinationError, LockHeld, NoConditionalWrites
from rivet.ledger.place import default_path
from rivet.lock.opening import open_lock
from rivet.lock.protocol import Lock
from tests.destination.stores import RUN

LOCK = "_rivet_lock.json"
NOW = "2023-01-02T03:04:05.000000Z"


class Ignoring(MemoryDestination):
    """A store that writes whatever the condition says, which shows when it is tried."""

    def create(self, name: str, data: bytes, *, private: bool = False) -> str | None:
        """Write, and be found out."""
        self.put(name, data)
        raise NoConditionalWrites("it was replaced by a request whose condition did not hold")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the state directory of the user, which is not made yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "rivet" / "locks"


def _lock(destination: MemoryDestination) -> Lock:
    return open_lock(destination, LOCK, RUN, kept=True, clock=lambda: NOW)


@pytest.fixture
def open_umask() -> Iterator[None]:
    """Let the umask take nothing."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_the_lock_is_kept_on_this_machine(state: Path) -> None:
    """Nothing is left in the store, the second run here is kept out, and release removes the lock.

    It is for its owner alone, whatever the umask.
    """
    first, second = Ignoring(), Ignoring()
    lock, other = _lock(first), _lock(second)
    for one in (lock, other):
        one.await_turn()
    assert not state.exists()
    assert lock.hold()

    assert first.objects == {}
    (path,) = state.rglob(LOCK)
    made = (path, path.parent, state, state.parent, state.parents[1])
    assert [stat.S_IMODE(p.stat().st_mode) for p in made] == [0o600, 0o700, 0o700, 0o700, 0o700]
    (warning,) = lock.warnings
    assert "takes no conditional writes" in warning
    with pytest.raises(LockHeld, match="memory:/ is locked by run"):
        other.hold()
    lock.check()
    lock.step()
    lock.release()
    assert list(state.rglob(LOCK)) == []
    again = _lock(Ignoring())
    again.await_turn()
    assert again.hold()
    again.release()


def test_a_lock_in_the_ledger_keeps_other_machines_out(state: Path) -> None:
    """On such a store it is what does so; the warning says what it does not reach."""
    ledger = MemoryDestination()

    def lock_of(destination: MemoryDestination) -> Lock:
        return open_lock(
            destination, LOCK, RUN, kept=True, clock=lambda: NOW, shared=(ledger, "name of the tree")
        )

    lock, other = lock_of(Ignoring()), lock_of(Ignoring())
    for one in (lock, other):
        one.await_turn()
    assert lock.hold()
    (path,) = state.rglob(LOCK)
    path.unlink()  # another machine has none
    with pytest.raises(LockHeld, match="memory:/ is locked by run"):
        other.hold()
    (warning,) = lock.warnings
    assert "in the ledger's database, and on this machine: runs that name no such ledger are not" in warning
    other.release()
    assert list(ledger.objects) == ["name of the tree"]
    lock.release()
    assert ledger.objects == {}


def test_the_lock_lies_where_the_ledger_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One directory of a user holds both, also where the system's own is not that of XDG."""
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "darwin")
    lock = _lock(Ignoring())
    lock.await_turn()
    assert lock.hold()

    (path,) = tmp_path.rglob(LOCK)
    ledger = default_path(os.environ, sys.platform, Path.home)
    assert path.is_relative_to(ledger.parent / "locks")
    lock.release()


def test_without_a_home_there_is_no_lock_and_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to write instead."""

    def nowhere() -> Path:
        raise RuntimeError

    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    lock = _lock(Ignoring())
    lock.await_turn()

    with pytest.raises(DestinationError) as told:
        lock.hold()
    assert "`lock: off`" in (told.value.hint or "")
    lock.release()
