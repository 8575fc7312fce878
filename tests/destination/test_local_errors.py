"""What the operating system refuses, told as Rivet's errors, with nothing left behind."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rivet.destination.local import LocalDestination
from rivet.destination.protocol import Staged
from rivet.destination.system_errors import destination_error
from rivet.errors import DestinationDenied, DestinationError, DestinationUnavailable, ObjectNotFound
from tests.destination.stores import RUN, names, publish

CLASSES = {
    DestinationUnavailable: "ENOSPC EDQUOT EIO ETIMEDOUT ESTALE EMFILE ENFILE ENOMEM ENOTCONN EBUSY",
    DestinationDenied: "EACCES EPERM EROFS",
    ObjectNotFound: "ENOENT",
    DestinationError: "ENOTDIR EISDIR EEXIST ENAMETOOLONG ELOOP EFBIG EMLINK EXDEV ENODEV",
}


@contextmanager
def limited(kind: int, value: int) -> Iterator[None]:
    """Lower a limit of this process for a while."""
    soft, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (value, hard))
    try:
        yield
    finally:
        resource.setrlimit(kind, (soft, hard))


@pytest.fixture
def open_ground() -> Iterator[Path]:
    """Give a directory that every user may enter."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


@contextmanager
def unprivileged() -> Iterator[None]:
    """Be a user without root's rights for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Give a file system of one megabyte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], check=False, capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize(
    ("name", "expected"), [(name, kind) for kind, listed in CLASSES.items() for name in listed.split()]
)
def test_class_of_an_error(name: str, expected: type[DestinationError]) -> None:
    """Each error is of the class whose exit code it needs, and its message names the path and the reason."""
    number = getattr(errno, name)
    error = destination_error("write", "/out/p", OSError(number, os.strerror(number)))

    assert type(error) is expected
    assert str(error).startswith(f"cannot write '/out/p': {os.strerror(number)}")


def test_every_error_has_a_class() -> None:
    """Every number of the system becomes a DestinationError; one without an entry keeps its number."""
    for number in [*errno.errorcode, 9999]:
        error = destination_error("write", "/out/p", OSError(number, os.strerror(number)))
        assert isinstance(error, DestinationError)
        assert type(error) is not DestinationError or error.hint is not None or str(number) in str(error)
    assert str(destination_error("write", "/p", OSError("odd"))) == "cannot write '/p': odd (errno None)"


def test_full_disk(small_disk: Path) -> None:
    """On a full disk a put and a staged object fail as may pass, leave nothing, and the old object stays."""
    destination = LocalDestination(small_disk / "out")
    destination.put("p", b"old")
    with pytest.raises(DestinationUnavailable, match=r"/out/p': No space left on device") as caught:
        destination.put("p", b"x" * 3_000_000)
    assert caught.value.exit_code == 3
    assert caught.value.hint is not None
    staged = destination.stage("q", RUN)
    with pytest.raises(DestinationUnavailable, match=r"/out/q': No space left on device"):
        _fill(staged)
    staged.discard()
    destination.sweep([RUN])

    assert sorted(p.name for p in (small_disk / "out").rglob("*")) == ["p"]
    destination.put("p", b"x" * 500_000)
    assert destination.read("p") == b"x" * 500_000


def test_limit_of_file_sizes(tmp_path: Path) -> None:
    """A write beyond the process's limit of file sizes says which limits to change, and can be discarded."""
    destination = LocalDestination(tmp_path)
    staged = destination.stage("p", RUN)
    with (
        limited(resource.RLIMIT_FSIZE, 100_000),
        pytest.raises(DestinationError, match=r"/p': File too large") as caught,
    ):
        _fill(staged)
    staged.discard()
    destination.sweep([RUN])

    assert caught.value.exit_code == 2
    assert "max_file_size" in (caught.value.hint or "")
    assert list(tmp_path.iterdir()) == []


def test_limit_of_open_files(tmp_path: Path) -> None:
    """With no descriptor left, opening anything fails as may pass, naming the limit."""
    destination = LocalDestination(tmp_path)
    destination.put("p", b"")
    spare = os.dup(0)
    os.close(spare)
    for operation in (
        lambda: destination.stage("q", RUN),
        lambda: destination.read("p"),
        lambda: list(destination.list()),
        lambda: destination.settle([""]),
    ):
        with (
            limited(resource.RLIMIT_NOFILE, spare),
            pytest.raises(DestinationUnavailable, match="Too many open files") as caught,
        ):
            operation()
        assert "ulimit -n" in (caught.value.hint or "")


def test_failed_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that cannot be made durable are never published, by put or by publish, and leave nothing."""
    destination = LocalDestination(tmp_path)
    destination.put("p", b"old")
    staged = destination.stage("p", RUN)
    staged.write(b"new")

    def failing(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(DestinationUnavailable, match=r"/p': Input/output error"):
        staged.finish()
    with pytest.raises(ValueError, match="before it is finished"):
        destination.publish([staged])
    with pytest.raises(DestinationUnavailable, match=r"/p': Input/output error"):
        destination.put("p", b"new")
    staged.discard()
    destination.sweep([RUN])

    assert destination.read("p") == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["p"]


def test_directory_without_rights(open_ground: Path) -> None:
    """Where the user may not write, stage and put are denied, name the directory and make nothing."""
    locked = open_ground / "locked"
    locked.mkdir(mode=0o555)
    destination = LocalDestination(locked / "out" / "events")
    with unprivileged():
        for operation in (lambda: destination.put("p", b""), lambda: destination.stage("p", RUN)):
            with pytest.raises(DestinationDenied, match=r"/locked/out': Permission denied") as caught:
                operation()
            assert caught.value.exit_code == 2
            assert caught.value.hint is not None

    assert list(locked.iterdir()) == []


def test_objects_without_rights(open_ground: Path) -> None:
    """What the user may not list, read or delete is denied, never left out in silence."""
    (open_ground / "day=1").mkdir()
    (open_ground / "day=1" / "p").write_bytes(b"rows")
    (open_ground / "day=1" / "p").chmod(0)
    (open_ground / "day=1").chmod(0o555)
    (open_ground / "day=2").mkdir(mode=0)
    destination = LocalDestination(open_ground)
    with unprivileged():
        for operation in (
            lambda: destination.read("day=1/p"),
            lambda: destination.open("day=1/p"),
            lambda: destination.delete(["day=1/p"]),
        ):
            with pytest.raises(DestinationDenied, match=r"/day=1/p': Permission denied"):
                operation()
        with pytest.raises(DestinationDenied, match=r"/day=2/': Permission denied"):
            names(destination)
        assert names(destination, "day=1/") == ["day=1/p"]


def test_read_only_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that is mounted read-only is denied, with the mend."""

    def refusing(path: str, _mode: int) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

    monkeypatch.setattr(os, "mkdir", refusing)
    with pytest.raises(DestinationDenied, match="Read-only file system") as caught:
        LocalDestination(tmp_path / "out").stage("p", RUN)

    assert "mount" in (caught.value.hint or "")


@pytest.mark.parametrize("in_the_way", ["file", "broken link"])
def test_something_else_in_the_way(tmp_path: Path, in_the_way: str) -> None:
    """A file or a broken link where a directory is needed, at the root or below, is told by its path."""
    for way in (tmp_path / "root", tmp_path / "day=1"):
        way.write_bytes(b"") if in_the_way == "file" else way.symlink_to("nowhere")

    for destination, name in (
        (LocalDestination(tmp_path / "root"), "p"),
        (LocalDestination(tmp_path), "day=1/p"),
    ):
        with pytest.raises(DestinationError, match="Not a directory") as caught:
            publish(destination, name, b"")
        assert caught.value.exit_code == 2
        with pytest.raises(DestinationError, match="Not a directory"):
            destination.put(name, b"")


def test_directory_in_the_way(tmp_path: Path) -> None:
    """A directory where a file is needed is told, and stays."""
    (tmp_path / "p").mkdir()
    destination = LocalDestination(tmp_path)
    with pytest.raises(DestinationError, match=r"/p': Is a directory"):
        publish(destination, "p", b"")
    with pytest.raises(DestinationError, match=r"/p': Is a directory"):
        destination.put("p", b"")

    assert (tmp_path / "p").is_dir()


def test_failed_put_leaves_no_directory(tmp_path: Path) -> None:
    """Directories made for an object that cannot be placed are removed again."""
    destination = LocalDestination(tmp_path)
    with pytest.raises(DestinationError, match="File name too long"):
        destination.put(f"a/b/{'x' * 300}", b"")

    assert list(tmp_path.iterdir()) == []


def test_locale_without_the_characters(tmp_path: Path) -> None:
    """A name that the locale has no form for is an error with the mend, not a crash."""
    program = (
        "import sys; from pathlib import Path; from rivet.destination.local import LocalDestination\n"
        "from rivet.errors import DestinationError\n"
        "try: LocalDestination(Path(sys.argv[1])).put('day=\\u65e5/p', b'')\n"
        "except DestinationError as error: print(ascii(str(error)), error.hint)\n"
    )
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        env=environment,
        cwd=Path(__file__).parents[2],
        check=True,
        capture_output=True,
        text=True,
    )

    assert "no form for" in done.stdout
    assert "PYTHONUTF8=1" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_failed_read_is_translated(tmp_path: Path) -> None:
    """An error in the middle of reading an open object is Rivet's too."""
    (tmp_path / "p").write_bytes(b"rows")
    with LocalDestination(tmp_path).open("p") as file:
        directory = os.open(tmp_path, os.O_RDONLY)
        os.dup2(directory, file.fileno())  # reading a directory fails, as reading a broken disk would
        os.close(directory)
        with pytest.raises(DestinationError, match=r"cannot read .*/p': Is a directory"):
            file.read()
        with pytest.raises(DestinationError, match=r"cannot read .*/p': Is a directory"):
            file.read(2)


def _fill(staged: Staged) -> None:
    for _ in range(30):
        staged.write(b"x" * 100_000)
    staged.finish()
