"""The file of `--summary-file`."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from rivet.cli.summary_file import SummaryFile
from rivet.errors import ConfigError, DestinationUnavailable


def test_the_check_leaves_nothing_behind(tmp_path: Path) -> None:
    """Proving that a file can be written neither creates it nor touches the one that is there."""
    file = tmp_path / "summary.json"
    SummaryFile(str(file)).check()
    assert list(tmp_path.iterdir()) == []

    file.write_bytes(b"old")
    SummaryFile(str(file)).check()

    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("summary.json", b"old")]


def test_a_reader_sees_the_old_document_or_the_new_one(tmp_path: Path) -> None:
    """The file is replaced, not rewritten: who has it open reads the old document to its end."""
    file = tmp_path / "summary.json"
    file.write_bytes(b"old")
    with file.open("rb") as reader:
        SummaryFile(str(file)).write(b"new")

        assert reader.read() == b"old"
    assert file.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [file]


def test_the_file_has_the_mode_that_the_umask_gives(tmp_path: Path) -> None:
    """Others may read the summary where the umask lets them, as with any file."""
    file = tmp_path / "summary.json"
    before = os.umask(0o027)
    try:
        SummaryFile(str(file)).write(b"new")
    finally:
        os.umask(before)

    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """The file that a link names is replaced, also one that is not there yet."""
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    link.symlink_to(target)

    for data in (b"first", b"second"):
        SummaryFile(str(link)).write(data)

        assert link.is_symlink()
        assert target.read_bytes() == data


@pytest.mark.parametrize("name", ["", ".", "missing/summary.json", "file/summary.json", "a" * 300])
def test_a_name_that_cannot_be_written_is_a_config_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """An empty name, a directory, a missing directory, a file as directory, too long a name: each is told."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()

    with pytest.raises(ConfigError, match="--summary-file") as caught:
        SummaryFile(name).check()

    assert caught.value.hint is not None
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_device_is_written_to_and_not_replaced() -> None:
    """`--summary-file /dev/null` does not turn the null device into a file, not even for root."""
    SummaryFile(os.devnull).check()
    SummaryFile(os.devnull).write(b"new")

    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_a_named_pipe_receives_the_document(tmp_path: Path) -> None:
    """A reader at the other end of a pipe gets the document; the check does not wait for one."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    SummaryFile(str(pipe)).check()
    reader.start()

    SummaryFile(str(pipe)).write(b"new")

    reader.join()
    assert received == [b"new"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_is_told() -> None:
    """A document that could not be written is a failure of the destination."""
    with pytest.raises(DestinationUnavailable, match="No space left on device"):
        SummaryFile("/dev/full").write(b"new")


def test_a_summary_in_the_place_of_something_else_is_refused(tmp_path: Path) -> None:
    """Neither a file in a tree nor one that the config names is taken, by whatever name it goes."""
    root, database = tmp_path / "tree", tmp_path / "shop.db"
    (root / "day=1").mkdir(parents=True)
    database.write_bytes(b"rows")
    (tmp_path / "link").symlink_to(root)
    (tmp_path / "copy.db").symlink_to(database)

    for name in ("tree/_rivet_export.json", "tree/day=1/new.json", "link/x", "treeless/../tree/x"):
        with pytest.raises(ConfigError, match=r"lies inside '.*/tree', the root of an export"):
            SummaryFile(str(tmp_path / name)).check(outside=[root], unlike=[database])
    for name in ("shop.db", "copy.db", "tree/../shop.db"):
        with pytest.raises(ConfigError, match="is the config, or a file that it names"):
            SummaryFile(str(tmp_path / name)).check(outside=[root], unlike=[database])
    SummaryFile(str(tmp_path / "tree.json")).check(outside=[root], unlike=[database])
    assert database.read_bytes() == b"rows"
