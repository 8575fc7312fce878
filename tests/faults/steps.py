"""The steps of a run, as a child process of the driver takes them, and what befalls it at one of them."""

from __future__ import annotations

import errno
import io
import os
import signal
import socket
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import IO, Any, Literal, TypedDict

import rivet.attempt.attempt
import rivet.destination.local
import rivet.exporting
from rivet.attempt.telling import Telling
from rivet.destination.gcs.bucket import GcsBucket
from rivet.destination.local import LocalDestination, LocalStaged
from rivet.destination.s3.bucket import S3Bucket
from rivet.destination.store.destination import StoreDestination
from rivet.destination.store.staged import StoreStaged
from rivet.errors import DestinationUnavailable, SourceUnavailable
from rivet.plan.names import EXPORT_FILE, LOCK_FILE, SUCCESS_FILE
from rivet.publish.publisher import Publisher
from rivet.source.mysql.session import MysqlSession
from rivet.source.postgres.session import PostgresSession
from rivet.source.sqlite.session import SqliteSession

Kind = Literal["kill", "bug", "unavailable", "cut", "full"]
Side = Literal["before", "after"]
Namer = Callable[..., str | None]

IN_A_STORE = ("part uploaded",)
ON_A_DISK = ("directory synced",)
STEPS = (
    "described", "tree read", "probed", "planned", "lock taken", "recovered", "run announced", "scanned",
    "rows read", "part begun", "part written", "part finished", "manifest staged", "proved", "lock renewed",
    "marker removed", "part published", *IN_A_STORE, "manifest published", "marker published", *ON_A_DISK,
    "old parts removed", "vanished removed", "accounted", "swept", "lock released",
)  # fmt: skip
AS_TIME_HAS_IT = ("rows read", "lock renewed")
"""Steps that come more or less often by how fast the machine is, but once at least."""
OF_THE_SOURCE = ("described", "probed", "planned", "scanned", "rows read", "proved")
"""Steps at which it is the source that fails; at all others it is the destination."""


class Fault(TypedDict):
    """What befalls a run, before or after the step of that name that comes as the number says, from 0."""

    step: str
    side: Side
    number: int
    kind: Kind
    secret: str


class _FullFile(io.FileIO):
    """A file on a disk that may become full: it takes half of what it is given, then nothing."""

    has_taken_half = False

    def write(self, data: Any, /) -> int:
        if not _full.is_set():
            return super().write(data)
        if self.has_taken_half or len(data) < 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.has_taken_half = True
        return super().write(bytes(data)[: len(data) // 2])


class Steps:
    """Counts the steps of this process, and lets the fault come at its step."""

    def __init__(self, fault: Fault | None) -> None:
        self.counts: Counter[str] = Counter()
        self._fault = fault
        self._passed: Counter[tuple[str, Side]] = Counter()
        self._lock = threading.Lock()
        self._renewed = threading.Event()

    def install(self) -> None:
        """Put a hook before and after everything that is a step."""
        for owner, method, name in _hooks():
            setattr(owner, method, self._hooked(getattr(owner, method), name))
        # A short run is over before its lock is renewed: this one reads no sooner than that.
        scan = rivet.attempt.attempt.Attempt._scan

        def scanned(*args: Any) -> None:
            assert self._renewed.wait(60)
            scan(*args)

        setattr(rivet.attempt.attempt.Attempt, "_scan", scanned)  # noqa: B010 - mypy knows its type
        if self._fault is not None and self._fault["kind"] == "full":
            _make_disks_that_fill()

    def _hooked(self, method: Callable[..., Any], name: Namer) -> Callable[..., Any]:
        def stepped(*args: Any, **kwargs: Any) -> Any:
            args = tuple(
                list(a) if isinstance(a, Iterator) else a for a in args
            )  # what is looked at is not gone
            step = name(*args)
            if step is None:
                return method(*args, **kwargs)
            try:
                self._pass(step, "before")
                result = method(*args, **kwargs)
                self._pass(step, "after")
            finally:
                if step == "lock renewed":  # or was to be: a disk that is full lets nobody renew
                    self._renewed.set()
            return result

        return stepped

    def _pass(self, step: str, side: Side) -> None:
        with self._lock:
            number = self._passed[step, side]
            self._passed[step, side] += 1
            self.counts[step] = max(self.counts[step], number + 1)
        fault = self._fault
        if fault is not None and (fault["step"], fault["side"], fault["number"]) == (step, side, number):
            _befall(fault)


def _befall(fault: Fault) -> None:
    if fault["kind"] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif fault["kind"] == "bug":
        raise RuntimeError(f"nobody foresaw this, nor that it has {fault['secret']} in it")
    elif fault["kind"] == "unavailable":
        raise (SourceUnavailable if fault["step"] in OF_THE_SOURCE else DestinationUnavailable)("it failed")
    elif fault["kind"] == "cut":
        _cut_connections()
    else:
        _full.set()


def _cut_connections() -> None:
    """Shut every connection of this process to a server, as a network does that goes away."""
    for number in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208 - numbers, not paths
        with suppress(OSError), socket.socket(fileno=os.dup(number)) as connection:
            if connection.family == socket.AF_INET:
                connection.shutdown(socket.SHUT_RDWR)


def _make_disks_that_fill() -> None:
    io.FileIO = _FullFile  # type: ignore[misc]

    def refusing(call: Callable[..., Any]) -> Callable[..., Any]:
        def made(*args: Any, **kwargs: Any) -> Any:
            if _full.is_set():
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return call(*args, **kwargs)

        return made

    def temporary_file(**_: object) -> IO[bytes]:
        handle, path = tempfile.mkstemp()
        os.unlink(path)  # noqa: PTH108 - as the original does
        return _FullFile(handle, "w+")

    os.mkdir, os.link = refusing(os.mkdir), refusing(os.link)
    tempfile.TemporaryFile = temporary_file  # type: ignore[assignment]


def _hooks() -> Iterator[tuple[Any, str, Namer]]:
    """Give each hook: whose method it is before and after which a step is, and the name of the step."""
    whole = {
        "described": (rivet.exporting, "describe"),
        "tree read": (rivet.exporting, "read_tree"),
        "planned": (rivet.attempt.attempt, "refuse_vanished"),
        "recovered": (rivet.attempt.attempt, "recover"),
        "proved": (rivet.attempt.attempt, "prove"),
    }
    for step, (module, function) in whole.items():
        yield module, function, _always(step)
    for session in (PostgresSession, MysqlSession, SqliteSession):
        yield session, "probe", _always("probed")
    yield rivet.attempt.attempt.Attempt, "_scan", _always("scanned")
    yield Telling, "rows", _always("rows read")
    yield Publisher, "complete", _always("accounted")
    for staged in (LocalStaged, StoreStaged):
        yield staged, "write", lambda file, _: "part written" if _is_part(file) else None
        yield staged, "finish", lambda file: "part finished" if _is_part(file) else "manifest staged"
    for destination in (LocalDestination, StoreDestination):
        yield destination, "stage", lambda _, name, __: "part begun" if name.endswith(".parquet") else None
        yield destination, "create", _of_names("lock taken", "run announced")
        yield destination, "replace", _of_names("lock renewed", "run announced")
        yield destination, "remove", lambda _, name, __: _removed(name)
        yield destination, "publish", lambda _, files: _published(files[0]) if files else None
        yield destination, "publish_over", lambda _, file, __: _published(file)
        yield destination, "delete", lambda _, names: _deleted(next(iter(names), ""))
        yield destination, "sweep", _always("swept")
        yield destination, "note", _always("chunk noted")
        yield destination, "take_over", _always("chunk taken over")
    yield LocalDestination, "settle", _always("directory synced")
    for bucket in (S3Bucket, GcsBucket):
        yield bucket, "put", lambda _, key, *__: "part uploaded" if key.endswith(".parquet") else None


def _always(step: str) -> Namer:
    return lambda *_: step


def _of_names(of_lock: str, of_export: str) -> Namer:
    return lambda _, name, *__: {LOCK_FILE: of_lock, EXPORT_FILE: of_export}.get(name) or None


def _target(file: Any) -> str:
    target: str = file.target if isinstance(file, LocalStaged) else file.key
    return target


def _is_part(file: Any) -> bool:
    return _target(file).endswith(".parquet")


def _published(file: Any) -> str:
    if _is_part(file):
        return "part published"
    return "marker published" if _target(file).endswith(SUCCESS_FILE) else "manifest published"


def _removed(name: str) -> str | None:
    return {LOCK_FILE: "lock released", EXPORT_FILE: None}.get(name, _deleted(name))


def _deleted(name: str) -> str | None:
    if name.endswith(SUCCESS_FILE):
        return "marker removed"
    if name.endswith(".json"):
        return "vanished removed"
    return "old parts removed" if name else None


_full = threading.Event()
