"""Takes back what a run has published when another has taken its place."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress

from rivet.destination.bounded import read_bounded
from rivet.destination.protocol import Destination
from rivet.errors import ObjectNotFound
from rivet.export.staged import StagedPartition
from rivet.manifest.codec import (
    MAX_BYTES,
    MAX_MANIFEST_BYTES,
    MAX_MARKER_BYTES,
    DecodeError,
    decode_export,
    digest,
    marker_of,
)
from rivet.plan.layout import Layout
from rivet.plan.names import EXPORT_FILE, SUCCESS_FILE
from rivet.publish.side_by_side import side_by_side


def withdraw(
    destination: Destination, layout: Layout, run_id: str, partitions: Sequence[StagedPartition]
) -> None:
    """Remove parts, markers and manifests of a run that was overtaken, unless the other lets them stand.

    It does so where its export file lists the manifest. Where that file is still the run's own, the other has
    not begun, and will finish or undo the partition.
    """
    standing = _standing(destination, run_id)

    def withdraw_one(staged: StagedPartition) -> None:
        sha256 = staged.manifest_sha256
        manifest, marker = (staged.partition.child(name) for name in (layout.manifest_name, SUCCESS_FILE))
        with suppress(ObjectNotFound):
            seen = destination.inspect(manifest, MAX_MANIFEST_BYTES + 1)
            if digest(seen.data) == sha256:
                if standing is None or sha256 in standing:
                    return
                destination.remove(manifest, seen.version)
        with suppress(ObjectNotFound):
            seen = destination.inspect(marker, MAX_MARKER_BYTES + 1)
            if seen.data == marker_of(sha256):
                destination.remove(marker, seen.version)
        destination.delete(staged.partition.child(p.facts.path) for p in staged.parts)

    side_by_side(destination, withdraw_one, partitions)


def _standing(destination: Destination, run_id: str) -> Collection[str] | None:
    """Give the digests of the manifests that another run lets stand; None where that cannot be told."""
    try:
        export = decode_export(read_bounded(destination, EXPORT_FILE, MAX_BYTES))
    except (ObjectNotFound, DecodeError):
        return None
    pending = export.pending
    if run_id in {export.run_id, None if pending is None else pending.run_id}:
        return None
    announced = () if pending is None else pending.partitions
    return {
        *(e.manifest_sha256 for e in export.partitions),
        *(sha256 for p in announced for sha256 in (p.old_sha256, p.new_sha256) if sha256 is not None),
    }
