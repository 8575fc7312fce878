"""Reads several scans at once, each on a thread of its own from its connection to its encoder."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Generic, TypeVar

from rivet.export.passing import Read
from rivet.plan.scans import Scan
from rivet.plan.sharing import jobs_of
from rivet.source.protocol import Batches

# A signal that arrives just before a thread begins to wait does not wake it, so no wait is without an end.
_WAKE_SECONDS = 0.5

Job = tuple[Scan, ...]
"""Scans that one worker reads, one after the other."""

LineT = TypeVar("LineT")


PassOn = Callable[[Sequence[Scan], Read, LineT, Callable[[int], None], int], None]
"""Passes on scans that are read, to a line; it takes whom to tell the rows, and the first one's number."""


def run_at_once(
    scans: Sequence[Scan],
    read_of: Callable[[], Read],
    lines: Sequence[LineT],
    pass_on: PassOn[LineT],
    on_rows: Callable[[int], None],
) -> None:
    """Read all scans, as many at once as there are lines.

    Args:
        read_of: Gives what reads the scans of one job.
        on_rows: Told on the main thread, from time to time, the rows so far.
    """
    numbers = {id(scan): number for number, scan in enumerate(scans, 1)}

    def work(job: Job, line: LineT, watch: Watch) -> None:
        read = read_of()
        pass_on(job, lambda scan: watch.reading(read(scan)), line, watch.rows, numbers[id(job[0])])

    Workers(lines, work, on_rows).run(jobs_of(scans))


class Stopped(BaseException):
    """Another worker has failed, or the run was interrupted: nothing that is under way counts any more."""


class Watch:
    """What all workers pass their readings and their progress through, so that they can be stopped."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._rows = 0
        self._readings: set[_Reading] = set()
        self.is_stopped = False

    def reading(self, batches: AbstractContextManager[Batches]) -> AbstractContextManager[Batches]:
        """Give a reading that is left when all are stopped."""
        return _Reading(self, batches)

    def rows(self, rows: int) -> None:
        """Take note of the rows of all workers so far.

        Raises:
            Stopped: None are wanted any more.
        """
        with self._changed:
            if self.is_stopped:
                raise Stopped
            self._rows = max(self._rows, rows)

    def wait(self) -> int:
        """Wait for a while, or until a worker has ended, and give the rows so far."""
        with self._changed:
            self._changed.wait(_WAKE_SECONDS)
            return self._rows

    def wake(self) -> None:
        """End the wait."""
        with self._changed:
            self._changed.notify_all()

    def stop(self) -> None:
        """Stop every query that is under way: who waits for its rows then ends."""
        with self._changed:
            self.is_stopped = True
            readings, self._readings = self._readings, set()
        for reading in readings:
            reading.leave(None, None, None)

    def begin(self, reading: _Reading) -> bool:
        """Take note of a reading, and tell whether it may go on."""
        with self._changed:
            if not self.is_stopped:
                self._readings.add(reading)
            return not self.is_stopped

    def end(self, reading: _Reading) -> bool:
        """Forget a reading, and tell whether its worker is to leave it, as no other thread does."""
        with self._changed:
            is_own = reading in self._readings
            self._readings.discard(reading)
            return is_own


class Workers(Generic[LineT]):
    """Threads, each with a line, that take jobs from one queue until it is empty.

    Where one fails, the queries of all others are stopped, and all threads have ended before its error is
    raised; so it is when the main thread is interrupted.

    Args:
        lines: Where each worker's rows go.
        work: Does a job: it takes the job, the worker's line and what to pass readings and progress through.
        on_rows: Told on the main thread, from time to time, the rows so far.
    """

    def __init__(
        self,
        lines: Sequence[LineT],
        work: Callable[[Job, LineT, Watch], None],
        on_rows: Callable[[int], None],
    ) -> None:
        self._lines = lines
        self._work = work
        self._on_rows = on_rows
        self._jobs: deque[Job] = deque()
        self._watch = Watch()
        self._failures: list[BaseException] = []

    def run(self, jobs: Sequence[Job]) -> None:
        """Do all jobs, in this order as far as workers are free."""
        self._jobs.extend(jobs)
        # Daemons, so that a driver that blocks for ever cannot hold up the end of the process.
        threads = [
            threading.Thread(target=self._serve, args=(line,), name="rivet-worker", daemon=True)
            for line in self._lines
        ]
        try:
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads) and not self._failures:
                self._on_rows(self._watch.wait())
        finally:
            self._watch.stop()
            for thread in threads:
                while thread.is_alive():
                    thread.join(_WAKE_SECONDS)
        if self._failures:
            raise self._failures[0]

    def _serve(self, line: LineT) -> None:
        try:
            while (job := self._next()) is not None:
                self._work(job, line, self._watch)
        except BaseException as error:  # noqa: BLE001 - raised again in the main thread
            if not self._watch.is_stopped:  # else it is only what stopping it looks like
                self._failures.append(error)
        finally:
            self._watch.wake()

    def _next(self) -> Job | None:
        try:
            return None if self._watch.is_stopped else self._jobs.popleft()
        except IndexError:
            return None


class _Reading(AbstractContextManager[Batches]):
    """The reading of a scan, which is left once, by its worker or by who stops it."""

    def __init__(self, watch: Watch, batches: AbstractContextManager[Batches]) -> None:
        self._watch = watch
        self._batches = batches

    def __enter__(self) -> Batches:
        entered = self._batches.__enter__()
        if not self._watch.begin(self):
            self.leave(None, None, None)
            raise Stopped
        return entered

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._watch.end(self):
            self.leave(kind, error, trace)

    def leave(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the scan, which ends its query unless it is complete."""
        self._batches.__exit__(kind, error, trace)
