"""Looks at one partition: its manifest, its marker, its parts, and whatever else stands there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rivet.destination.bounded import one_large, read_bounded
from rivet.destination.digesting import sha256_of
from rivet.destination.protocol import Destination, Listed
from rivet.errors import ObjectNotFound, RivetError
from rivet.manifest.codec import (
    MAX_BYTES,
    MAX_MANIFEST_BYTES,
    MAX_MARKER_BYTES,
    DecodeError,
    UnknownVersion,
    decode_manifest,
    digest,
    success_marker,
)
from rivet.manifest.model import Manifest, Part
from rivet.manifest.verdict import Code, Finding
from rivet.manifest.verify import (
    ObservedPart,
    error,
    shown,
    verify_directory,
    verify_manifest,
    verify_marker,
    verify_part,
    verify_unlisted,
)
from rivet.plan.names import EXPORT_FILE, LOCK_FILE, SUCCESS_FILE, child
from rivet.validate.footer import read_footer, read_tail
from rivet.validate.implied import implied_by
from rivet.validate.pace import Pace


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found in one partition.

    Attributes:
        manifest: None where there is none that can be read.
        manifest_sha256: Of its bytes; None where it is not there.
        parts: Listed parts that are there, with their rows by their own footers, and their size.
        unrepresentable_rows: As the manifest counts them.
    """

    findings: tuple[Finding, ...]
    manifest: Manifest | None = None
    manifest_sha256: str | None = None
    readable: bool = False
    parts: int = 0
    rows: int = 0
    size_bytes: int = 0
    unrepresentable_rows: Mapping[str, int] = field(default_factory=dict)


class Onlooker:
    """Looks at partitions below a prefix; methods may be called from several threads.

    Args:
        base: The prefix, empty or ending in `/`; all paths that findings hold are relative to it.
        full: Read every byte.
        parts: How the parts of one partition are looked at; its pool is not the one that calls `look`.
    """

    def __init__(self, destination: Destination, base: str, parts: Pace, *, full: bool) -> None:
        self._destination = destination
        self._base = base
        self._parts = parts
        self._full = full

    def read(self, name: str, limit_bytes: int = MAX_BYTES) -> bytes | None:
        """Give the bytes of a small file, cut one byte beyond a limit; None without one.

        Args:
            limit_bytes: What no file of this kind that Rivet has written is larger than.
        """
        try:
            return read_bounded(self._destination, self._base + name, limit_bytes)
        except ObjectNotFound:
            return None

    def has(self, name: str) -> bool:
        """Tell whether there is a file of this name, without looking at all the others."""
        # Of the names that begin with it, it is the first.
        first = next(self._destination.list(self._base + name), None)
        return first is not None and first.name == self._base + name

    def list(self, path: str) -> Iterator[Listed]:
        """List all files below a directory by their names from there, but for export file and lock."""
        start = f"{self._base}{path}/" if path else self._base
        for listed in self._destination.list(start):
            if listed.name not in (self._base + EXPORT_FILE, self._base + LOCK_FILE):
                yield Listed(listed.name.removeprefix(start), listed.size_bytes)

    def look(
        self, path: str, sizes: Mapping[str, int], manifest_names: Sequence[str], *, unfinished: bool
    ) -> Looked:
        """Verify one partition on its own.

        Args:
            path: The partition, from the prefix; empty for the prefix itself.
            sizes: The files in it, by their names from there.
            manifest_names: Where its manifest may be, the likeliest first.
            unfinished: A run was about to publish it and has not ended.
        """
        findings: list[Finding] = []
        with one_large(max((sizes.get(name, 0) for name in manifest_names), default=0)):
            name, data = self._manifest(path, sizes, manifest_names)
            if data is None:
                # Without a run at work it is the manifest that is amiss, not every file beside it.
                return Looked(tuple(verify_unlisted(child(path, n) for n in sizes)) if unfinished else ())
            sha256 = digest(data)
            marker = self._marker(path, sizes)
            findings += verify_marker(marker, sha256, child(path, SUCCESS_FILE), unfinished=unfinished)
            try:
                manifest = decode_manifest(data)
            except DecodeError as exc:
                code = Code.MANIFEST_VERSION if isinstance(exc, UnknownVersion) else Code.MANIFEST_UNREADABLE
                return Looked((*findings, error(code, child(path, name), str(exc))), manifest_sha256=sha256)
            del data
        implied = implied_by(manifest)
        place = self._destination.uri + self._base + path
        findings += verify_directory(implied, place.rstrip("/"), path)
        findings += verify_manifest(manifest, implied, child(path, name))
        parts = rows = size_bytes = 0
        for claimed, observed in zip(manifest.parts, self._observe(path, sizes, manifest), strict=True):
            findings += verify_part(claimed, observed, manifest, implied, child(path, claimed.path))
            if observed is not None:
                parts += 1
                rows += observed.footer.row_count if observed.footer is not None else 0
                size_bytes += observed.size_bytes
        listed = {name, SUCCESS_FILE, *(p.path for p in manifest.parts)}
        findings += verify_unlisted(child(path, n) for n in sizes if n not in listed)
        return Looked(
            tuple(findings),
            manifest,
            sha256,
            readable=True,
            parts=parts,
            rows=rows,
            size_bytes=size_bytes,
            unrepresentable_rows=manifest.unrepresentable_rows,
        )

    def _manifest(
        self, path: str, sizes: Mapping[str, int], manifest_names: Sequence[str]
    ) -> tuple[str, bytes | None]:
        """Give the name and bytes of the manifest; of several, that of the marker."""
        found = [
            (name, data)
            for name in manifest_names
            if (data := self._read_listed(path, name, sizes, MAX_MANIFEST_BYTES)) is not None
        ]
        if len(found) > 1:
            marker = self._marker(path, sizes)
            found.sort(key=lambda candidate: success_marker(candidate[1]) != marker)
        return found[0] if found else (manifest_names[0], None)

    def _marker(self, path: str, sizes: Mapping[str, int]) -> bytes | None:
        return self._read_listed(path, SUCCESS_FILE, sizes, MAX_MARKER_BYTES)

    def _read_listed(self, path: str, name: str, sizes: Mapping[str, int], limit_bytes: int) -> bytes | None:
        if name not in sizes:
            return None
        return self.read(child(path, name), limit_bytes)

    def _observe(
        self, path: str, sizes: Mapping[str, int], manifest: Manifest
    ) -> Iterator[ObservedPart | None]:
        column = None if manifest.partition is None else manifest.partition.column

        def observe(part: Part) -> ObservedPart | None:
            size_bytes = sizes.get(part.path)
            return None if size_bytes is None else self._observe_part(path, part, size_bytes, column)

        once = {part.path: part for part in manifest.parts}  # a hostile manifest lists one thousands of times
        seen = dict(zip(once, self._parts.map(observe, [*once.values()]), strict=True))
        return (seen[part.path] for part in manifest.parts)

    def _observe_part(
        self, path: str, part: Part, size_bytes: int, column: str | None
    ) -> ObservedPart | None:
        try:
            with self._destination.open(self._base + child(path, part.path), size_bytes) as file:
                sha256 = None
                if self._full:
                    sha256 = sha256_of(file)
                    if sha256 != part.sha256:
                        return ObservedPart(size_bytes, sha256, None)  # to parse such bytes tells no more
                try:
                    tail = read_tail(file)
                    with one_large(tail.footer_bytes):
                        footer = read_footer(file, tail, column, from_rows=self._full)
                except RivetError:
                    raise
                except Exception as exc:  # noqa: BLE001 - damaged bytes make pyarrow raise nearly anything
                    return ObservedPart(size_bytes, sha256, None, unreadable=shown(str(exc)))
                return ObservedPart(size_bytes, sha256, footer)
        except ObjectNotFound:
            return None
