"""Exports that add rows to what stands, and what a tree holds to which rows were added."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.run.changing import by_change
from tests.run.nights import assert_valid, export_file
from tests.run.trees import Rows, manifests, snapshot


def appending(root: Path, **more: Any) -> dict[str, Any]:
    """Give an export of the table of orders that adds new rows, changed by more."""
    return by_change(root, **{"strategy": "append", **more})


def added(old: Mapping[str, Rows], new: Mapping[str, Rows]) -> dict[str, Rows]:
    """Give what a tree holds to which the rows were added that are new or have changed."""
    grown = {}
    for label in {*old, *new}:
        standing = Counter(old.get(label, []))
        grown[label] = sorted((standing | Counter(new.get(label, []))).elements(), key=repr)
    return grown


def assert_only_added(before: Mapping[str, bytes], root: Path) -> None:
    """Assert that every part of an earlier moment is there, byte for byte."""
    after = snapshot(root)
    parts = {path: data for path, data in before.items() if path.endswith(".parquet")}
    assert parts.items() <= after.items()


def assert_accounted(root: Path) -> None:
    """Assert that manifests add up, that each part tells its range, and that validation finds no error."""
    entries = {e["value"]: e for e in export_file(root)["partitions"]}
    for label, manifest in manifests(root).items():
        parts = manifest["parts"]
        assert [part["part_id"] for part in parts] == list(range(len(parts)))
        assert (
            manifest["row_count"] == sum(part["row_count"] for part in parts) == entries[label]["row_count"]
        )
        assert manifest["size_bytes"] == sum(part["size_bytes"] for part in parts)
        assert all(part["watermark"] for part in parts)
        runs = {part["path"].rsplit("_", 2)[-2] for part in parts}
        assert runs == {entries[label]["run_id"], *entries[label].get("part_runs", [])}
    assert_valid(root)
