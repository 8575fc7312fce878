"""S3 through a proxy that fails requests: what may pass is tried again, and nothing is ever half there."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial

import pytest

from rivet.destination.s3.destination import S3Destination
from rivet.destination.store import staged as staging
from rivet.destination.store.retrying import Patience
from rivet.errors import DestinationUnavailable, IntegrityError, ObjectNotFound
from tests.destination.stores import RUN, finished, names, part_name
from tests.servers.faults import (
    Asked,
    Ending,
    Fault,
    FaultProxy,
    Forward,
    Reply,
    cut,
    hang,
    late,
    lost,
    reset,
    run_fault_proxy,
    s3_error,
    unheard,
)
from tests.servers.s3 import S3Bucket

PATIENCE = Patience(attempts=4, first_pause_seconds=0.01, longest_pause_seconds=0.05)
# For silence, which takes as long as this at each attempt; several keep silent side by side.
HASTY = replace(PATIENCE, attempts=30, first_attempts=30, read_timeout_seconds=1.0)
SIDE_BY_SIDE = 4
LARGE = part_name(RUN, 1)
SMALL = part_name(RUN, 0)
OLD = part_name("20220102T030405Z-00000000")
PART_BYTES = 5 * 1024**2  # the least that S3 takes for a part that is not the last
LARGE_BYTES = bytes(range(256)) * (PART_BYTES // 256 + 10)
AFTER = {SMALL: b"rows" * 100, LARGE: LARGE_BYTES, "day=1/manifest.json": b"new", "day=1/_SUCCESS": b"new"}
_numbers = itertools.count(1)
ERROR = unheard(s3_error(500, "InternalError"))
SLOW_DOWN = unheard(s3_error(503, "SlowDown"))
GATEWAY = unheard(Reply(504, b"<html>Gateway Time-out</html>"))
ONCE: dict[str, tuple[Fault, ...]] = {
    "status": (ERROR, SLOW_DOWN, GATEWAY),
    "reset": (reset,),
    "silence": (hang, late),
    "lost": (lost,),
    "cut": (cut,),
}
"""Faults of one kind, which requests get by turns."""


@pytest.fixture
def proxy(s3_proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch) -> FaultProxy:
    """Give the proxy, and let objects be large as soon as S3 takes two parts for them."""
    monkeypatch.setattr(staging, "SMALL_BYTES", PART_BYTES)
    return s3_proxy


@pytest.fixture(scope="module")
def s3_proxy(shared_s3_bucket: S3Bucket) -> Iterator[FaultProxy]:
    """Run one proxy for all tests."""
    with run_fault_proxy(shared_s3_bucket.server.endpoint_url) as proxy:
        yield proxy


def _open(bucket: S3Bucket, proxy: FaultProxy, prefix: str, patience: Patience = PATIENCE) -> S3Destination:
    return S3Destination(bucket.at(proxy.url).settings(prefix), patience)


def _prepare(bucket: S3Bucket) -> str:
    """Put an old partition under a fresh prefix."""
    prefix = f"faults/{next(_numbers)}/"
    for name in (OLD, "day=1/manifest.json", "day=1/_SUCCESS"):
        bucket.put(prefix + name, b"old")
    return prefix


def _replace_partition(destination: S3Destination) -> None:
    """Do by one destination what a run does to one partition, and read all of it back."""
    assert len(names(destination)) == 3
    assert destination.read("day=1/manifest.json") == b"old"
    small, large = finished(destination, SMALL, AFTER[SMALL]), finished(destination, LARGE, LARGE_BYTES)
    manifest = finished(destination, "day=1/manifest.json", b"new")
    destination.delete(["day=1/_SUCCESS", "day=1/none"])
    destination.publish([small, large])
    destination.publish([manifest])
    destination.put("day=1/_SUCCESS", b"new")
    destination.delete([OLD, "day=1/none"])
    with destination.open(LARGE) as file:
        assert file.read() == LARGE_BYTES
    destination.sweep([RUN])


def _state(bucket: S3Bucket, prefix: str) -> dict[str, bytes]:
    return {key.removeprefix(prefix): bucket.read(key) for key in bucket.keys(prefix)}


def _uploads(bucket: S3Bucket, prefix: str = "faults/") -> list[str]:
    return [key for key in bucket.uploads() if key.startswith(prefix)]


def _requests(bucket: S3Bucket, proxy: FaultProxy) -> int:
    """Count the requests of an undisturbed replacing."""
    prefix = _prepare(bucket)
    proxy.spare()
    with closing(_open(bucket, proxy, prefix)) as destination:
        _replace_partition(destination)
    assert _state(bucket, prefix) == AFTER
    return len(proxy.asked)


@pytest.mark.parametrize("kind", ONCE)
def test_every_request_may_fail_once(shared_s3_bucket: S3Bucket, proxy: FaultProxy, kind: str) -> None:
    """Whichever request fails once, and however, all is done as if none had, and no upload is left."""
    bucket, total, faults = shared_s3_bucket, _requests(shared_s3_bucket, proxy), ONCE[kind]
    is_silent = kind == "silence"

    def fail_once(number: int) -> None:
        with run_fault_proxy(bucket.server.endpoint_url) as own:
            prefix = _prepare(bucket)
            _fail(own, faults[number % len(faults)], partial(_is_at, number))
            with closing(_open(bucket, own, prefix, HASTY if is_silent else PATIENCE)) as destination:
                _replace_partition(destination)

            assert _state(bucket, prefix) == AFTER
            if not is_silent:  # a busy machine is silent for longer
                assert len(own.asked) <= total + 2, "one more, and a look at what stands"

    with ThreadPoolExecutor(SIDE_BY_SIDE if is_silent else 1) as pool:
        list(pool.map(fail_once, range(total)))
    assert _uploads(bucket) == []


def test_a_store_that_stays_away(shared_s3_bucket: S3Bucket, proxy: FaultProxy) -> None:
    """From whichever request on the store is away, each object is old or new, and a sweep clears the rest."""
    bucket, total = shared_s3_bucket, _requests(shared_s3_bucket, proxy)
    for number, fault in zip(range(total), itertools.cycle((SLOW_DOWN, reset, lost)), strict=False):
        prefix = _prepare(bucket)
        _fail(proxy, fault, partial(_is_from, number))
        with closing(_open(bucket, proxy, prefix)) as destination, pytest.raises(DestinationUnavailable):
            _replace_partition(destination)

        assert all(data in {b"old", AFTER.get(name)} for name, data in _state(bucket, prefix).items())
        proxy.spare()
        with closing(_open(bucket, proxy, prefix)) as destination:
            destination.sweep([RUN])
        assert _uploads(bucket) == []


def test_discard_of_what_failed_leaves_no_upload(shared_s3_bucket: S3Bucket, proxy: FaultProxy) -> None:
    """A part that cannot be sent fails the writing or the finish, and discarding drops those that were."""
    prefix = _prepare(shared_s3_bucket)
    _fail(proxy, ERROR, lambda _, asked: "partNumber=2" in asked.path)
    with closing(_open(shared_s3_bucket, proxy, prefix)) as destination:
        staged = destination.stage(LARGE, RUN)
        staged.write(LARGE_BYTES)
        with pytest.raises(DestinationUnavailable, match="InternalError"):
            staged.finish()
        staged.discard()

    assert _uploads(shared_s3_bucket, prefix) == []
    assert LARGE not in _state(shared_s3_bucket, prefix)


@pytest.mark.parametrize("times", [1, 99])
def test_complete_answers_200_with_an_error(
    shared_s3_bucket: S3Bucket, proxy: FaultProxy, times: int
) -> None:
    """An error in the body of a 200 is one: tried again, and where it stays the object is not there."""
    prefix, fault = _prepare(shared_s3_bucket), unheard(s3_error(200, "InternalError"))
    tries = itertools.count()
    _fail(proxy, fault, lambda _, asked: _completes(asked) and next(tries) < times)
    with closing(_open(shared_s3_bucket, proxy, prefix)) as destination:
        staged = finished(destination, LARGE, LARGE_BYTES)
        if times == 1:
            destination.publish([staged])
        else:
            with pytest.raises(DestinationUnavailable, match="InternalError"):
                destination.publish([staged])
            staged.discard()

    assert (LARGE in _state(shared_s3_bucket, prefix)) == (times == 1)
    assert _uploads(shared_s3_bucket, prefix) == []


def test_complete_of_what_another_aborted(shared_s3_bucket: S3Bucket, proxy: FaultProxy) -> None:
    """What was swept meanwhile is missing, also where the answer to the first try was lost."""
    prefix = _prepare(shared_s3_bucket)
    with closing(_open(shared_s3_bucket, proxy, prefix)) as destination:
        staged = finished(destination, LARGE, LARGE_BYTES)
        with closing(_open(shared_s3_bucket, proxy, prefix)) as other:
            other.sweep([RUN])
        tries = itertools.count()
        _fail(proxy, lost, lambda _, asked: _completes(asked) and next(tries) == 0)

        with pytest.raises(ObjectNotFound):
            destination.publish([staged])
    assert LARGE not in _state(shared_s3_bucket, prefix)


@pytest.mark.parametrize("name", [SMALL, LARGE])
@pytest.mark.parametrize("times", [1, 99])
def test_bytes_that_change_on_the_way(
    shared_s3_bucket: S3Bucket, proxy: FaultProxy, name: str, times: int
) -> None:
    """Bytes that arrive otherwise than they were sent are refused, and either sent again or not there."""
    prefix, tries = _prepare(shared_s3_bucket), itertools.count()
    _fail(proxy, _altered, lambda _, asked: asked.method == "PUT" and next(tries) < times)
    with closing(_open(shared_s3_bucket, proxy, prefix)) as destination:
        if times == 1:
            destination.publish([finished(destination, name, AFTER[name])])
        else:
            with pytest.raises(IntegrityError):
                destination.publish([finished(destination, name, AFTER[name])])
        destination.sweep([RUN])

    assert _state(shared_s3_bucket, prefix).get(name) == (AFTER[name] if times == 1 else None)


def test_an_answer_that_tells_of_other_bytes(shared_s3_bucket: S3Bucket, proxy: FaultProxy) -> None:
    """Where the store says that it has taken other bytes than were sent, that is an error of integrity."""
    prefix = _prepare(shared_s3_bucket)
    _fail(proxy, _other_etag, lambda _, asked: asked.method in {"PUT", "HEAD"})
    with closing(_open(shared_s3_bucket, proxy, prefix)) as destination:
        with pytest.raises(IntegrityError, match="MD5"):
            destination.put("day=1/manifest.json", b"new")
        with pytest.raises(IntegrityError, match="MD5"):
            finished(destination, LARGE, LARGE_BYTES)
        destination.sweep([RUN])


def test_closing_ends_the_trying(shared_s3_bucket: S3Bucket, proxy: FaultProxy) -> None:
    """A destination that is closed while a store is away tries no more, however patient it is."""
    prefix = _prepare(shared_s3_bucket)
    has_asked = threading.Event()

    def fault(asked: Asked, forward: Forward) -> Reply | Ending:
        has_asked.set()
        return SLOW_DOWN(asked, forward)

    _fail(proxy, fault, lambda *_: True)
    patience = Patience(first_pause_seconds=600, longest_pause_seconds=600, deadline_seconds=6000)
    destination = _open(shared_s3_bucket, proxy, prefix, patience)
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(destination.read, "day=1/manifest.json")
        has_asked.wait(60)
        destination.close()

        with pytest.raises(DestinationUnavailable):
            reading.result()


def _fail(proxy: FaultProxy, fault: Fault, when: Callable[[int, Asked], object]) -> None:
    proxy.spare()
    proxy.choose = lambda number, asked: fault if when(number, asked) else None


def _is_at(wanted: int, number: int, _: Asked) -> bool:
    return number == wanted


def _is_from(wanted: int, number: int, _: Asked) -> bool:
    return number >= wanted


def _completes(asked: Asked) -> bool:
    return asked.method == "POST" and "uploadId=" in asked.path


def _altered(asked: Asked, forward: Forward) -> Reply:
    return forward(bytes([asked.body[0] ^ 1]) + asked.body[1:])


def _other_etag(_: Asked, forward: Forward) -> Reply:
    answer = forward()
    headers = {name: value for name, value in answer.headers.items() if name.lower() != "etag"}
    return replace(answer, headers={**headers, "ETag": f'"{"0" * 32}"'})
