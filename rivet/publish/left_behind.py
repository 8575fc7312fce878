"""Finds what failed runs have left behind that is whole: partitions that another run need not read again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rivet.destination.protocol import Destination
from rivet.manifest.model import ExportFile, PartitionEntry
from rivet.plan.layout import Layout
from rivet.plan.names import SUCCESS_FILE, child
from rivet.publish.side_by_side import side_by_side
from rivet.publish.tree import Tree, entry_of, read_manifest


def left_behind(
    destination: Destination, layout: Layout, tree: Tree, settings_sha256: str
) -> Mapping[str, PartitionEntry]:
    """Give by path the partitions that runs since the last complete one have finished with these settings.

    Each was published by such a run, or found to hold its very rows. Its manifest is the one that was
    announced, and its parts are there, as large as it says. Nothing is changed: what a killed run has only
    committed has its marker and its entry written when the tree is recovered.

    Args:
        settings_sha256: Digest of all that rows and bytes depend on, as the export file has it.
    """
    export = tree.export
    if export is None or layout.partitioning is None:
        return {}
    runs = {u.run_id for u in export.unfinished_runs if u.settings_sha256 == settings_sha256}
    candidates = _candidates(export, runs)

    def look(path: str) -> PartitionEntry | None:
        found = read_manifest(destination, child(path, layout.manifest_name))
        if found is None:
            return None
        manifest, sha256 = found
        parts = {child(path, p.path): p.size_bytes for p in manifest.parts}
        is_whole = all(tree.sizes.get(name) == size for name, size in parts.items())
        is_ready = child(path, SUCCESS_FILE) in tree.sizes or path in _announced(export)
        if sha256 not in candidates[path] or not (is_whole and is_ready):
            return None
        return replace(entry_of(manifest, sha256, path), confirmed_by=None)

    looked = side_by_side(destination, look, list(candidates)) if runs else []
    return {entry.path: entry for entry in looked if entry is not None}


def _candidates(export: ExportFile, runs: set[str]) -> dict[str, set[str]]:
    """Give by path the digests of manifests that one of the runs has published or confirmed."""
    known: dict[str, set[str]] = {}
    for entry in export.partitions:
        if entry.state == "live" and not runs.isdisjoint({entry.run_id, entry.confirmed_by}):
            known.setdefault(entry.path, set()).add(entry.manifest_sha256)
    if export.pending is not None and export.pending.run_id in runs:
        for pending in export.pending.partitions:
            if pending.new_sha256 is not None:
                known.setdefault(pending.path, set()).add(pending.new_sha256)
    return known


def _announced(export: ExportFile) -> set[str]:
    return set() if export.pending is None else {p.path for p in export.pending.partitions}
