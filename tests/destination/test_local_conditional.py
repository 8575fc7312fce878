"""What a directory needs to keep two writers apart, and what may stand in its way."""

from __future__ import annotations

import errno
import os
import stat
import threading
import time
from pathlib import Path

import pytest

from rivet.destination import local_conditional
from rivet.destination.local import LocalDestination
from rivet.errors import DestinationError, DestinationUnavailable

LOCK = "_rivet_lock.json"


def _created(root: Path, data: bytes = b"1") -> tuple[LocalDestination, str]:
    destination = LocalDestination(root)
    version = destination.create(LOCK, data)
    assert version is not None
    return destination, version


def _leave_guard(root: Path, seconds_ago: float) -> Path:
    """Leave a guard as a process does that was killed so long ago."""
    guard = root / "_rivet_staging" / "guard"
    guard.parent.mkdir(exist_ok=True)
    guard.write_bytes(b"of a dead process")
    then = time.time() - seconds_ago
    os.utime(guard, (then, then))
    return guard


def test_what_is_private_is_its_owners_alone(tmp_path: Path) -> None:
    """Whatever the umask, nobody else reads it; what is not private has the modes that the umask gives."""
    before = os.umask(0)
    try:
        destination = LocalDestination(tmp_path)
        version = destination.create(LOCK, b"1", private=True)
        destination.create("export", b"1")
        assert version is not None
        modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in (LOCK, "export")]
        destination.replace(LOCK, b"2", version, private=True)
    finally:
        os.umask(before)

    assert modes == [0o600, 0o666]
    assert stat.S_IMODE((tmp_path / LOCK).stat().st_mode) == 0o600


def test_a_guard_that_a_killed_process_left_is_broken(tmp_path: Path) -> None:
    """One that is old keeps nobody out, and nothing of it is left."""
    destination, version = _created(tmp_path)
    _leave_guard(tmp_path, 11)

    assert destination.replace(LOCK, b"2", version) is not None
    assert sorted(p.name for p in tmp_path.rglob("*")) == [LOCK]


def test_a_guard_of_a_process_at_work_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A young guard keeps others out until it goes; where it never does the error names it."""
    monkeypatch.setattr(local_conditional, "_BREAK_AFTER_SECONDS", 3600.0)
    monkeypatch.setattr(local_conditional, "_GIVE_UP_AFTER_SECONDS", 0.2)
    destination, version = _created(tmp_path)
    guard = _leave_guard(tmp_path, 0)

    with pytest.raises(DestinationUnavailable, match="guard"):
        destination.replace(LOCK, b"2", version)
    monkeypatch.setattr(local_conditional, "_GIVE_UP_AFTER_SECONDS", 60.0)
    timer = threading.Timer(0.1, guard.unlink)
    timer.start()
    assert destination.replace(LOCK, b"2", version) is not None
    timer.join()


def test_a_process_whose_guard_was_broken_changes_nothing_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped under the guard until another has taken its place, it looks again and finds it changed."""
    destination, version = _created(tmp_path)
    other = LocalDestination(tmp_path)
    inspect = local_conditional.LocalConditional.inspect
    stopped = False

    def stop(self: local_conditional.LocalConditional, path: str, limit: int | None) -> object:
        """Stand still after the first look at the lock under the guard."""
        nonlocal stopped
        seen = inspect(self, path, limit)
        if not stopped and path.endswith(LOCK):
            stopped = True
            os.utime(tmp_path / "_rivet_staging" / "guard", (1, 1))
            assert other.replace(LOCK, b"the other's", version) is not None
        return seen

    monkeypatch.setattr(local_conditional.LocalConditional, "inspect", stop)

    assert destination.replace(LOCK, b"mine", version) is None
    assert (tmp_path / LOCK).read_bytes() == b"the other's"


def test_where_there_are_no_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system without them keeps to the condition as well."""

    def link(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", link)
    destination, version = _created(tmp_path)

    assert destination.create(LOCK, b"2") is None
    assert destination.remove(LOCK, version)
    assert destination.create(LOCK, b"2") is not None


def test_the_present_is_the_file_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An age does not hang on this machine's clock."""
    destination, _ = _created(tmp_path)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    os.utime(tmp_path / LOCK, ns=(1, (tmp_path / LOCK).stat().st_mtime_ns - 100 * 10**9))

    assert 100 <= destination.age_seconds(LOCK) < 130


def test_a_temporary_that_another_run_swept_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who holds the root sweeps; who wants it meanwhile does not fail for that."""
    destination, version = _created(tmp_path)
    link = os.link
    swept: list[str] = []

    def sweep_first(source: str, target: str) -> None:
        if not swept:
            swept.append(source)
            LocalDestination(tmp_path).sweep(["20230102T030405Z-0123abcd"])
        link(source, target)

    monkeypatch.setattr(os, "link", sweep_first)

    assert destination.create(LOCK, b"2") is None
    assert destination.remove(LOCK, version)
    swept.clear()
    assert destination.create(LOCK, b"2") is not None


@pytest.mark.parametrize("stands", ["directory", "link to nothing", "pipe"])
def test_what_is_no_file_is_not_taken_for_anothers(tmp_path: Path, stands: str) -> None:
    """Where something stands that nobody can read as an object, the error says so, with its path."""
    path = tmp_path / LOCK
    if stands == "directory":
        path.mkdir()
    elif stands == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("nowhere")

    with pytest.raises(DestinationError, match=LOCK):
        LocalDestination(tmp_path).create(LOCK, b"1")
