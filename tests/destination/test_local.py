"""The local tree: modes, the order of syncs, other file systems, and what is made and removed."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rivet.config.settings import LocalDestinationSettings
from rivet.destination.local import LocalDestination
from rivet.destination.names import STAGING_DIRECTORY
from rivet.destination.opening import open_destination
from rivet.errors import DestinationUnavailable
from tests.destination.stores import OTHER_RUN, RUN, names, publish


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Give a root that does not exist, nor the directory it lies in."""
    return tmp_path / "out" / "events"


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Record the names of what is synced and of what is replaced, in order."""
    recorded: list[tuple[str, str]] = []
    fsync, replace = os.fsync, os.replace

    def recording_fsync(descriptor: int) -> None:
        recorded.append(("fsync", os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}"))))  # noqa: PTH115, PTH119
        fsync(descriptor)

    def recording_replace(source: str, target: str) -> None:
        replace(source, target)
        recorded.append(("replace", os.path.basename(target)))  # noqa: PTH119

    monkeypatch.setattr(os, "fsync", recording_fsync)
    monkeypatch.setattr(os, "replace", recording_replace)
    return recorded


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """Give a directory on another file system than the rest."""
    shared = Path("/dev/shm")  # noqa: S108
    if not shared.is_dir() or shared.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("no second file system at /dev/shm")
    with tempfile.TemporaryDirectory(dir=shared) as directory:
        yield Path(directory)


def files(directory: Path) -> list[str]:
    """List everything below a directory, staging and directories included."""
    return sorted(str(p.relative_to(directory)) for p in directory.rglob("*"))


def mode(path: Path) -> str:
    """Give the permission bits in octal."""
    return oct(stat.S_IMODE(path.stat().st_mode))


def test_opens_what_the_config_names(root: Path) -> None:
    """A local destination opens at its root and tells it as the user spelled it, with a slash."""
    destination = open_destination(LocalDestinationSettings(root, "{partition}"))

    assert (destination.kind, destination.uri) == ("local", f"{root}/")
    assert LocalDestination(Path("/")).uri == "/"


def test_makes_nothing_before_it_is_needed(root: Path, tmp_path: Path) -> None:
    """Opening, listing, deleting, settling, sweeping and removing an absent root make nothing."""
    destination = LocalDestination(root)
    assert names(destination) == []
    destination.delete(["day=1/p"])
    destination.settle(["", "day=1"])
    destination.sweep([RUN])
    destination.remove_root_if_empty()

    assert files(tmp_path) == []


@pytest.mark.parametrize(
    ("umask", "file", "directory"), [(0o022, "0o644", "0o755"), (0o027, "0o640", "0o750")]
)
def test_modes_are_the_umasks(root: Path, umask: int, file: str, directory: str) -> None:
    """Published files and the directories made for them get the modes that the umask gives."""
    before = os.umask(umask)
    try:
        destination = LocalDestination(root)
        publish(destination, "day=1/p.parquet", b"rows")
        destination.put("day=1/manifest.json", b"{}")
    finally:
        os.umask(before)

    assert {mode(root / "day=1" / name) for name in ("p.parquet", "manifest.json")} == {file}
    assert {mode(path) for path in (root.parent, root, root / "day=1")} == {directory}


def test_order_of_syncs(root: Path, tmp_path: Path, steps: list[tuple[str, str]]) -> None:
    """Bytes are synced before the rename; names, and directories that were made, when settled."""
    destination = LocalDestination(root)
    staged = destination.stage("day=1/p.parquet", RUN)
    staged.write(b"rows")
    staged.finish()
    assert [step for step, _ in steps] == ["fsync"]
    destination.publish([staged])
    destination.settle(["day=1"])
    assert steps[1:] == [
        ("replace", "p.parquet"),
        *(("fsync", name) for name in ("day=1", "events", "out", tmp_path.name)),
    ]
    steps.clear()
    destination.put("day=1/manifest.json", b"{}")
    destination.settle(["day=1"])

    assert [step for step, _ in steps] == ["fsync", "replace", "fsync"]
    assert steps[1:] == [("replace", "manifest.json"), ("fsync", "day=1")]


def test_many_are_settled_before_what_holds_them(root: Path, steps: list[tuple[str, str]]) -> None:
    """Of many new partitions each is synced once, and then the root once."""
    destination = LocalDestination(root)
    destination.put("_rivet_export.json", b"{}")
    destination.settle([""])
    partitions = [f"day={i}" for i in range(40)]
    for partition in partitions:
        destination.put(f"{partition}/p", b"")
    steps.clear()
    destination.settle([*partitions, *partitions])

    assert sorted(steps[:-1]) == sorted(("fsync", partition) for partition in partitions)
    assert steps[-1] == ("fsync", "events")


def test_removed_directories_are_settled_in_their_parent(root: Path, steps: list[tuple[str, str]]) -> None:
    """Where a partition was pruned, settling it syncs the directory that held it."""
    destination = LocalDestination(root)
    destination.put("a/day=1/p", b"")
    destination.put("a/day=2/p", b"")
    destination.settle(["a/day=1", "a/day=2"])
    steps.clear()
    destination.delete(["a/day=1/p"])
    destination.settle(["a/day=1"])

    assert steps == [("fsync", "a")]


def test_file_systems_that_cannot_sync_directories(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that refuses to sync directories is settled as well as can be."""
    fsync = os.fsync

    def refusing(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(22, "Invalid argument")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", refusing)
    destination = LocalDestination(root)
    publish(destination, "day=1/p", b"rows")
    destination.settle(["day=1"])

    assert destination.read("day=1/p") == b"rows"


def test_failed_sync_of_a_directory_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory that cannot be made durable for a reason that may pass raises, naming it."""
    destination = LocalDestination(root)
    for partition in ("day=1", "day=2"):
        publish(destination, f"{partition}/p", b"rows")

    def failing(descriptor: int) -> None:
        if os.readlink(f"/proc/self/fd/{descriptor}").endswith("day=2"):  # noqa: PTH115
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(DestinationUnavailable, match=r"day=2'"):
        destination.settle(["day=1", "day=2"])


def test_partition_on_another_file_system(root: Path, elsewhere: Path, steps: list[tuple[str, str]]) -> None:
    """A partition that is a link to another file system gets copies, synced before they are renamed."""
    root.mkdir(parents=True)
    (root / "day=1").symlink_to(elsewhere)
    (elsewhere / "p.parquet").write_bytes(b"old")
    destination = LocalDestination(root)
    publish(destination, "day=1/p.parquet", b"rows" * 1_000_000)
    destination.put("day=1/manifest.json", b"{}")
    destination.settle(["day=1"])
    copies = [step for step in steps if step[1].startswith(".rivet-") or step[0] == "replace"]

    assert destination.read("day=1/p.parquet") == b"rows" * 1_000_000
    assert [step for step, _ in copies] == ["fsync", "replace", "fsync", "replace"]
    assert files(elsewhere) == ["manifest.json", "p.parquet"]
    assert names(destination) == ["day=1/manifest.json", "day=1/p.parquet"]
    assert [f for f in files(root / STAGING_DIRECTORY) if f != RUN] == []


def test_failed_copy_leaves_the_old_object(
    root: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a copy to another file system fails, only the old object is left, and a retry may succeed."""
    root.mkdir(parents=True)
    (root / "day=1").symlink_to(elsewhere)
    destination = LocalDestination(root)
    publish(destination, "day=1/p", b"old")
    staged = destination.stage("day=1/p", RUN)
    staged.write(b"new")
    staged.finish()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", _raise_no_space)
        with pytest.raises(DestinationUnavailable):
            destination.publish([staged])

    assert files(elsewhere) == ["p"]
    assert destination.read("day=1/p") == b"old"
    destination.publish([staged])
    assert destination.read("day=1/p") == b"new"


def test_finished_objects_hold_no_descriptor(root: Path) -> None:
    """Any number of partitions may be staged at once under a low limit of open files."""
    destination = LocalDestination(root)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for i in range(50):
        destination.stage(f"day={i}/p", RUN).finish()

    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_delete_spares_what_is_foreign(root: Path) -> None:
    """Directories go when they are empty, up to the root; those that hold anything foreign stay."""
    destination = LocalDestination(root)
    for partition in ("a/b/day=1", "a/b/day=2", "a/day=3", "day=4"):
        destination.put(f"{partition}/p", b"")
    (root / "a/b/day=2/notes.txt").write_text("mine")
    (root / "a/day=3/latest").symlink_to("nowhere")
    destination.delete(["a/b/day=1/p", "a/b/day=2/p", "a/day=3/p", "day=4/p"])

    assert files(root) == ["a", "a/b", "a/b/day=2", "a/b/day=2/notes.txt", "a/day=3", "a/day=3/latest"]
    (root / "a/b/day=2/notes.txt").unlink()
    (root / "a/day=3/latest").unlink()
    destination.delete(["a/b/day=2/p", "a/day=3/p"])
    assert files(root) == []
    assert root.is_dir()


def test_delete_through_a_linked_directory(root: Path, tmp_path: Path) -> None:
    """A partition that is a link loses its files and keeps the link, and a linked file only its link."""
    target = tmp_path / "big disk"
    target.mkdir()
    root.mkdir(parents=True)
    (root / "day=1").symlink_to(target)
    (target / "p").write_bytes(b"rows")
    (tmp_path / "theirs").write_bytes(b"theirs")
    (root / "linked").symlink_to(tmp_path / "theirs")
    LocalDestination(root).delete(["day=1/p", "linked"])

    assert files(root) == ["day=1"]
    assert files(target) == []
    assert (tmp_path / "theirs").read_bytes() == b"theirs"


def test_replaces_a_link_and_not_what_it_leads_to(root: Path, tmp_path: Path) -> None:
    """Putting or publishing over a name that is a link leaves the link's target as it was."""
    root.mkdir(parents=True)
    theirs = tmp_path / "theirs"
    theirs.write_bytes(b"theirs")
    destination = LocalDestination(root)
    for name in ("put", "published"):
        (root / name).symlink_to(theirs)
    destination.put("put", b"ours")
    publish(destination, "published", b"ours")

    assert theirs.read_bytes() == b"theirs"
    assert destination.read("put") == destination.read("published") == b"ours"


def test_put_leaves_no_staging_directory(root: Path) -> None:
    """After the last put nothing is left but what was put, and a run that is staging is not disturbed."""
    destination = LocalDestination(root)
    destination.put("a", b"1")
    assert files(root) == ["a"]
    staged = destination.stage("b", RUN)
    destination.put("a", b"2")
    staged.finish()
    destination.publish([staged])
    destination.sweep([RUN])

    assert files(root) == ["a", "b"]


def test_put_that_was_killed_is_swept(root: Path) -> None:
    """What a put leaves that is killed before its rename is no object, and the next sweep removes it."""
    program = (
        "import os, sys; from pathlib import Path; from rivet.destination.local import LocalDestination\n"
        "os.replace = lambda *names: os._exit(9)\n"
        "LocalDestination(Path(sys.argv[1])).put('a', b'new')\n"
    )
    destination = LocalDestination(root)
    destination.put("a", b"old")
    killed = subprocess.run([sys.executable, "-c", program, str(root)], check=False)

    assert killed.returncode == 9
    assert len(files(root)) == 3
    assert names(destination) == ["a"]
    assert destination.read("a") == b"old"
    destination.sweep([])
    assert files(root) == ["a"]


def test_sweep_spares_a_put_that_is_under_way(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep does not take the temporary of a put that another thread of the same run is at."""
    destination = LocalDestination(root)
    replace = os.replace

    def sweeping(source: str, target: str) -> None:
        destination.sweep([RUN])
        replace(source, target)

    monkeypatch.setattr(os, "replace", sweeping)
    destination.put("a", b"1")

    assert destination.read("a") == b"1"


def test_sweep_follows_no_link_and_spares_what_is_foreign(root: Path, tmp_path: Path) -> None:
    """A sweep removes nothing through a link in place of a run's directory, and no file but Rivet's."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "precious").write_text("theirs")
    destination = LocalDestination(root)
    destination.stage("p", OTHER_RUN).finish()
    (root / STAGING_DIRECTORY / RUN).symlink_to(theirs)
    (root / STAGING_DIRECTORY / "notes.txt").write_text("mine")
    destination.sweep([RUN, OTHER_RUN])

    assert (theirs / "precious").read_text() == "theirs"
    assert files(root) == [STAGING_DIRECTORY, *(f"{STAGING_DIRECTORY}/{name}" for name in (RUN, "notes.txt"))]


def test_root_that_was_made_is_removed(root: Path, tmp_path: Path) -> None:
    """An empty root goes, with the parents made for it; what stood before stays."""
    destination = LocalDestination(root)
    destination.put("a", b"")
    destination.remove_root_if_empty()
    assert root.is_dir()
    destination.delete(["a"])
    destination.remove_root_if_empty()

    assert files(tmp_path) == []
    assert tmp_path.is_dir()


def test_root_that_stood_before_stays(root: Path) -> None:
    """An empty root that the user made stays, and so does a parent in which something else is."""
    root.mkdir(parents=True)
    before = LocalDestination(root)
    before.stage("a", RUN).discard()
    before.sweep([RUN])
    before.remove_root_if_empty()
    inner = LocalDestination(root / "x" / "y")
    inner.stage("a", RUN).discard()
    inner.sweep([RUN])
    (root / "x" / "notes.txt").write_text("mine")
    inner.remove_root_if_empty()

    assert files(root) == ["x", "x/notes.txt"]


def test_relative_root_is_of_this_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative root stays where it was when the working directory changes."""
    monkeypatch.chdir(tmp_path)
    destination = LocalDestination(Path("out"))
    monkeypatch.chdir("/")
    destination.put("a", b"")

    assert files(tmp_path) == ["out", "out/a"]
    assert destination.uri == f"{tmp_path}/out/"


def _raise_no_space(_: int) -> None:
    raise OSError(28, "No space left on device")
