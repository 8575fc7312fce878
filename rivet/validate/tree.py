"""Validates a prefix: a root by its export file, or one partition by its manifest.

A run may be at work meanwhile: where something looks wrong, it is looked at again if it has changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from typing import Literal

from rivet.destination.protocol import Destination
from rivet.manifest.claimed import Claimed, ClaimedPartition, claimed_by, partitioning_of
from rivet.manifest.codec import (
    MAX_MANIFEST_BYTES,
    DecodeError,
    UnknownVersion,
    decode_export,
    decode_manifest,
    digest,
)
from rivet.manifest.model import ExportFile, PartitionEntry, PendingPartition
from rivet.manifest.verdict import Code, Finding, Level, Verdict
from rivet.manifest.verify import error, printable, verify_unlisted
from rivet.manifest.verify_export import (
    verify_absent,
    verify_entry,
    verify_export,
    verify_unrepresentable,
)
from rivet.plan.names import EXPORT_FILE, MANIFEST_NAMES
from rivet.plan.schema import schema_fingerprint
from rivet.plan.windows import NULL_VALUE
from rivet.validate.pace import Pace
from rivet.validate.partition import Looked, Onlooker
from rivet.validate.tally import Tally
from rivet.wording import counted

Depth = Literal["quick", "full"]

# Partitions looked at side by side, and as many parts, where a store wants no more: each digests on a core.
_LEAST_WORKERS = 8
_ATTEMPTS = 3
# Names among which trees are looked for below a prefix that is none: ten answers of a store.
_MAX_NAMES_BELOW = 10_000
_MAX_TREES_NAMED = 3


def validate(
    destination: Destination, prefix: str = "", *, depth: Depth | None = None, strict: bool = False
) -> Verdict:
    """Validate a root or a partition; what is wrong is in the verdict, never an exception.

    Args:
        prefix: The root or the partition, from the destination's root; empty for that itself.
        depth: `quick` reads markers, manifests, listings and footers, `full` every byte; None: full on local
            disk, quick on stores.
        strict: Every note is an error.

    Raises:
        DestinationError: The destination cannot be read, so nothing can be said of it.
    """
    return validate_claimed(destination, prefix, depth=depth, strict=strict)[0]


def validate_claimed(
    destination: Destination, prefix: str = "", *, depth: Depth | None = None, strict: bool = False
) -> tuple[Verdict, Claimed | None]:
    """Validate a root or a partition, and give what it says it holds, None where nothing can be read of that.

    Args and errors are those of `validate`.
    """
    chosen = depth or ("full" if destination.kind == "local" else "quick")
    workers = max(_LEAST_WORKERS, destination.concurrency)
    base = f"{prefix.rstrip('/')}/" if prefix.rstrip("/") else ""
    partitions, parts = ThreadPoolExecutor(workers), ThreadPoolExecutor(workers)
    # Stores are waited for, and what digests does so on a core of its own.
    at_once = destination.kind != "local" or chosen == "full"
    try:
        onlooker = Onlooker(destination, base, Pace(parts, at_once=at_once), full=chosen == "full")
        tally = _settled_tally(onlooker, Pace(partitions, at_once=at_once))
    finally:
        # Where something failed others may be trying again for minutes, which the closing of the store ends.
        for pool in (partitions, parts):
            pool.shutdown(wait=False, cancel_futures=True)
    findings = tally.all_findings()
    if strict:
        findings = [replace(f, level=Level.ERROR) for f in findings]
    verdict = Verdict(
        printable(destination.uri + base),
        chosen,
        tally.partitions,
        tally.parts,
        tally.rows,
        tally.size_bytes,
        tuple(findings),
    )
    return verdict, tally.claimed


def _settled_tally(onlooker: Onlooker, pace: Pace) -> Tally:
    """Look again as long as there are errors and the export file is changing."""
    tally, seen = _tally(onlooker, pace)
    for _ in range(_ATTEMPTS - 1):
        if tally.passed or _digest_of(onlooker.read(EXPORT_FILE)) == seen:
            break
        tally, seen = _tally(onlooker, pace)
    return tally


def _digest_of(data: bytes | None) -> str | None:
    return None if data is None else digest(data)


def _tally(onlooker: Onlooker, pace: Pace) -> tuple[Tally, str | None]:
    """Look at everything once; give the digest of the export file, too, which may be large."""
    tally = Tally()
    data = onlooker.read(EXPORT_FILE)
    seen = _digest_of(data)
    if data is None:
        looked = _look_at_partition(onlooker)
        tally.add_partition(looked)
        if (manifest := looked.manifest) is not None:
            tally.claimed = Claimed(
                manifest.export_name,
                partitioning_of(manifest.partition),
                manifest_name=None,
                started_at=manifest.started_at,
                is_root=False,
                partitions=(claimed_by(manifest, ""),),
            )
        return tally, seen
    try:
        export = decode_export(data)
    except DecodeError as exc:
        code = Code.EXPORT_VERSION if isinstance(exc, UnknownVersion) else Code.EXPORT_UNREADABLE
        tally.add([error(code, EXPORT_FILE, str(exc))])
        return tally, seen
    del data
    fingerprint = schema_fingerprint(export.schema)
    tally.add(verify_export(export, EXPORT_FILE, schema_fingerprint=fingerprint, null_value=NULL_VALUE))
    _tally_root(onlooker, pace, export, tally)
    return tally, seen


def _tally_root(onlooker: Onlooker, pace: Pace, export: ExportFile, tally: Tally) -> None:
    entries = {entry.path: entry for entry in export.partitions}
    announced = {} if export.pending is None else {p.path: p for p in export.pending.partitions}
    files: dict[str, dict[str, int]] = {path: {} for path in (*entries, *announced)}
    others = Tally()
    for listed in onlooker.list(""):
        path = _partition_of(listed.name, files)
        if path is None:
            others.add(_verify_other(onlooker, listed.name))
        else:
            files[path][listed.name[len(path) + 1 if path else 0 :]] = listed.size_bytes

    def look(path: str) -> tuple[Looked, ClaimedPartition | None]:
        entry, pending = entries.get(path), announced.get(path)

        def attempt(sizes: Mapping[str, int]) -> Looked:
            unfinished = pending is not None
            looked = onlooker.look(path, sizes, [export.manifest_name], unfinished=unfinished)
            more: Iterator[Finding] = iter(())
            if looked.manifest is not None and looked.manifest_sha256 is not None:
                seen, sha256 = looked.manifest, looked.manifest_sha256
                more = verify_entry(export, entry, pending, path, manifest=seen, manifest_sha256=sha256)
            elif looked.manifest_sha256 is None:
                more = verify_absent(export, entry, pending, path, files=len(sizes))
            return replace(looked, findings=(*more, *looked.findings))

        looked = _settled(onlooker, path, files.pop(path), attempt)
        claimed = _claimed(path, looked, entry or pending)
        return replace(looked, manifest=None), claimed  # thousands of results may wait for the first one

    paths = list(files)
    unrepresentable = Counter[str]()
    add_up = export.status == "complete" and export.pending is None
    partitions: list[ClaimedPartition] = []
    for path, (looked, claimed) in zip(paths, pace.map(look, paths), strict=True):
        partitions += () if claimed is None else (claimed,)
        tally.add_partition(looked)
        entry = entries.get(path)
        if entry is not None and entry.state == "live":
            unrepresentable.update(looked.unrepresentable_rows)
            add_up &= looked.readable and looked.manifest_sha256 == entry.manifest_sha256
    if add_up:
        tally.add(verify_unrepresentable(export, unrepresentable, EXPORT_FILE))
    tally.add_others(others)
    tally.claimed = Claimed(
        export.export_name,
        export.partition,
        export.manifest_name,
        started_at=export.started_at,
        is_root=True,
        partitions=tuple(partitions),
    )


def _claimed(
    path: str, looked: Looked, listed: PartitionEntry | PendingPartition | None
) -> ClaimedPartition | None:
    """Give what a partition says it holds; None where it has no manifest."""
    if looked.manifest is not None:
        is_kept = isinstance(listed, PartitionEntry) and listed.state == "kept"
        return claimed_by(looked.manifest, path, is_kept=is_kept)
    if looked.manifest_sha256 is None or listed is None:
        return None
    return ClaimedPartition(listed.value, path, row_count=None, started_at=None)


def _look_at_partition(onlooker: Onlooker) -> Looked:
    """Look at a prefix without an export file."""
    if not any(onlooker.has(name) for name in MANIFEST_NAMES):
        return Looked((_nothing(f.name for f in onlooker.list("")),))

    def attempt(sizes: Mapping[str, int]) -> Looked:
        looked = onlooker.look("", sizes, MANIFEST_NAMES, unfinished=False)
        return looked if looked.manifest_sha256 is not None else Looked((_nothing(sizes),))

    return _settled(onlooker, "", {f.name: f.size_bytes for f in onlooker.list("")}, attempt)


def _nothing(names: Iterable[str]) -> Finding:
    """Say what a prefix holds that is neither root nor partition, and which roots lie below it."""
    wanted = " or ".join(map(repr, (EXPORT_FILE, *MANIFEST_NAMES)))
    seen = list(islice(names, _MAX_NAMES_BELOW))
    if not seen:
        return error(Code.NOTHING_FOUND, "", f"it does not exist or holds no file, expected {wanted}")
    ending = f"/{EXPORT_FILE}"
    roots = [name.removesuffix(ending) for name in seen if name.endswith(ending)][:_MAX_TREES_NAMED]
    below = f"; there is a tree below it in {', '.join(map(repr, roots))}" if roots else ""
    return error(Code.NOTHING_FOUND, "", f"it holds files, expected {wanted}{below}")


def _settled(
    onlooker: Onlooker, path: str, sizes: dict[str, int], attempt: Callable[[Mapping[str, int]], Looked]
) -> Looked:
    """Look again as long as there are errors and the files are changing."""
    looked = attempt(sizes)
    for _ in range(_ATTEMPTS - 1):
        if not sizes or all(f.level is not Level.ERROR for f in looked.findings):
            break
        again = {f.name: f.size_bytes for f in onlooker.list(path)}
        if again == sizes:
            break
        sizes = again
        looked = attempt(sizes)
    return looked


def _partition_of(name: str, paths: Mapping[str, object]) -> str | None:
    """Give the innermost of the known partitions that a file lies in, or None."""
    directory = name
    while directory:
        directory, _, _ = directory.rpartition("/")
        if directory in paths:
            return directory
    return None


def _verify_other(onlooker: Onlooker, name: str) -> Iterable[Finding]:
    """Tell a partition that the export file does not list from any other file."""
    directory, _, base = name.rpartition("/")
    data = onlooker.read(name, MAX_MANIFEST_BYTES) if base in MANIFEST_NAMES else None
    if data is not None:
        try:
            rows = decode_manifest(data).row_count
        except DecodeError:
            return verify_unlisted([name])
        message = f"the export file does not list this partition of {counted(rows, 'row')}"
        return [error(Code.PARTITION_UNLISTED, directory, message)]
    return verify_unlisted([name])
