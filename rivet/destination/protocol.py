"""What every destination offers, shaped so that an object store can offer it too.

The contract, in words:

- Names are relative to the root, use `/`, and never escape it: one that would is a bug, a `ValueError`. A
  name may hold any character but `/` as a separator and the zero character; it is never decoded, expanded
  or normalised, and names are ordered as Python orders strings.
- Nothing is created at the root before the first `stage` or `put`.
- Staged bytes are complete after `finish` and lie under no name that a reader takes for data (none that
  ends in `.parquet`, none outside the staging directory); `list` never shows them. They are durable then,
  but for small objects of a store, which wait on this side and go up when they are published.
- What is staged so as to last (`stage_lasting`) is durable after `finish` in every store, whatever becomes of
  the process: another run can find it with `left`, read it and take it over, until its run is swept.
- `put` and `publish` replace what stood under a name in one operation: a reader sees the old or the new
  object, never a part of either.
- Changes of names become durable at `settle` at the latest, in the order in which they were made.
- `create`, `replace` and `remove` change an object on a condition that is looked at and acted upon in one
  operation, whoever else tries at the same time, from whatever process or host. A version is never that of
  another object, before or after.
- Missing rights raise `DestinationDenied`; a full disk or anything else that may pass raises
  `DestinationUnavailable`; a missing object raises `ObjectNotFound`.
- Methods may be called from several threads; one `Staged` belongs to one thread at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Listed:
    """One object that `list` found.

    Attributes:
        name: From the root.
        checksum: The store's own of the whole object, or None. It begins with the name of its kind: where
            two are equal, and the sizes too, the bytes are equal; where they differ the bytes may yet be.
        version: As `inspect` gives it, or None where a listing does not tell; two are not told apart by it.
    """

    name: str
    size_bytes: int
    checksum: str | None = None
    version: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Inspected:
    """An object as it stood at one moment.

    Attributes:
        data: Its bytes, or the first of them.
        version: What tells it from any other that stood or will stand under its name; opaque.
    """

    data: bytes
    version: str


@dataclass(frozen=True, slots=True)
class Left:
    """One finished object that a run has staged so as to last.

    Attributes:
        name: Among what the run has staged.
        checksum: The store's own of the whole object, as `Listed` has it, or None.
    """

    run_id: str
    name: str
    size_bytes: int
    checksum: str | None = None


class Staged(Protocol):
    """An object that is being written and is not visible yet."""

    @property
    def size_bytes(self) -> int:
        """Give the bytes written so far."""

    @property
    def checksum(self) -> str | None:
        """Give what `list` will tell of the object as its checksum, once it is finished; None if unknown."""

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Append bytes and return their number; they are taken now, whatever becomes of the buffer."""

    def finish(self) -> None:
        """End the writing, still invisible."""

    def discard(self) -> None:
        """Drop it; safe to call twice, before `finish`, and after it was published, when it does nothing."""


@runtime_checkable
class Lasting(Staged, Protocol):
    """A staged object that outlives its process; `discard` leaves it, and so does publishing it."""

    @property
    def left(self) -> Left:
        """Give what another run will find of it, once it is finished."""


class Destination(Protocol):
    """A root and all objects below it."""

    @property
    def kind(self) -> str:
        """Name the kind of store as manifests do: `local`, `s3`, `gcs`."""

    @property
    def uri(self) -> str:
        """Give the root for people and manifests, ending in `/`, without a secret."""

    @property
    def warnings(self) -> Sequence[str]:
        """Give what the user should know of the place, each a sentence, as far as it has come to light."""

    @property
    def concurrency(self) -> int:
        """Give how many requests are best under way at once: 1 where none is worth a thread."""

    @property
    def uploaded_bytes(self) -> int:
        """Give the bytes that have gone up to a store so far, for progress; 0 where nothing is far away."""

    def read(self, name: str) -> bytes:
        """Give all bytes of an object, or raise `ObjectNotFound`."""

    def open(self, name: str, size_bytes: int | None = None) -> AbstractContextManager[BinaryIO]:
        """Open an object for reading at any offset, or raise `ObjectNotFound`.

        At a distance it is read in ranges, first its last 64 KiB, so that a footer costs one request. Where
        it has been replaced or removed since, reading on gives the bytes as they were or `ObjectNotFound`.

        Args:
            size_bytes: As `list` gave it, where that is known; no more than a help.
        """

    def list(self, prefix: str = "") -> Iterator[Listed]:
        """List every object whose name begins with prefix, at any depth, in the order of names.

        A root that does not exist lists nothing. Staged objects are left out, and so is what marks a folder
        in a store: a key that ends in `/`.
        """

    def stage(self, name: str, run_id: str) -> Staged:
        """Begin an object that will be visible as name; what it leaves behind bears run_id."""

    def stage_lasting(self, name: str, run_id: str) -> Lasting:
        """Begin as `stage` does what other runs may take over, should this one end before it is complete."""

    def note(self, name: str, data: bytes, run_id: str) -> None:
        """Leave small facts beside what a run has staged so as to last, under a name of one segment."""

    def left(self, run_id: str) -> Iterator[Left]:
        """List what a run has staged so as to last, and its notes; what is not finished may be among it."""

    def open_left(self, left: Left) -> AbstractContextManager[BinaryIO]:
        """Open for reading what a run has left, or raise `ObjectNotFound`."""

    def take_over(self, left: Left, run_id: str) -> Left:
        """Give what another run has left to a run, as whose it outlasts the sweep of the other.

        Raises:
            ObjectNotFound: It is gone.
        """

    def lasting(self, left: Left, name: str) -> Lasting:
        """Give what a run has left as a finished object that can be published as name."""

    def publish(self, staged: Sequence[Staged]) -> None:
        """Make finished objects of this destination visible, in any order; all are when it returns.

        Where it raises, any of them may be visible, each as a whole.

        Raises:
            ObjectNotFound: What was staged is gone: another run swept it.
            ValueError: One is not finished, was discarded or is published already.
        """

    def publish_over(self, staged: Staged, version: str | None) -> bool:
        """Make one finished object visible where that version of it stands, or none for None; tell whether.

        Where it is not, it still can be published. Where a store does not keep to conditions, or has a large
        object already, it is published whatever stands.
        """

    def put(self, name: str, data: bytes) -> None:
        """Write a small object in one atomic, durable step."""

    def inspect(self, name: str, limit_bytes: int | None = None) -> Inspected:
        """Look at an object and its version, or raise `ObjectNotFound`.

        Args:
            limit_bytes: No more than the first of its bytes, at least one, are read; None: all.
        """

    def age_seconds(self, name: str) -> float:
        """Tell how long ago an object was written, or raise `ObjectNotFound`.

        Both moments are the destination's own, whatever this machine's clock says; a directory is asked for
        its present by a temporary file.
        """

    def create(self, name: str, data: bytes, *, private: bool = False) -> str | None:
        """Write as `put` does where there is no such object; give its version, or None where there is one.

        Args:
            data: Bytes that nobody else writes: where the answer to a request was lost, an object that holds
                them is taken for the one that was sent.
            private: Only its owner may read it, in a directory; a bucket has its own rules.

        Raises:
            NoConditionalWrites: The store does not keep to conditions. It may have written.
        """

    def replace(self, name: str, data: bytes, version: str, *, private: bool = False) -> str | None:
        """Write as `put` does where that version still stands; give the new one, or None where it does not.

        Arguments and errors are those of `create`.
        """

    def remove(self, name: str, version: str) -> bool:
        """Delete an object where that version still stands, and tell whether it did.

        Of several that delete the same version at once more than one may be told so. A store that takes
        conditions for writing alone is asked for the version first.
        """

    def delete(self, names: Iterable[str]) -> None:
        """Remove objects; missing ones are no error. Directories left empty go too, the root excepted."""

    def settle(self, directories: Iterable[str]) -> None:
        """Make all changes of names in these directories durable (`""` is the root)."""

    def sweep(self, run_ids: Iterable[str]) -> None:
        """Remove whatever these runs left staged, lasting or not, and what puts that were cut off left."""

    def remove_root_if_empty(self) -> None:
        """Remove the root and its parents, as far as this object made them and nothing is in them."""

    def close(self) -> None:
        """Let go of threads, connections and memory; what is not published by now will not be."""
