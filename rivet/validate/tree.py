"""Validates a prefix: a root by its export file, or one partition by its manifest.

A run may be at work meanwhile: where something looks wrong, it is looked at again if it has changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Literal

from rivet.destination.protocol import Destination
from rivet.manifest.codec import (
    MAX_MANIFEST_BYTES,
    DecodeError,
    UnknownVersion,
    decode_export,
    decode_manifest,
    digest,
)
from rivet.manifest.model import ExportFile
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
from rivet.validate.partition import Looked, Onlooker
from rivet.wording import counted

Depth = Literal["quick", "full"]

# Partitions looked at side by side, and as many parts, where a store wants no more: each digests on a core.
_LEAST_WORKERS = 8
_ATTEMPTS = 3
_MAX_FINDINGS_OF_A_KIND = 1000
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
    chosen = depth or ("full" if destination.kind == "local" else "quick")
    workers = max(_LEAST_WORKERS, destination.concurrency)
    base = f"{prefix.rstrip('/')}/" if prefix.rstrip("/") else ""
    partitions, parts = ThreadPoolExecutor(workers), ThreadPoolExecutor(workers)
    try:
        onlooker = Onlooker(destination, base, parts, full=chosen == "full")
        tally = _settled_tally(onlooker, partitions)
    finally:
        # Where something failed others may be trying again for minutes, which the closing of the store ends.
        for pool in (partitions, parts):
            pool.shutdown(wait=False, cancel_futures=True)
    findings = tally.all_findings()
    if strict:
        findings = [replace(f, level=Level.ERROR) for f in findings]
    return Verdict(
        printable(destination.uri + base),
        chosen,
        tally.partitions,
        tally.parts,
        tally.rows,
        tally.size_bytes,
        tuple(findings),
    )


@dataclass(slots=True)
class _Tally:
    """What was found so far; of a kind of finding only so many are kept, and the others counted."""

    findings: list[Finding] = field(default_factory=list)
    counts: Counter[tuple[Level, str]] = field(default_factory=Counter)
    partitions: int = 0
    parts: int = 0
    rows: int = 0
    size_bytes: int = 0

    @property
    def passed(self) -> bool:
        return all(level is not Level.ERROR for level, _ in self.counts)

    def add(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            kind = (finding.level, finding.code)
            self.counts[kind] += 1
            if self.counts[kind] <= _MAX_FINDINGS_OF_A_KIND:
                self.findings.append(finding)

    def add_partition(self, looked: Looked) -> None:
        self.add(looked.findings)
        self.partitions += looked.readable
        self.parts += looked.parts
        self.rows += looked.rows
        self.size_bytes += looked.size_bytes

    def add_others(self, others: _Tally) -> None:
        self.add(others.findings)
        for kind, count in others.counts.items():
            self.counts[kind] += max(0, count - _MAX_FINDINGS_OF_A_KIND)

    def all_findings(self) -> list[Finding]:
        more = {kind: count - _MAX_FINDINGS_OF_A_KIND for kind, count in self.counts.items()}
        return self.findings + [
            Finding(level, code, "", f"{count} more findings of this kind", count)
            for (level, code), count in more.items()
            if count > 0
        ]


def _settled_tally(onlooker: Onlooker, pool: Executor) -> _Tally:
    """Look again as long as there are errors and the export file is changing."""
    tally, seen = _tally(onlooker, pool)
    for _ in range(_ATTEMPTS - 1):
        if tally.passed or _digest_of(onlooker.read(EXPORT_FILE)) == seen:
            break
        tally, seen = _tally(onlooker, pool)
    return tally


def _digest_of(data: bytes | None) -> str | None:
    return None if data is None else digest(data)


def _tally(onlooker: Onlooker, pool: Executor) -> tuple[_Tally, str | None]:
    """Look at everything once; give the digest of the export file, too, which may be large."""
    tally = _Tally()
    data = onlooker.read(EXPORT_FILE)
    seen = _digest_of(data)
    if data is None:
        tally.add_partition(_look_at_partition(onlooker))
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
    _tally_root(onlooker, pool, export, tally)
    return tally, seen


def _tally_root(onlooker: Onlooker, pool: Executor, export: ExportFile, tally: _Tally) -> None:
    entries = {entry.path: entry for entry in export.partitions}
    announced = {} if export.pending is None else {p.path: p for p in export.pending.partitions}
    files: dict[str, dict[str, int]] = {path: {} for path in (*entries, *announced)}
    others = _Tally()
    for listed in onlooker.list(""):
        path = _partition_of(listed.name, files)
        if path is None:
            others.add(_verify_other(onlooker, listed.name))
        else:
            files[path][listed.name[len(path) + 1 if path else 0 :]] = listed.size_bytes

    def look(path: str) -> Looked:
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

        return _settled(onlooker, path, files.pop(path), attempt)

    paths = list(files)
    unrepresentable = Counter[str]()
    add_up = export.status == "complete" and export.pending is None
    for path, looked in zip(paths, pool.map(look, paths), strict=True):
        tally.add_partition(looked)
        entry = entries.get(path)
        if entry is not None and entry.state == "live":
            unrepresentable.update(looked.unrepresentable_rows)
            add_up &= looked.readable and looked.manifest_sha256 == entry.manifest_sha256
    if add_up:
        tally.add(verify_unrepresentable(export, unrepresentable, EXPORT_FILE))
    tally.add_others(others)


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
    return replace(looked, manifest=None)  # thousands of results may wait for the first one


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
