"""Takes back what a run has published when another has taken its place."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass

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
from rivet.publish.marking import set_marker, version_of
from rivet.publish.side_by_side import side_by_side


def withdraw(
    destination: Destination, layout: Layout, run_id: str, partitions: Sequence[StagedPartition]
) -> None:
    """Remove parts, markers and manifests of a run that was overtaken, unless the other lets them stand.

    It does so where its export file lists the manifest. Where that file is still the run's own, the other has
    not begun, and will finish or undo the partition. A marker of the other's that a request of this run has
    removed too late is written again.
    """
    other = _other(destination, run_id)

    def withdraw_one(staged: StagedPartition) -> None:
        sha256 = staged.manifest_sha256
        manifest, marker = (staged.partition.child(name) for name in (layout.manifest_name, SUCCESS_FILE))
        with suppress(ObjectNotFound):
            seen = destination.inspect(manifest, MAX_MANIFEST_BYTES + 1)
            found = digest(seen.data)
            if found == sha256:
                if other is None or sha256 in other.standing:
                    return
                destination.remove(manifest, seen.version)
            elif other is not None and found in other.lasting and version_of(destination, marker) is None:
                set_marker(destination, marker, marker_of(found), None)
        with suppress(ObjectNotFound):
            seen = destination.inspect(marker, MAX_MARKER_BYTES + 1)
            if seen.data == marker_of(sha256):
                destination.remove(marker, seen.version)
        destination.delete(staged.partition.child(p.facts.path) for p in staged.parts)

    side_by_side(destination, withdraw_one, partitions)


@dataclass(frozen=True, slots=True)
class _Other:
    """What another run says of the manifests, by their digests.

    Attributes:
        standing: Those that it lets stand, for now at least.
        lasting: Those of them that it will not replace or remove any more.
    """

    standing: Collection[str]
    lasting: Collection[str]


def _other(destination: Destination, run_id: str) -> _Other | None:
    """Give what the export file of another run says; None where that cannot be told."""
    try:
        export = decode_export(read_bounded(destination, EXPORT_FILE, MAX_BYTES))
    except (ObjectNotFound, DecodeError):
        return None
    pending = export.pending
    if run_id in {export.run_id, None if pending is None else pending.run_id}:
        return None
    announced = () if pending is None else pending.partitions
    listed = {e.manifest_sha256 for e in export.partitions}
    old, new = {p.old_sha256 for p in announced}, {p.new_sha256 for p in announced}
    return _Other(
        standing={sha256 for sha256 in listed | old | new if sha256 is not None},
        lasting={sha256 for sha256 in (listed - old) | new if sha256 is not None},
    )
