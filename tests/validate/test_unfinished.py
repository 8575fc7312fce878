"""Trees in which a run is at work, was killed, or left something undone."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rivet.manifest.codec import success_marker
from rivet.plan.names import EXPORT_FILE, SUCCESS_FILE
from rivet.plan.schema import schema_fingerprint
from tests.validate.build import (
    SECOND,
    Builder,
    edit,
    events,
    instant,
    parts,
    reseal,
)
from tests.validate.looking import check, found


class TestUnfinished:
    """Trees in which a run is at work or was killed."""

    def pending(self, old: str | None, new: str | None) -> dict[str, Any]:
        """Give the keys of an export file while the second day is published."""
        entry = {"value": "2023-01-02", "path": SECOND, "old_sha256": old, "new_sha256": new}
        return {"status": "publishing", "pending": {"run_id": "the run", "partitions": [entry]}}

    @pytest.mark.parametrize("is_new", [False, True])
    def test_old_or_new(self, tmp_path: Path, *, is_new: bool) -> None:
        """A pending partition may have its old or its new manifest, and is noted as unfinished."""
        root = events(tmp_path).finish()
        sha256 = success_marker((root / SECOND / "manifest.json").read_bytes()).decode().strip()
        both = ("sha256:0", sha256) if is_new else (sha256, "sha256:0")
        edit(root / EXPORT_FILE, lambda e: e.update(self.pending(*both)))
        edit(root / EXPORT_FILE, lambda e: e["partitions"][1].update(manifest_sha256=both[0]))

        verdict = check(root)

        assert found(verdict) == [
            ("note", "export_unfinished", EXPORT_FILE),
            ("note", "partition_unfinished", SECOND),
        ]
        assert ("new" if is_new else "old") in verdict.findings[1].message
        assert not check(root, strict=True).passed

    def test_neither(self, tmp_path: Path) -> None:
        """A pending partition with any other manifest is an error."""
        root = events(tmp_path).finish()
        edit(root / EXPORT_FILE, lambda e: e.update(self.pending("sha256:0", "sha256:1")))
        edit(root / EXPORT_FILE, lambda e: e["partitions"][1].update(manifest_sha256="sha256:0"))

        assert ("error", "partition_changed", SECOND) in found(check(root))

    def test_marker_removed(self, tmp_path: Path) -> None:
        """A pending partition may miss its marker: readers who ask for it are told to wait."""
        root = events(tmp_path).finish()
        sha256 = success_marker((root / SECOND / "manifest.json").read_bytes()).decode().strip()
        edit(root / EXPORT_FILE, lambda e: e.update(self.pending(sha256, "sha256:0")))
        (root / SECOND / SUCCESS_FILE).unlink()

        assert found(check(root))[2:] == [("note", "marker_missing", f"{SECOND}/_SUCCESS")]

    @pytest.mark.parametrize("pair", [(None, "sha256:0"), ("sha256:0", None)])
    def test_absent(self, tmp_path: Path, pair: tuple[str | None, str | None]) -> None:
        """A pending partition that is new, or is to go, may be absent."""
        root = events(tmp_path).finish()
        edit(root / EXPORT_FILE, lambda e: e.update(self.pending(*pair)))
        shutil.rmtree(root / SECOND)

        assert found(check(root))[1:] == [("note", "partition_unfinished", SECOND)]

    def test_absent_though_replaced(self, tmp_path: Path) -> None:
        """A pending partition that is to be replaced may not be absent at any moment."""
        root = events(tmp_path).finish()
        edit(root / EXPORT_FILE, lambda e: e.update(self.pending("sha256:0", "sha256:1")))
        shutil.rmtree(root / SECOND)

        assert ("error", "partition_missing", SECOND) in found(check(root))

    def test_new_parts_seen(self, tmp_path: Path) -> None:
        """New parts beside an old manifest are an error while they stand there: a glob counts both."""
        root = events(tmp_path).finish()
        sha256 = success_marker((root / SECOND / "manifest.json").read_bytes()).decode().strip()
        edit(root / EXPORT_FILE, lambda e: e.update(self.pending(sha256, "sha256:0")))
        shutil.copy(parts(root / SECOND)[0], root / SECOND / "new.parquet")

        assert found(check(root))[2:] == [("error", "unlisted_parquet", f"{SECOND}/new.parquet")]

    def test_totals(self, tmp_path: Path) -> None:
        """While a run publishes, partitions and the counts of the run before it need not add up."""
        root = events(tmp_path).finish(source_rows=1, source_null_rows=0)
        edit(root / EXPORT_FILE, lambda e: e.update(self.pending(None, "sha256:0")))

        assert check(root).passed

    def test_only_staging(self, tmp_path: Path) -> None:
        """A first run that was killed before it published anything leaves a valid, unfinished tree."""
        builder = Builder(tmp_path)
        root = builder.finish(status="publishing", finished_at=None, source_rows=None, source_null_rows=None)
        edit(root / EXPORT_FILE, lambda e: e.update(pending={"run_id": "the run", "partitions": []}))

        assert found(check(root)) == [("note", "export_unfinished", EXPORT_FILE)]

    def test_failed_and_absent(self, tmp_path: Path) -> None:
        """A partition that a run could not do, and that was not there before, is told once."""
        builder = events(tmp_path)
        failed = replace(
            builder.entries[0], path="x", value="x", state="failed", row_count=0, manifest_sha256=""
        )
        builder.entries.append(failed)

        assert found(check(builder.finish())) == [("error", "partition_failed", "x")]

    def test_kept_with_other_schema(self, tmp_path: Path) -> None:
        """A kept partition may have the columns of its own time, which is a note."""
        builder = events(tmp_path)
        builder.partition("2022-01-01", [instant("2022-01-01")], state="kept")
        root = builder.finish()

        def rename(schema: Any) -> None:
            schema[0]["source_type"] = "integer"

        def change(manifest: Any) -> None:
            rename(manifest["schema"])
            manifest["schema_fingerprint"] = schema_fingerprint(manifest["schema"])

        reseal(root, "created_at=2022-01-01", change)
        kept = found(check(root))
        edit(root / EXPORT_FILE, lambda e: e["partitions"][0].update(state="live") or e.update(source_rows=9))

        assert kept == [("note", "partition_schema", "created_at=2022-01-01")]
        assert found(check(root)) == [("error", "partition_schema", "created_at=2022-01-01")]
