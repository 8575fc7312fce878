"""Reads trees back, by their manifests or by globbing, with pyarrow as the reader."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

NULL = "__HIVE_DEFAULT_PARTITION__"
Rows = list[tuple[Any, ...]]


def manifests(root: Path) -> dict[str, dict[str, Any]]:
    """Give every manifest below a root by its directory's label, `` for the root's own."""
    found = {}
    for path in root.rglob("manifest.json"):
        label = path.parent.name.partition("=")[2] if path.parent != root else ""
        found[label] = json.loads(path.read_text())
    return found


def rows_by_manifest(root: Path) -> dict[str, Rows]:
    """Read what each manifest lists, sorted, as a reader that trusts manifests does."""
    trees = {}
    for path in root.rglob("manifest.json"):
        label = path.parent.name.partition("=")[2] if path.parent != root else ""
        parts = [path.parent / part["path"] for part in json.loads(path.read_text())["parts"]]
        trees[label] = sorted((row for part in parts for row in read_part(part)), key=repr)
    return trees


def rows_by_glob(root: Path) -> Rows:
    """Read every Parquet file below a root, sorted, as a reader that globs does."""
    return sorted((row for part in root.rglob("*.parquet") for row in read_part(part)), key=repr)


def read_part(path: Path) -> Rows:
    """Read one Parquet file as tuples."""
    table = pq.ParquetFile(path).read()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def is_ready(partition: Path) -> bool:
    """Tell whether a partition has a marker that belongs to its manifest."""
    marker, manifest = partition / "_SUCCESS", partition / "manifest.json"
    if not (marker.exists() and manifest.exists()):
        return False
    digest = hashlib.sha256(manifest.read_bytes()).hexdigest()
    return marker.read_text() == f"sha256:{digest}\n"


def snapshot(root: Path) -> dict[str, bytes]:
    """Give every file below a root by its name, with its bytes."""
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}
