"""What the local tree lists: what readers see, whatever lies in it."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest

from rivet.destination.local import LocalDestination
from rivet.destination.names import STAGING_DIRECTORY
from rivet.destination.protocol import Listed
from rivet.errors import ObjectNotFound
from tests.destination.stores import RUN, names


def test_lists_what_duckdb_reads(tmp_path: Path) -> None:
    """Linked files and directories are listed; links in a circle or to nowhere, and pipes, are not."""
    root, theirs = tmp_path / "root", tmp_path / "theirs"
    (root / "day=1").mkdir(parents=True)
    theirs.mkdir()
    (theirs / "b.parquet").write_bytes(b"22")
    (root / "day=1" / "a.parquet").write_bytes(b"1")
    (root / "day=1" / "linked.parquet").symlink_to(theirs / "b.parquet")
    (root / "day=1" / "nowhere.parquet").symlink_to("nowhere")
    (root / "day=1" / "itself.parquet").symlink_to("itself.parquet")
    (root / "day=1" / "up").symlink_to("..")
    os.mkfifo(root / "day=1" / "pipe.parquet")
    (root / "day=2").symlink_to(theirs)
    listed = list(LocalDestination(root).list())

    assert listed == [
        Listed("day=1/a.parquet", 1),
        Listed("day=1/linked.parquet", 2),
        Listed("day=2/b.parquet", 2),
    ]
    seen = duckdb.execute("SELECT file FROM glob(?)", [f"{root}/*/*.parquet"]).fetchall()
    assert [f"{root}/{one.name}" for one in listed] == sorted(file for (file,) in seen)


def test_circle_through_a_directory_outside(tmp_path: Path) -> None:
    """A link to a directory above the root ends where it comes round again."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "a").write_bytes(b"")
    (root / "loop").symlink_to(tmp_path)
    (tmp_path / "b").write_bytes(b"")

    assert names(LocalDestination(root)) == ["a", "loop/b", "loop/root/a"]


def test_names_that_are_no_text(tmp_path: Path) -> None:
    """Names on disk that are not UTF-8 are listed, read and deleted like others."""
    odd = os.fsencode(tmp_path) + b"/day=\xff"
    os.mkdir(odd)  # noqa: PTH102
    with open(odd + b"/caf\xe9.txt", "wb") as file:  # noqa: PTH123
        file.write(b"1")
    (tmp_path / "day=\ue000").write_bytes(b"2")
    destination = LocalDestination(tmp_path)
    listed = names(destination)

    assert listed == sorted(["day=\udcff/caf\udce9.txt", "day=\ue000"])
    assert [destination.read(name) for name in listed] == [b"1", b"2"]
    destination.delete(listed)
    assert names(destination) == []


def test_staging_is_left_out_at_the_root_only(tmp_path: Path) -> None:
    """A directory that is named like staging further down is foreign, and listed."""
    destination = LocalDestination(tmp_path)
    destination.stage("p", RUN).finish()
    nested = tmp_path / "day=1" / STAGING_DIRECTORY
    nested.mkdir(parents=True)
    (nested / "x").write_bytes(b"")

    assert names(destination) == [f"day=1/{STAGING_DIRECTORY}/x"]


def test_root_that_is_a_link(tmp_path: Path) -> None:
    """A root that is a link is listed and written through it."""
    (tmp_path / "real").mkdir()
    (tmp_path / "root").symlink_to("real")
    destination = LocalDestination(tmp_path / "root")
    destination.put("day=1/p", b"rows")

    assert names(destination) == ["day=1/p"]
    assert (tmp_path / "real" / "day=1" / "p").read_bytes() == b"rows"


def test_what_is_no_regular_file_is_not_read(tmp_path: Path) -> None:
    """A pipe and a device are no objects, though a manifest's name stands on them: nothing waits for them."""
    os.mkfifo(tmp_path / "manifest.json")
    (tmp_path / "_SUCCESS").symlink_to(os.devnull)
    destination = LocalDestination(tmp_path)
    held = os.open(tmp_path / "manifest.json", os.O_RDWR)  # no one who opens it needs to wait
    try:
        for name in ("manifest.json", "_SUCCESS"):
            with pytest.raises(ObjectNotFound):
                destination.open(name)
    finally:
        os.close(held)
    with pytest.raises(ObjectNotFound):
        destination.read("_SUCCESS")
