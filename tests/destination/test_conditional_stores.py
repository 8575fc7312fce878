"""Conditional writes of stores whose answers are lost, and of those that do not keep to conditions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from rivet.destination.gcs.destination import GcsDestination
from rivet.destination.protocol import Destination
from rivet.destination.s3.connection import S3Connection
from rivet.destination.s3.destination import S3Destination
from rivet.destination.store.retrying import Patience
from rivet.errors import NoConditionalWrites
from tests.servers.faults import Asked, Fault, FaultProxy, Reply, lost, run_fault_proxy
from tests.servers.gcs import GcsBucket
from tests.servers.s3 import S3Bucket

LOCK = "_rivet_lock.json"
PATIENCE = Patience(attempts=3, first_pause_seconds=0.01, longest_pause_seconds=0.02)
_numbers = itertools.count(1)


@pytest.fixture(params=["s3", "gcs"])
def opened(
    request: pytest.FixtureRequest,
) -> Iterator[tuple[FaultProxy, Destination]]:
    """Give each store behind a proxy."""
    bucket: S3Bucket | GcsBucket = request.getfixturevalue(f"shared_{request.param}_bucket")
    with run_fault_proxy(bucket.server.endpoint_url) as proxy, closing(_open(bucket, proxy)) as destination:
        yield proxy, destination


def _open(bucket: S3Bucket | GcsBucket, proxy: FaultProxy) -> Destination:
    prefix = f"conditional/{next(_numbers)}/"
    if isinstance(bucket, S3Bucket):
        return S3Destination(bucket.at(proxy.url).settings(prefix), PATIENCE)
    return GcsDestination(bucket.at(proxy.url).settings(prefix), PATIENCE)


@contextmanager
def _writes(proxy: FaultProxy, fault: Fault, *, first: int) -> Iterator[None]:
    """Let a fault befall the first requests that write."""
    left = itertools.count()

    def choose(_: int, asked: Asked) -> Fault | None:
        writes = asked.method in {"PUT", "POST", "DELETE"}
        return fault if writes and next(left) < first else None

    proxy.choose = choose
    yield
    proxy.spare()


def test_a_write_whose_answer_was_lost_is_known_for_ones_own(
    opened: tuple[FaultProxy, Destination],
) -> None:
    """Created, replaced and removed behind a lost answer: done once, and told so."""
    proxy, destination = opened
    with _writes(proxy, lost, first=1):
        first = destination.create(LOCK, b"mine 1")
    assert first == destination.inspect(LOCK).version
    assert first is not None
    with _writes(proxy, lost, first=1):
        second = destination.replace(LOCK, b"mine 2", first)
    assert second == destination.inspect(LOCK).version
    assert second not in (None, first)
    assert destination.read(LOCK) == b"mine 2"
    with _writes(proxy, lost, first=1):
        assert destination.remove(LOCK, second or "")
    assert list(destination.list()) == []


def test_a_write_that_was_lost_on_the_way_to_anothers_is_known_for_none(
    opened: tuple[FaultProxy, Destination],
) -> None:
    """Where the object that stands is another's, a lost answer does not make it one's own."""
    proxy, destination = opened
    destination.put(LOCK, b"yours")
    with _writes(proxy, lost, first=1):
        assert destination.create(LOCK, b"mine") is None
    assert destination.read(LOCK) == b"yours"


@pytest.mark.parametrize("kept", [(), ("IfNoneMatch", "0")], ids=["none", "creation"])
def test_a_store_that_ignores_conditions_is_found_out_at_the_first(
    opened: tuple[FaultProxy, Destination], kept: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that writes whatever the condition says is not trusted with the first of them."""
    proxy, destination = opened
    put = S3Connection.put

    def ignoring(self: S3Connection, key: str, data: bytes, digest: bytes, **condition: str) -> Any:
        """Leave conditions out here, since they are signed."""
        return put(self, key, data, digest, **{n: v for n, v in condition.items() if n in kept})

    def choose(_: int, asked: Asked) -> None:
        if not any(f"ifGenerationMatch={version}" in asked.path for version in kept):
            asked.path = asked.path.replace("ifGenerationMatch", "ifIgnored")

    monkeypatch.setattr(S3Connection, "put", ignoring)
    proxy.choose = choose

    with pytest.raises(NoConditionalWrites, match="whose condition did not hold"):
        destination.create(LOCK, b"mine")


def test_a_store_that_refuses_conditions_says_so(
    shared_s3_bucket: S3Bucket, opened: tuple[FaultProxy, Destination]
) -> None:
    """A store that answers that it has not got them ends in the same error."""
    proxy, destination = opened
    if destination.kind != "s3":
        pytest.skip("Google has them")
    error = b"<Error><Code>NotImplemented</Code><Message>A header is not implemented</Message></Error>"
    proxy.choose = lambda _, asked: None if asked.method == "GET" else lambda *_: Reply(501, error)

    with pytest.raises(NoConditionalWrites):
        destination.create(LOCK, b"mine")
    assert shared_s3_bucket.keys("conditional/none") == []
