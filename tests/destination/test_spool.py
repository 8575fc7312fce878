"""What waits on this side: kept as it is, in bounded memory, and gone however the process ends."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivet.destination.store.spool import Spool
from rivet.errors import DestinationUnavailable

KILLED = """
import os, signal, sys
from rivet.destination.store.spool import Spool
spool = Spool(memory_bytes=0)
spool.keep(b"x" * 1_000_000)
os.kill(os.getpid(), signal.SIGKILL)
"""

FULL = """
import resource, signal
from rivet.destination.store.spool import Spool
from rivet.errors import DestinationUnavailable
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
spool = Spool(memory_bytes=0)
first = spool.keep(b"x" * 700_000)
try:
    second = spool.keep(b"y" * 700_000)
except DestinationUnavailable:
    assert len(spool.read(first)) == 700_000
    print("refused")
"""


@given(
    st.lists(st.tuples(st.binary(max_size=40), st.booleans()), max_size=60),
    st.integers(0, 100),
    st.integers(1, 100),
)
def test_what_is_kept_is_read_back(
    steps: list[tuple[bytes, bool]], memory_bytes: int, segment_bytes: int
) -> None:
    """Whatever is kept and dropped in whichever order, the rest reads back as it was."""
    spool = Spool(memory_bytes, segment_bytes)
    held = []
    for data, drops in steps:
        held.append((spool.keep(data), data))
        if drops:
            spool.drop(held.pop(len(data) % len(held))[0])

    assert [spool.read(kept) for kept, _ in held] == [data for _, data in held]
    spool.close()


def test_room_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When all objects of a file are dropped its room on disk is free, and memory is used again."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    spool = Spool(memory_bytes=100, segment_bytes=1000)
    first = spool.keep(b"x" * 100)
    filed = [spool.keep(b"y" * 500) for _ in range(8)]
    assert _open_files(tmp_path) == 4
    for kept in filed:
        spool.drop(kept)
    assert _open_files(tmp_path) == 0
    spool.drop(first)
    spool.keep(b"z" * 100)

    assert _open_files(tmp_path) == 0
    spool.close()


def test_files_stay_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Much that waits is no more than some dozens of open files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    spool = Spool(memory_bytes=0, segment_bytes=1000)
    for _ in range(20_000):
        spool.keep(b"x" * 100)

    assert _open_files(tmp_path) < 64
    spool.close()
    assert _open_files(tmp_path) == 0


def test_nothing_is_left_by_a_kill(tmp_path: Path) -> None:
    """The files have no name, so that even a killed process leaves none."""
    subprocess.run(
        [sys.executable, "-c", KILLED],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        cwd=Path(__file__).parents[2],
        check=False,
    )

    assert list(tmp_path.iterdir()) == []


def test_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where temporary files cannot be made the error names the place and TMPDIR."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(DestinationUnavailable, match="none") as caught:
        Spool(memory_bytes=0).keep(b"x")

    assert "TMPDIR" in str(caught.value.hint)


def test_a_full_disk() -> None:
    """A write for which the disk has no room is an error now, and what was kept before is whole."""
    spool = Spool(memory_bytes=0)
    kept = spool.keep(b"before")
    assert kept.segment is not None
    whole = kept.segment.file
    with open("/dev/full", "r+b", buffering=0) as full:  # noqa: PTH123
        kept.segment.file = full
        with pytest.raises(DestinationUnavailable, match="No space left"):
            spool.keep(b"x")
    kept.segment.file = whole

    assert spool.read(kept) == b"before"
    spool.close()


def _open_files(directory: Path) -> int:
    links = Path("/proc/self/fd").iterdir()
    targets = [os.readlink(link) for link in links if link.is_symlink()]  # noqa: PTH115
    return len([target for target in targets if target.startswith(str(directory))])


def test_what_fits_only_in_part_is_refused(tmp_path: Path) -> None:
    """A disk that takes the first bytes of an object and no more gives an error, never a shorter object."""
    ended = subprocess.run(
        [sys.executable, "-c", FULL],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == "refused\n"
