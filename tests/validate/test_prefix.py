"""What `--prefix` may name, and how it is opened without a config."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from rivet.config.settings import (
    DestinationSettings,
    GcsDestinationSettings,
    LocalDestinationSettings,
    S3DestinationSettings,
)
from rivet.destination.opening import open_destination
from rivet.destination.protocol import Destination
from rivet.errors import ConfigError, DestinationDenied
from rivet.validate import place_of, place_under, validate
from tests.validate.build import FIRST, SECOND, Builder, events, instant
from tests.validate.looking import found


def _opened(prefix: str, cwd: Path) -> Destination:
    return open_destination(place_of(prefix, cwd))


class TestOpens:
    """Prefixes of local trees."""

    @pytest.mark.parametrize(
        "prefix", ["out", "out/", "./out", "other/../out", f"out/{FIRST}", f"out/{FIRST}/"]
    )
    def test_relative(self, tmp_path: Path, prefix: str) -> None:
        """A path is taken from the working directory, however it is spelled."""
        events(tmp_path / "out").finish()
        (tmp_path / "other").mkdir()

        assert validate(_opened(prefix, tmp_path)).findings == ()

    @pytest.mark.parametrize("below", ["", FIRST])
    def test_absolute_and_here(self, tmp_path: Path, below: str) -> None:
        """An absolute path and `.` name the same places as a relative path does."""
        root = events(tmp_path / "out").finish()

        assert validate(_opened(str(root / below), Path("/nowhere"))).findings == ()
        assert validate(_opened(".", root / below)).findings == ()
        assert validate(_opened("..", root / below / "x")).findings == ()

    def test_moved(self, tmp_path: Path) -> None:
        """A partition is opened so that its own name can be checked, with or without a tree around it."""
        root = events(tmp_path / "out").finish()
        (root / FIRST).rename(root / "created_at=2023-01-03")
        (root / SECOND).rename(tmp_path / "copy")

        for prefix in ("out/created_at=2023-01-03", "copy"):
            assert found(validate(_opened(prefix, tmp_path))) == [("error", "partition_renamed", "")]

    def test_deeper(self, tmp_path: Path) -> None:
        """The key is found above the last segment where the template goes on after the partition."""
        events(tmp_path / "a=b" / "out", template="{partition}/v1")

        assert validate(_opened(f"a=b/out/{FIRST}/v1", tmp_path)).findings == ()

    def test_root_below_a_key(self, tmp_path: Path) -> None:
        """A root below somebody else's `key=value` directory is opened as a root, staged files hidden."""
        builder = Builder(tmp_path / "region=eu" / "out", template=None)
        builder.partition(None, [instant("2023-01-01")])

        assert validate(_opened("region=eu/out", tmp_path)).findings == ()
        builder.finish()
        (builder.root / "_rivet_staging" / "run").mkdir(parents=True)
        (builder.root / "_rivet_staging" / "run" / "staged").touch()
        verdict = validate(_opened("region=eu/out", tmp_path))
        assert (verdict.findings, verdict.prefix) == ((), f"{builder.root}/")

    def test_linked(self, tmp_path: Path) -> None:
        """A root that is a link is opened, and a `..` after a link leads where the link leads."""
        root = events(tmp_path / "disk" / "out").finish()
        (tmp_path / "link").symlink_to(root)

        assert validate(_opened("link", tmp_path)).findings == ()
        assert validate(_opened("link/../out", tmp_path)).findings == ()

    @pytest.mark.parametrize("prefix", ["nowhere", "nowhere/a=b", "empty", "~/x", "out/nowhere"])
    def test_nothing(self, tmp_path: Path, prefix: str) -> None:
        """A place that is not there, or has nothing in it, opens, and its verdict says so."""
        events(tmp_path / "out").finish()
        (tmp_path / "empty").mkdir()

        verdict = validate(_opened(prefix, tmp_path))

        assert found(verdict) == [("error", "nothing_found", "")]
        assert "does not exist or holds no file" in verdict.findings[0].message


@pytest.mark.parametrize(
    ("prefix", "message", "hint"),
    [
        ("s3://", "'s3://' is no prefix in a bucket", "write it like s3://bucket/lake/"),
        ("gs://b c/x", "'gs://b c/x' is no prefix in a bucket", "write it like gs://bucket/lake/"),
        ("S3://bucket/a/../b", "'S3://bucket/a/../b' is no prefix", "write it like s3://bucket/lake/"),
        ("s3://K:pa/ss@b/x", "'s3://***@b/x' is no prefix in a bucket", "write it like s3://bucket/lake/"),
        ("https://u:p@h/x", "'https://***@h/x' has the unknown scheme 'https'", "write a path, s3://"),
        ("abfs://x/y", "unknown scheme 'abfs'", "write a path, s3://"),
        ("file:///data", "unknown scheme 'file'", "write a path, s3://"),
        ("", "'' is no path", "write the path of a root"),
        ("a\0b", "'a\\x00b' is no path", "write the path of a root"),
        ("part.parquet", "'part.parquet' is a file", "name the directory"),
    ],
)
def test_refused(tmp_path: Path, prefix: str, message: str, hint: str) -> None:
    """What this version cannot open is refused with the mend, as a mistake on the command line."""
    (tmp_path / "part.parquet").touch()

    with pytest.raises(ConfigError) as caught:
        place_of(prefix, tmp_path)

    assert message in str(caught.value)
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize(
    ("prefix", "place"),
    [
        ("s3://lake/events/", S3DestinationSettings("lake", "events/", "")),
        ("s3://lake/events/day=2023-01-01", S3DestinationSettings("lake", "events/day=2023-01-01/", "")),
        ("S3://lake//a//%2F b?#", S3DestinationSettings("lake", "a/%2F b?#/", "")),
        ("s3://lake", S3DestinationSettings("lake", "", "")),
        ("gs://lake/events", GcsDestinationSettings("lake", "events/", "")),
    ],
)
def test_places_in_buckets(tmp_path: Path, prefix: str, place: DestinationSettings) -> None:
    """A URI is a bucket and a prefix with one slash after each segment, in which nothing is decoded."""
    assert place_of(prefix, tmp_path) == place


_LAKE = S3DestinationSettings("lake", "a/events/", "{partition}", endpoint_url="http://h")


@pytest.mark.parametrize(
    ("prefix", "key"),
    [
        ("a/events", "a/events/"),
        ("/a//events/day=2023-01-01/", "a/events/day=2023-01-01/"),
        ("s3://lake/a/events/day=x%2F", "a/events/day=x%2F/"),
        ("a/eventsx", None),
        ("a", None),
        ("", None),
        ("a/events/../orders", None),
        ("s3://other/a/events", None),
        ("gs://lake/a/events", None),
    ],
)
def test_keys_under_a_root(tmp_path: Path, prefix: str, key: str | None) -> None:
    """With a config a prefix is a key in the export's bucket, under its root, in the store that it names."""
    expected = None if key is None else replace(_LAKE, prefix=key)

    assert place_under(_LAKE, prefix, tmp_path) == expected


def test_paths_under_a_root(tmp_path: Path) -> None:
    """With a config a prefix is a path from its folder."""
    root = LocalDestinationSettings(tmp_path / "out", "{partition}")

    assert place_under(root, "out/x", tmp_path) == replace(root, root=tmp_path / "out" / "x")
    assert place_under(root, "outer", tmp_path) is None
    assert place_under(root, "s3://lake/out", tmp_path) is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_rights(tmp_path: Path) -> None:
    """A place that may not be read is a matter of rights, not of integrity."""
    root = events(tmp_path / "out").finish()
    root.chmod(0)
    try:
        with pytest.raises(DestinationDenied):
            validate(_opened("out", tmp_path))
    finally:
        root.chmod(0o755)
