"""A lock that is an object beside the tree: created where there is none, replaced where it is nobody's."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from rivet.errors import DestinationUnavailable, LockHeld, ObjectNotFound
from rivet.lock.holder import LIMIT_BYTES, Holder, decode, describe
from rivet.lock.lease import Lease, seconds
from rivet.lock.process import Process, is_surely_dead, this_process
from rivet.lock.protocol import Records
from rivet.lock.timing import TIMING, Timing

# Turns that another was faster at; many that wait share a lock, but not so badly.
_MOST_MISSED = 100
# Tokens of the locks that this process holds. One that bears its number and is not among them was left behind
# by a run in it that has ended without being able to release it.
_live_tokens: set[str] = set()

Clock = Callable[[], str]
Hear = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class _Found:
    """A lock that stands.

    Attributes:
        age_seconds: Since its last renewal, by the store's clock.
    """

    holder: Holder | None
    version: str
    age_seconds: float


class ObjectLock:
    """The lock of one run.

    Args:
        records: Where the lock is kept.
        name: The object's there.
        wait_seconds: How long to wait for a turn, from the first look on.
        on_wait: Told once, for people, that and for whom the run waits.
        tree: What is locked, for messages.
    """

    def __init__(
        self,
        records: Records,
        name: str,
        run_id: str,
        *,
        tree: str,
        clock: Clock,
        wait_seconds: float = 0.0,
        on_wait: Hear = lambda _: None,
        timing: Timing | None = None,
        process: Process | None = None,
    ) -> None:
        self.warnings: list[str] = []
        self._records = records
        self._name = name
        self._run_id = run_id
        self._tree = tree
        self._clock = clock
        self._wait_seconds = wait_seconds
        self._on_wait = on_wait
        self._timing = timing or TIMING
        self._process = process or this_process()
        self._token = secrets.token_hex(16)
        self._until: float | None = None
        self._has_told = False
        self._lease: Lease | None = None
        self._missed = 0
        # From here on the lock may be ours, whatever interrupts the taking.
        self._is_taking = False

    def await_turn(self) -> None:
        """Look at the lock until it is free or dead, or this run waits no longer."""
        if self._until is None:
            self._until = seconds() + self._wait_seconds
        while self._lease is None:
            found = self._look()
            if found is None or (self._is_dead(found) and self._take(found.version)):
                return
            if not self._is_dead(found):
                self._wait_for(found)

    def hold(self) -> bool:
        """Create the lock, unless it was taken over."""
        if self._lease is not None or self._take(None):
            return True
        found = self._look()
        if found is not None and not self._is_dead(found) and seconds() >= (self._until or 0):
            raise self._held_by(found)
        self._missed += 1
        if self._missed > _MOST_MISSED:
            raise DestinationUnavailable(
                f"the lock {self._name!r} of {self._tree} can be had by nobody: {self._missed} times it was"
                " there when it was to be created, and then it was not",
                hint="look what changes it, then run again",
            )
        return False

    def check(self) -> None:
        """Read the lock."""
        if self._lease is not None:
            self._lease.check()

    def step(self) -> None:
        """Read the lock where it was renewed long ago."""
        if self._lease is not None:
            self._lease.step()

    def release(self) -> None:
        """Remove the lock, as far as it is ours."""
        lease, self._lease = self._lease, None
        if lease is None and self._is_taking:  # interrupted in between
            lease = self._lease_of("", 0.0)
        self._is_taking = False
        trouble = None if lease is None else lease.end()
        _live_tokens.discard(self._token)
        if trouble is not None:
            self.warnings.append(
                f"the lock of {self._tree} could not be released ({trouble}): the next run takes it over"
                f" {self._timing.stale_seconds:g} seconds after its last renewal"
            )
        if lease is not None:
            lease.must_have_lived()

    def _look(self) -> _Found | None:
        try:
            seen = self._records.inspect(self._name, LIMIT_BYTES + 1)
            # Afterwards: an old age is then surely that of what was seen.
            age_seconds = self._records.age_seconds(self._name)
        except ObjectNotFound:
            return None
        return _Found(decode(seen.data), seen.version, age_seconds)

    def _is_dead(self, found: _Found) -> bool:
        if found.age_seconds > self._timing.stale_seconds:
            return True
        if found.holder is None:
            return False
        if found.holder.process == self._process and self._process.machine:
            return found.holder.token not in _live_tokens
        return is_surely_dead(found.holder.process, self._process)

    def _take(self, version: str | None) -> bool:
        """Write the lock where this version stands, or none; tell whether it is ours now."""
        now, begun = self._clock(), seconds()
        holder = Holder(self._run_id, self._process, now, now, self._token)
        self._is_taking = True
        _live_tokens.add(self._token)
        if version is None:
            written = self._records.create(self._name, holder.encode(), private=True)
        else:
            written = self._records.replace(self._name, holder.encode(), version, private=True)
        if written is None:
            self._is_taking = False
            return False
        self._lease = self._lease_of(written, begun, holder)
        self._lease.begin()
        return True

    def _lease_of(self, version: str, renewed: float, holder: Holder | None = None) -> Lease:
        return Lease(
            self._records,
            self._name,
            holder or Holder(self._run_id, self._process, "", "", self._token),
            version,
            tree=self._tree,
            renewed=renewed,
            timing=self._timing,
            clock=self._clock,
        )

    def _wait_for(self, found: _Found) -> None:
        left = (self._until or 0) - seconds()
        if left <= 0:
            raise self._held_by(found)
        if not self._has_told:
            self._has_told = True
            self._on_wait(f"waiting for {describe(found.holder)}, which holds the lock")
        # Not all that wait shall look at one moment.
        time.sleep(min(left, self._timing.poll_seconds * random.uniform(0.5, 1.5)))  # noqa: S311

    def _held_by(self, found: _Found) -> LockHeld:
        stale = f"{self._timing.stale_seconds:g}"
        return LockHeld(
            f"{self._tree} is locked by {describe(found.holder)};"
            f" its last heartbeat was {found.age_seconds:.0f} seconds ago",
            hint=f"run again when it has ended, or with --wait SECONDS; one that has died is taken over after"
            f" {stale} seconds without a heartbeat",
        )
