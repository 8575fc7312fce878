"""What a store gives to its destination: requests on whole keys, each tried again and its errors translated.

Keys hold the prefix and any other character as it is; encoding them is the SDK's business.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from rivet.destination.protocol import Inspected, Listed


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of an object.

    Attributes:
        data: Its last bytes, all of them where it is no longer than was asked for.
        size_bytes: Of the whole object.
        version: What tells these bytes from those of an object that replaces it.
    """

    data: bytes
    size_bytes: int
    version: str


class Upload(Protocol):
    """A large object that goes up in parts and is visible once it is completed, never before."""

    def part(self, number: int, data: bytes) -> None:
        """Send a part, numbered from 1; called from several threads, in any order.

        The first to be sent begins the upload; a store that wants them in order lets each wait for its turn.
        """

    @property
    def checksum(self) -> str | None:
        """Give what `list` will tell of the object, once every part was sent."""

    def complete(self) -> None:
        """Make it visible; `ObjectNotFound` where another has aborted it."""

    def abort(self) -> None:
        """Drop the parts, if any; no part is under way then."""


class Bucket(Protocol):
    """The requests that a store takes."""

    @property
    def kind(self) -> str:
        """Name the kind of store as manifests do."""

    @property
    def uri(self) -> str:
        """Give the bucket for people, ending in `/`."""

    @property
    def warnings(self) -> Sequence[str]:
        """Give what the user should know of the place, as far as it has come to light."""

    def get(self, key: str) -> bytes:
        """Give a whole object, or raise `ObjectNotFound`."""

    def tail(self, key: str, size_bytes: int) -> Tail:
        """Give the last bytes of an object, at most so many, or raise `ObjectNotFound`."""

    def range(self, key: str, start: int, end: int, version: str) -> bytes:
        """Give bytes of one version, end not included, or raise `ObjectNotFound`."""

    def list(self, prefix: str) -> Iterator[Listed]:
        """List the keys that begin with prefix, page by page, in any order."""

    def checksum(self, data: bytes) -> str | None:
        """Give what `list` would tell of an object that was put with these bytes."""

    def put(self, key: str, data: bytes, checksum: str | None = None) -> None:
        """Write an object by one request, and see to it that what stands is what was sent.

        Args:
            checksum: As `checksum` gave it for these bytes; None where it was not asked.
        """

    def copy(self, key: str, to: str, size_bytes: int) -> None:
        """Have the store copy an object of that size, as a whole or not at all.

        Raises:
            ObjectNotFound: It is not there.
        """

    @property
    def is_known(self) -> bool:
        """Tell whether the store is the one that the protocol is named after, which keeps to conditions."""

    @property
    def no_version(self) -> str:
        """Give a version that no object has."""

    def inspect(self, key: str, limit_bytes: int | None) -> Inspected:
        """Give an object, or the first of its bytes, and its version, or raise `ObjectNotFound`."""

    def age_seconds(self, key: str) -> float:
        """Tell how long ago an object was written, by the store's clock, or raise `ObjectNotFound`."""

    def put_if(self, key: str, data: bytes, version: str | None) -> str | None:
        """Write as `put` where a version stands, or None where nothing does; give the new one, or None.

        Where an answer was lost, the same bytes under the key are the ones that were sent.

        Raises:
            NoConditionalWrites: The store says that it takes no conditions.
        """

    def delete_if(self, key: str, version: str) -> bool:
        """Remove an object where a version stands, and tell whether; a store may take no such condition."""

    def delete(self, keys: Sequence[str]) -> None:
        """Remove objects, a batch at a time; missing ones are no error."""

    def upload(self, key: str) -> Upload:
        """Begin a large object; no request is made yet."""

    def abort_uploads(self, prefix: str, run_ids: Collection[str]) -> None:
        """Drop unfinished uploads below a prefix whose keys bear one of the run ids in the last segment."""

    def close(self) -> None:
        """Let go of connections; what is tried again now is tried no more."""
