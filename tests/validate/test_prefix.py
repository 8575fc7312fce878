"""What `--prefix` may name, and how it is opened without a config."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rivet.errors import ConfigError, DestinationDenied
from rivet.validate import open_prefix, validate
from tests.validate.build import FIRST, SECOND, Builder, events, instant
from tests.validate.looking import found


class TestOpens:
    """Prefixes of local trees."""

    @pytest.mark.parametrize(
        "prefix", ["out", "out/", "./out", "other/../out", f"out/{FIRST}", f"out/{FIRST}/"]
    )
    def test_relative(self, tmp_path: Path, prefix: str) -> None:
        """A path is taken from the working directory, however it is spelled."""
        events(tmp_path / "out").finish()
        (tmp_path / "other").mkdir()

        assert validate(*open_prefix(prefix, tmp_path)).findings == ()

    @pytest.mark.parametrize("below", ["", FIRST])
    def test_absolute_and_here(self, tmp_path: Path, below: str) -> None:
        """An absolute path and `.` name the same places as a relative path does."""
        root = events(tmp_path / "out").finish()

        assert validate(*open_prefix(str(root / below), Path("/nowhere"))).findings == ()
        assert validate(*open_prefix(".", root / below)).findings == ()
        assert validate(*open_prefix("..", root / below / "x")).findings == ()

    def test_moved(self, tmp_path: Path) -> None:
        """A partition is opened so that its own name can be checked, with or without a tree around it."""
        root = events(tmp_path / "out").finish()
        (root / FIRST).rename(root / "created_at=2023-01-03")
        (root / SECOND).rename(tmp_path / "copy")

        for prefix in ("out/created_at=2023-01-03", "copy"):
            assert found(validate(*open_prefix(prefix, tmp_path))) == [("error", "partition_renamed", "")]

    def test_deeper(self, tmp_path: Path) -> None:
        """The key is found above the last segment where the template goes on after the partition."""
        events(tmp_path / "a=b" / "out", template="{partition}/v1")

        assert validate(*open_prefix(f"a=b/out/{FIRST}/v1", tmp_path)).findings == ()

    def test_root_below_a_key(self, tmp_path: Path) -> None:
        """A root below somebody else's `key=value` directory is opened as a root, staged files hidden."""
        builder = Builder(tmp_path / "region=eu" / "out", template=None)
        builder.partition(None, [instant("2023-01-01")])

        assert validate(*open_prefix("region=eu/out", tmp_path)).findings == ()
        builder.finish()
        (builder.root / "_rivet_staging" / "run").mkdir(parents=True)
        (builder.root / "_rivet_staging" / "run" / "staged").touch()
        verdict = validate(*open_prefix("region=eu/out", tmp_path))
        assert (verdict.findings, verdict.prefix) == ((), f"{builder.root}/")

    def test_linked(self, tmp_path: Path) -> None:
        """A root that is a link is opened, and a `..` after a link leads where the link leads."""
        root = events(tmp_path / "disk" / "out").finish()
        (tmp_path / "link").symlink_to(root)

        assert validate(*open_prefix("link", tmp_path)).findings == ()
        assert validate(*open_prefix("link/../out", tmp_path)).findings == ()

    @pytest.mark.parametrize("prefix", ["nowhere", "nowhere/a=b", "empty", "~/x", "out/nowhere"])
    def test_nothing(self, tmp_path: Path, prefix: str) -> None:
        """A place that is not there, or has nothing in it, opens, and its verdict says so."""
        events(tmp_path / "out").finish()
        (tmp_path / "empty").mkdir()

        verdict = validate(*open_prefix(prefix, tmp_path))

        assert found(verdict) == [("error", "nothing_found", "")]
        assert "does not exist or holds no file" in verdict.findings[0].message


@pytest.mark.parametrize(
    ("prefix", "message", "hint"),
    [
        ("s3://bucket/events/", "'s3://bucket/events/' is in a bucket", "buckets come later"),
        ("gs://bucket/events", "'gs://bucket/events' is in a bucket", "buckets come later"),
        ("S3://bucket", "'S3://bucket' is in a bucket", "buckets come later"),
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
        open_prefix(prefix, tmp_path)

    assert message in str(caught.value)
    assert hint in str(caught.value.hint)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_rights(tmp_path: Path) -> None:
    """A place that may not be read is a matter of rights, not of integrity."""
    root = events(tmp_path / "out").finish()
    root.chmod(0)
    try:
        with pytest.raises(DestinationDenied):
            validate(*open_prefix("out", tmp_path))
    finally:
        root.chmod(0o755)
