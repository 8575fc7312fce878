"""Trying to write leaves a destination as it was, and says what stands in the way."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from rivet.destination.local import LocalDestination
from rivet.destination.memory import MemoryDestination, fail_before
from rivet.destination.opening import open_destination
from rivet.destination.protocol import Destination
from rivet.destination.trial import try_writing
from rivet.errors import DestinationDenied, DestinationError, DestinationUnavailable
from tests.destination.stores import RUN, names
from tests.servers.s3 import S3Bucket


def test_nothing_is_left(destination: Destination) -> None:
    """What stood there before stands there after, and nothing else."""
    destination.put("day=1/manifest.json", b"mine")

    try_writing(destination, RUN)

    assert names(destination) == ["day=1/manifest.json"]


def test_no_directory_is_left(tmp_path: Path) -> None:
    """Directories that had to be made go again; those that were there stay."""
    (tmp_path / "there").mkdir()

    for root in ("there", "new/deep/root"):
        try_writing(LocalDestination(tmp_path / root), RUN)

    assert [p.name for p in tmp_path.rglob("*")] == ["there"]


@pytest.mark.parametrize("kind", ["put", "read", "delete"])
def test_failures_are_told(kind: str) -> None:
    """Whichever step fails, its error is raised, and the object does not stay."""
    destination = MemoryDestination(fail_before(kind, 1, DestinationUnavailable("throttled")))

    with pytest.raises(DestinationUnavailable, match="throttled"):
        try_writing(destination, RUN)

    assert destination.objects == {}


def test_other_bytes_than_were_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A place that gives back other bytes than it took is no destination."""
    destination = MemoryDestination()
    monkeypatch.setattr(destination, "read", lambda _: b"rewritten")

    with pytest.raises(DestinationError, match="does not read back as it was written"):
        try_writing(destination, RUN)

    assert destination.objects == {}


def test_a_prefix_that_the_store_takes_for_another(s3_bucket: S3Bucket) -> None:
    """A store that lists objects under other names than it took them for is told from one that does not."""
    destination = open_destination(s3_bucket.settings("back\\slash/"))  # this server makes a `/` of it

    with closing(destination), pytest.raises(DestinationError, match="is not listed"):
        try_writing(destination, RUN)

    assert s3_bucket.keys() == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_without_rights(tmp_path: Path) -> None:
    """A directory that may not be written to is refused."""
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(DestinationDenied):
            try_writing(LocalDestination(tmp_path / "out"), RUN)
    finally:
        tmp_path.chmod(0o755)


def test_an_identity_that_may_only_read(shared_s3_bucket: S3Bucket) -> None:
    """Its bucket opens, and writing is refused."""
    reader = shared_s3_bucket.reached_by(shared_s3_bucket.server.reader)
    destination = open_destination(reader.settings("trial/"))

    with pytest.raises(DestinationDenied):
        try_writing(destination, RUN)

    assert shared_s3_bucket.keys("trial/") == []
