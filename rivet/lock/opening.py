"""Chooses what keeps the lock of an export."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

from rivet.destination.local import LocalDestination
from rivet.destination.protocol import Destination
from rivet.errors import DestinationError, NoConditionalWrites
from rivet.lock.object_lock import Clock, Hear, ObjectLock
from rivet.lock.protocol import Lock, NoLock, Records
from rivet.lock.two_locks import TwoLocks
from rivet.state_directory import state_directory


def open_lock(
    destination: Destination,
    name: str,
    run_id: str,
    *,
    kept: bool,
    clock: Clock,
    shared: tuple[Records, str] | None = None,
    wait_seconds: float = 0.0,
    on_wait: Hear = lambda _: None,
) -> Lock:
    """Give the lock of the tree at a destination; nothing is asked or written yet.

    Args:
        name: Of the object that is the lock, in the destination.
        kept: Whether there shall be one.
        shared: Where another is kept that all runs share which name that place, and its name there.
    """
    uri = destination.uri

    def lock_in(records: Records, named: str = name) -> ObjectLock:
        return ObjectLock(
            records, named, run_id, tree=uri, clock=clock, wait_seconds=wait_seconds, on_wait=on_wait
        )

    if not kept:
        return NoLock()
    beside = StoreLock(destination, name, lock_in, is_shared=shared is not None)
    return beside if shared is None else TwoLocks(lock_in(*shared), beside, tree=uri)


class StoreLock:
    """A lock beside the tree, or on this machine where the store cannot keep two writers apart.

    Args:
        lock_in: Makes the lock at a place.
        is_shared: Whether there is one in the ledger's database, too.
    """

    def __init__(
        self,
        destination: Destination,
        name: str,
        lock_in: Callable[[Records], Lock],
        *,
        is_shared: bool,
    ) -> None:
        self._destination = destination
        self._name = name
        self._lock_in = lock_in
        self._lock = lock_in(destination)
        self._is_shared = is_shared
        self._warnings: list[str] = []

    @property
    def warnings(self) -> list[str]:
        """Give what the user should know."""
        return [*self._warnings, *self._lock.warnings]

    def await_turn(self) -> None:
        """Wait for the turn."""
        self._lock.await_turn()

    def hold(self) -> bool:
        """Take the lock; that is when a store shows that it keeps to no conditions."""
        try:
            return self._lock.hold()
        except NoConditionalWrites:
            self._destination.delete([self._name])
            self._lock = self._local_lock()
            self._lock.await_turn()
            return self._lock.hold()

    def check(self) -> None:
        """Read the lock."""
        self._lock.check()

    def step(self) -> None:
        """Read the lock where it was renewed long ago."""
        self._lock.step()

    def release(self) -> None:
        """Remove the lock."""
        self._lock.release()

    def _local_lock(self) -> Lock:
        uri = self._destination.uri
        where = (
            "in the ledger's database, and on this machine: runs that name no such ledger are not kept apart"
            if self._is_shared
            else "on this machine alone: runs of other machines or users are not kept apart"
        )
        self._warnings.append(f"the store of {uri} takes no conditional writes, so the lock is kept {where}")
        place = _state_directory() / "locks" / _digest(uri)
        return self._lock_in(LocalDestination(place, directory_mode=0o700))


def _digest(uri: str) -> str:
    return hashlib.sha256(uri.encode(errors="surrogatepass")).hexdigest()[:32]


def _state_directory() -> Path:
    directory = state_directory(os.environ, sys.platform, Path.home)
    if directory is None:
        raise DestinationError(
            "this user has no home directory to keep a lock in",
            hint="set XDG_STATE_HOME, or write `lock: off` into the export",
        )
    return directory
