"""A lock that is held: renewed by a thread, looked at by its holder, given back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from rivet.errors import LockLost, ObjectNotFound, RivetError
from rivet.lock.holder import LIMIT_BYTES, Holder, decode, describe
from rivet.lock.protocol import Records
from rivet.lock.timing import Timing

_JOIN_SECONDS = 10.0
_BOOT_TIME: int | None = getattr(time, "CLOCK_BOOTTIME", None)


def seconds() -> float:
    """Give a clock that goes on while the process is stopped and, where it can, while the machine sleeps."""
    return time.monotonic() if _BOOT_TIME is None else time.clock_gettime(_BOOT_TIME)


class Lease:
    """An object that this run has written last, and writes again and again.

    Others may take it over once it has stood unchanged for `stale_seconds` by the store's clock. Here the
    time since the last renewal is counted from before that was sent, so that it is never less. The holder
    renews when half of that has gone by: a step that follows has the other half.

    Args:
        tree: What is locked, for messages.
        version: Of the object as this run has written it.
        renewed: When that was, by `seconds`.
        clock: Gives the present as the lock tells it to people.
    """

    def __init__(
        self,
        records: Records,
        name: str,
        holder: Holder,
        version: str,
        *,
        tree: str,
        renewed: float,
        timing: Timing,
        clock: Callable[[], str],
    ) -> None:
        self._records = records
        self._name = name
        self._holder = holder
        self._version = version
        self._tree = tree
        self._renewed = renewed
        self._timing = timing
        self._clock = clock
        self._lost: str | None = None
        self._bug: BaseException | None = None
        self._changing = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="rivet-lock", daemon=True)

    def begin(self) -> None:
        """Renew the lock from now on."""
        self._thread.start()

    def check(self) -> None:
        """Read the lock, and renew it where that is due."""
        self._must_not_be_lost()
        try:
            seen = decode(self._records.inspect(self._name, LIMIT_BYTES).data)
        except ObjectNotFound:
            self._lose("the lock is gone")
        else:
            if seen is None or seen.token != self._holder.token:
                self._lose(f"the lock is held by {describe(seen)}")
        self._must_not_be_lost()
        if self._is_due():
            self._renew()

    def step(self) -> None:
        """Check only where a renewal is due."""
        self._must_not_be_lost()
        if self._is_due():
            self.check()

    def must_have_lived(self) -> None:
        """Raise where a bug has ended the renewing."""
        if self._bug is not None:
            raise RuntimeError("the thread that renews the lock has died") from self._bug

    def end(self) -> str | None:
        """Stop renewing and remove the object; give what kept it from that."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(_JOIN_SECONDS)
            if self._thread.is_alive():
                return "a renewal of it is still under way"
        if self._lost is not None:
            return None
        try:
            seen = self._records.inspect(self._name, LIMIT_BYTES)
            holder = decode(seen.data)
            if holder is not None and holder.token == self._holder.token:
                self._records.remove(self._name, seen.version)
        except ObjectNotFound:
            pass
        except RivetError as exc:
            return str(exc)
        return None

    def _is_due(self) -> bool:
        return seconds() - self._renewed > self._timing.stale_seconds / 2

    def _beat(self) -> None:
        while not self._ended.wait(self._timing.heartbeat_seconds):
            try:
                self._renew()
            except LockLost:
                return
            except RivetError:
                continue  # tried again at the next beat; the holder itself tries when it becomes urgent
            except BaseException as error:  # noqa: BLE001 - raised again in the thread of the holder
                self._bug = error
                return

    def _renew(self) -> None:
        """Write the lock again where it is as this run has written it last."""
        with self._changing:
            for _ in range(2):
                self._must_not_be_lost()
                begun = seconds()
                data = replace(self._holder, heartbeat_at=self._clock()).encode()
                version = self._records.replace(self._name, data, self._version, private=True)
                if version is not None:
                    self._version, self._renewed = version, begun
                    return
                # An earlier renewal may have come to pass though it was given up for failed.
                self._find_own()
            self._lose("the lock does not stay as it is written")
            self._must_not_be_lost()

    def _find_own(self) -> None:
        try:
            seen = self._records.inspect(self._name, LIMIT_BYTES)
        except ObjectNotFound:
            self._lose("the lock is gone")
            return
        holder = decode(seen.data)
        if holder is not None and holder.token == self._holder.token:
            self._version = seen.version
        else:
            self._lose(f"the lock is held by {describe(holder)}")

    def _lose(self, why: str) -> None:
        self._lost = self._lost or why

    def _must_not_be_lost(self) -> None:
        self.must_have_lived()
        if self._lost is not None:
            raise LockLost(
                f"another run has taken the place of this one on {self._tree}: {self._lost}",
                hint="this one was stopped or cut off for too long; run again when the other has ended",
            )
