"""One partition, or nothing at all, under the prefix."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.validate.build import (
    FIRST,
    SECOND,
    Builder,
    events,
    instant,
    parts,
)
from tests.validate.looking import DEPTHS, check, found


class TestPartition:
    """One partition, without the root's export file."""

    def test_moved(self, tmp_path: Path) -> None:
        """A partition under another name than its manifest's is an error."""
        root = events(tmp_path).root
        (root / SECOND).rename(root / "created_at=2023-01-03")

        verdict = check(root, "created_at=2023-01-03")

        assert found(verdict) == [("error", "partition_renamed", "")]
        assert "'created_at=2023-01-03'" in verdict.findings[0].message
        assert "'created_at=2023-01-02'" in verdict.findings[0].message

    def test_copied_under_no_key(self, tmp_path: Path) -> None:
        """A partition whose path holds its key nowhere is an error: readers would lose the key."""
        root = events(tmp_path / "out").root
        (root / SECOND).rename(tmp_path / "copy")

        assert found(check(tmp_path / "copy")) == [("error", "partition_renamed", "")]

    def test_below_another_partition(self, tmp_path: Path) -> None:
        """Below another directory of the same key the inner one counts, as it does for readers."""
        root = events(tmp_path / FIRST).root

        assert check(tmp_path, f"{FIRST}/{SECOND}").findings == ()
        (root / SECOND).rename(root / "copy")
        assert found(check(tmp_path, f"{FIRST}/copy")) == [("error", "partition_renamed", "")]

    def test_null_rows_with_values(self, tmp_path: Path) -> None:
        """A row with a value in the NULL partition is an error."""
        builder = Builder(tmp_path)
        directory = builder.partition(None, [None, instant("2023-01-01")])

        for depth in DEPTHS:
            assert found(check(builder.root, directory.name, depth)) == [
                ("error", "part_outside_window", parts(directory)[0].name)
            ]

    def test_two_manifests(self, tmp_path: Path) -> None:
        """Of two manifests the marker's is the live one, and the other is just a file."""
        root = events(tmp_path, manifest_name="_manifest.json").root
        shutil.copy(root / FIRST / "_manifest.json", root / SECOND / "manifest.json")

        assert found(check(root, SECOND)) == [("note", "unlisted_file", "manifest.json")]

    def test_nothing(self, tmp_path: Path) -> None:
        """A prefix that does not exist, or holds nothing of Rivet's, is an error that says so."""
        (tmp_path / "empty").mkdir()
        (tmp_path / "foreign").mkdir()
        (tmp_path / "foreign" / "x.txt").touch()
        verdicts = [check(tmp_path, prefix) for prefix in ("nowhere", "empty", "foreign")]

        assert [found(v) for v in verdicts] == [[("error", "nothing_found", "")]] * 3
        assert [v.findings[0].message.partition(",")[0] for v in verdicts] == [
            "it does not exist or holds no file",
            "it does not exist or holds no file",
            "it holds files",
        ]

    def test_a_level_too_high(self, tmp_path: Path) -> None:
        """A directory above roots is an error that names the first three of them."""
        for name in ("a/events", "b", "c", "d"):
            (tmp_path / name).mkdir(parents=True)
            (tmp_path / name / "_rivet_export.json").touch()

        verdict = check(tmp_path)

        assert found(verdict) == [("error", "nothing_found", "")]
        assert verdict.findings[0].message.endswith("; there is a tree below it in 'a/events', 'b', 'c'")
