"""Verifies what was observed of a partition against what its manifest claims.

Pure: observations and what follows from names and windows (`Implied`) are handed in, findings come out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from rivet.manifest.codec import marker_of
from rivet.manifest.model import Manifest, Part
from rivet.manifest.verdict import Code, Finding, Level
from rivet.wording import counted

# What readers glob for.
_DATA_SUFFIX = ".parquet"
_MAX_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Window:
    """The half-open window of a partition on its column's axis, as it follows from its label.

    Attributes:
        start: First value, closed.
        end: End, open.
        start_text: The start as JSON files hold it.
        end_text: The end as JSON files hold it.
    """

    start: int
    end: int
    start_text: str
    end_text: str


@dataclass(frozen=True, slots=True)
class Implied:
    """What follows from a manifest's own words by the rules of names, windows and schemas.

    Attributes:
        schema_fingerprint: Of the schema that the manifest holds.
        directory: `key=value` as it must stand in the path; None without partitioning.
        window: None for the NULL partition, without partitioning, or with a flaw.
        text_of: Writes a value of the partition column as JSON files hold it.
        in_files: Whether the partition column stands in the files; if not, each window is one value.
        flaw: Why no window follows although one should, or None.
        doubt: Why the window is only the manifest's own claim, though a possible one, or None.
    """

    schema_fingerprint: str
    directory: str | None = None
    window: Window | None = None
    text_of: Callable[[int], str] = str
    in_files: bool = True
    flaw: str | None = None
    doubt: str | None = None


@dataclass(frozen=True, slots=True)
class Footer:
    """What a Parquet file says of itself.

    Attributes:
        schema: Name, type in the manifest's words and nullability of each column.
        null_rows: Rows whose partition column is NULL; 0 without one.
        minimum: Smallest value of the partition column on its axis, or None.
        maximum: Largest value, closed, or None.
    """

    row_count: int
    schema: tuple[tuple[str, str, bool], ...]
    null_rows: int = 0
    minimum: int | None = None
    maximum: int | None = None


@dataclass(frozen=True, slots=True)
class ObservedPart:
    """One part as it was found.

    Attributes:
        sha256: Bare hex; None where the depth did not ask for it.
        footer: None where it could not be read, or was not since the digest is already wrong.
        unreadable: Why the footer could not be read, or None.
    """

    size_bytes: int
    sha256: str | None
    footer: Footer | None
    unreadable: str | None = None


def error(code: Code, path: str, message: str) -> Finding:
    """Make a finding that changes what a reader gets."""
    return Finding(Level.ERROR, code, printable(path), message)


def note(code: Code, path: str, message: str) -> Finding:
    """Make a finding that does not change what a reader gets."""
    return Finding(Level.NOTE, code, printable(path), message)


def printable(path: str) -> str:
    r"""Give a name as text that can be written anywhere, though a file's name may be no valid text.

    >>> printable("caf\udce9")
    'caf\\udce9'
    """
    return path.encode("utf-8", "backslashreplace").decode()


def verify_manifest(manifest: Manifest, implied: Implied, path: str) -> Iterator[Finding]:
    """Find where a manifest contradicts itself; path is the manifest's own."""

    def contradiction(what: str, seen: object, expected: object) -> Finding:
        return _contradiction(path, what, seen, expected)

    if manifest.status != "complete":
        yield contradiction("status", manifest.status, "complete")
    if manifest.schema_fingerprint != implied.schema_fingerprint:
        yield contradiction("schema_fingerprint", manifest.schema_fingerprint, implied.schema_fingerprint)
    rows = sum(p.row_count for p in manifest.parts)
    if manifest.row_count != rows:
        yield contradiction("row_count", manifest.row_count, rows)
    size_bytes = sum(p.size_bytes for p in manifest.parts)
    if manifest.size_bytes != size_bytes:
        yield contradiction("size_bytes", manifest.size_bytes, size_bytes)
    listed = Counter(p.path for p in manifest.parts)
    yield from (contradiction("a part listed twice", p, "one of its own") for p in listed if listed[p] > 1)
    yield from _verify_unrepresentable(manifest, path)
    if implied.flaw is not None:
        yield error(Code.MANIFEST_INCONSISTENT, path, implied.flaw)
    elif manifest.partition is not None:
        window = implied.window
        seen = (manifest.partition.start, manifest.partition.end)
        expected = (None, None) if window is None else (window.start_text, window.end_text)
        if seen != expected:
            yield contradiction("the window", seen, expected)
        if implied.doubt is not None:
            yield note(Code.ZONE_DIFFERS, path, implied.doubt)


def verify_directory(implied: Implied, place: str, path: str) -> Iterator[Finding]:
    """Find whether a partition stands under another name than its own.

    Readers take the key from the last segment that carries it.

    Args:
        place: The partition with the segments above it, as far as they are known.
        path: The partition's own.
    """
    if implied.directory is None:
        return
    key, _, _ = implied.directory.partition("=")
    segments = place.split("/")
    keyed = [s for s in segments if s.startswith(f"{key}=")]
    seen = keyed[-1] if keyed else segments[-1]
    if seen != implied.directory:
        message = f"the directory is {shown(seen)}, and its manifest is that of {shown(implied.directory)}"
        yield error(Code.PARTITION_RENAMED, path, message)


def verify_marker(
    marker: bytes | None, manifest_sha256: str, path: str, *, unfinished: bool
) -> Iterator[Finding]:
    """Find whether the marker is there and belongs to the manifest.

    Args:
        unfinished: A run that has not ended may have removed the marker, which is then no error.
    """
    if marker is None:
        make = note if unfinished else error
        yield make(Code.MARKER_MISSING, path, "there is no marker, so the partition counts as not ready")
    elif marker != marker_of(manifest_sha256):
        seen = marker.decode("utf-8", "backslashreplace").removesuffix("\n")
        yield error(
            Code.MARKER_DIFFERS, path, f"the marker is {shown(seen)}, and the manifest is {manifest_sha256}"
        )


def verify_part(
    claimed: Part, observed: ObservedPart | None, manifest: Manifest, implied: Implied, path: str
) -> Iterator[Finding]:
    """Find what differs between a part and what the manifest claims of it."""
    if observed is None:
        yield error(
            Code.PART_MISSING, path, f"the part with {counted(claimed.row_count, 'row')} is not there"
        )
        return
    if observed.size_bytes != claimed.size_bytes:
        message = f"the size is {counted(observed.size_bytes, 'byte')}, expected {claimed.size_bytes:,}"
        yield error(Code.PART_SIZE, path, message)
    if observed.sha256 is not None and observed.sha256 != claimed.sha256:
        message = f"the sha256 is {observed.sha256}, expected {shown(claimed.sha256)}"
        yield error(Code.PART_DIGEST, path, message)
    if observed.unreadable is not None:
        yield error(Code.PART_UNREADABLE, path, f"it cannot be read as Parquet: {observed.unreadable}")
    footer = observed.footer
    if footer is None:
        return
    if footer.row_count != claimed.row_count:
        message = f"the footer counts {counted(footer.row_count, 'row')}, expected {claimed.row_count:,}"
        yield error(Code.PART_ROWS, path, message)
    difference = _schema_difference(footer, manifest)
    if difference is not None:
        yield error(Code.PART_SCHEMA, path, difference)
    elif manifest.partition is not None and implied.flaw is None:
        yield from _verify_bounds(claimed, footer, manifest.partition.column, implied, path)


def verify_unlisted(names: Iterable[str]) -> Iterator[Finding]:
    """Find the files that neither a manifest nor the export file lists."""
    for name in names:
        if name.endswith(_DATA_SUFFIX):
            message = "no manifest lists this file, and readers that glob take it for data"
            yield error(Code.UNLISTED_PARQUET, name, message)
        else:
            yield note(Code.UNLISTED_FILE, name, "no manifest lists this file")


def shown(value: object) -> str:
    """Quote a value for a message, cut where it is long."""
    quoted = repr(value)
    return quoted if len(quoted) <= _MAX_SHOWN else f"{quoted[:_MAX_SHOWN]}…"


def _contradiction(path: str, what: str, seen: object, expected: object) -> Finding:
    message = f"{what} is {shown(seen)}, expected {shown(expected)}"
    return error(Code.MANIFEST_INCONSISTENT, path, message)


def _verify_unrepresentable(manifest: Manifest, path: str) -> Iterator[Finding]:
    for name, count in manifest.unrepresentable_rows.items():
        most = _most_unrepresentable(manifest, name)
        if count > most:
            what = f"unrepresentable_rows of {shown(name)}"
            yield _contradiction(path, what, count, f"at most {most}")


def _most_unrepresentable(manifest: Manifest, name: str) -> int:
    """Count the rows that may hold NULL for an unrepresentable value of a column."""
    partition = manifest.partition
    if partition is not None and name == partition.column:
        return manifest.row_count if partition.is_null else 0
    return manifest.row_count if name in (c["name"] for c in manifest.schema) else 0


def _schema_difference(footer: Footer, manifest: Manifest) -> str | None:
    expected = [(c["name"], c["type"], c["nullable"]) for c in manifest.schema]
    for number, (seen, wanted) in enumerate(zip(footer.schema, expected, strict=False)):
        if seen != wanted:
            return f"column {number} is {shown(seen)}, and the manifest has {shown(wanted)}"
    if len(footer.schema) != len(expected):
        return f"the part has {counted(len(footer.schema), 'column')}, and the manifest has {len(expected)}"
    return None


def _verify_bounds(
    claimed: Part, footer: Footer, column: str, implied: Implied, path: str
) -> Iterator[Finding]:
    bounds = (footer.minimum, footer.maximum)
    if not implied.in_files:
        only = None if implied.window is None else implied.window.start
        bounds = (only, only)
    seen = tuple(None if bound is None else implied.text_of(bound) for bound in bounds)
    if seen != (claimed.minimum, claimed.maximum):
        message = f"{column!r} spans {seen}, and the manifest has {shown((claimed.minimum, claimed.maximum))}"
        yield error(Code.PART_BOUNDS, path, message)
    window = implied.window
    if not implied.in_files:
        return
    if window is None:
        if footer.null_rows != footer.row_count:
            rows = footer.row_count - footer.null_rows
            message = f"the NULL partition has a value in {column!r} in {counted(rows, 'row')}"
            yield error(Code.PART_OUTSIDE_WINDOW, path, message)
        return
    if footer.null_rows:
        message = f"{column!r} is NULL in {counted(footer.null_rows, 'row')}, outside the NULL partition"
        yield error(Code.PART_OUTSIDE_WINDOW, path, message)
    if any(bound is not None and not window.start <= bound < window.end for bound in bounds):
        message = f"{column!r} spans {seen}, outside [{window.start_text}, {window.end_text})"
        yield error(Code.PART_OUTSIDE_WINDOW, path, message)
