"""Answers whose bytes come one by one, each soon enough, are not waited for without end."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from rivet.destination.gcs.destination import GcsDestination
from rivet.destination.s3.destination import S3Destination
from rivet.destination.store.retrying import Patience
from rivet.errors import DestinationUnavailable
from tests.destination.stores import names
from tests.servers.faults import Asked, Fault, Forward, Reply, run_fault_proxy
from tests.servers.gcs import GcsBucket
from tests.servers.s3 import S3Bucket

PATIENCE = Patience(read_timeout_seconds=60, deadline_seconds=60)
MODULES = {"s3": "rivet.destination.s3.bounded", "gcs": "rivet.destination.gcs.connection"}
PAUSE_SECONDS = 0.2
DATA = b"sixty bytes" * 6
NAME = "day=1/manifest.json"


class Clock:
    """Stands still until an answer begins to trickle; then an hour passes with each look."""

    def __init__(self) -> None:
        self._hours = itertools.count(3600, 3600)
        self._goes = threading.Event()

    def monotonic(self) -> float:
        """Give the time."""
        return next(self._hours) if self._goes.is_set() else 0.0

    def slow(self, _: Asked, forward: Forward) -> Reply:
        """Answer byte by byte."""
        answer = forward()
        self._goes.set()
        return replace(answer, pause_seconds=PAUSE_SECONDS)


@pytest.mark.parametrize("store", ["s3", "gcs"])
def test_an_answer_that_trickles(
    store: str, shared_s3_bucket: S3Bucket, shared_gcs_bucket: GcsBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading an object and listing end with the deadline, and are not begun anew after it."""
    bucket = shared_s3_bucket if store == "s3" else shared_gcs_bucket
    bucket.put(f"trickling/{NAME}", DATA)
    with run_fault_proxy(bucket.server.endpoint_url) as proxy:
        for ask, is_warm in ((lambda d: d.read(NAME), False), (lambda d: d.read(NAME), True), (names, False)):
            clock = Clock()
            monkeypatch.setattr(f"{MODULES[store]}.time", clock)
            with closing(_open(bucket, proxy.url, prefix="trickling/")) as destination:
                connection: Any = destination._bucket
                connection._connection.retrying._now = clock.monotonic
                if is_warm:  # from the second request on an object is asked for past the SDK
                    assert names(destination) == [NAME]
                proxy.choose = _always(clock.slow)
                with pytest.raises(DestinationUnavailable, match="did not answer in time"):
                    ask(destination)
            assert len(proxy.asked) == 1 + is_warm
            proxy.spare()


@pytest.mark.parametrize("is_counted", [True, False])
@pytest.mark.parametrize("store", ["s3", "gcs"])
def test_an_answer_that_goes_on_arriving(
    store: str,
    shared_s3_bucket: S3Bucket,
    shared_gcs_bucket: GcsBucket,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_counted: bool,
) -> None:
    """What has come gives more time: here an hour passes with each look, and each byte gives ten of them."""
    bucket = shared_s3_bucket if store == "s3" else shared_gcs_bucket
    hours = itertools.count(0, 3600)
    monkeypatch.setattr(f"{MODULES[store]}.time", SimpleNamespace(monotonic=lambda: next(hours)))
    if is_counted:
        monkeypatch.setattr(f"{MODULES[store]}.LEAST_BYTES_PER_SECOND", 1 / 36_000)
    data = bytes(range(256)) * 4096 * 4
    bucket.put(f"root/{NAME}", data)
    patience = replace(PATIENCE, deadline_seconds=1.5 * 3600, attempts=1, first_attempts=1)
    with closing(_open(bucket, bucket.server.endpoint_url, patience)) as destination:
        if is_counted:
            assert destination.read(NAME) == data
        else:
            with pytest.raises(DestinationUnavailable, match="did not answer in time"):
                destination.read(NAME)


def _always(fault: Fault) -> Callable[[int, Asked], Fault]:
    return lambda *_: fault


def _open(
    bucket: S3Bucket | GcsBucket, url: str, patience: Patience = PATIENCE, *, prefix: str = "root/"
) -> S3Destination | GcsDestination:
    if isinstance(bucket, S3Bucket):
        return S3Destination(bucket.at(url).settings(prefix), patience)
    return GcsDestination(bucket.at(url).settings(prefix), patience)
