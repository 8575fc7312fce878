"""Answers whose bytes come one by one, each soon enough, are not waited for without end."""

from __future__ import annotations

import itertools
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import pytest

from rivet.destination.gcs.destination import GcsDestination
from rivet.destination.s3.destination import S3Destination
from rivet.destination.store.retrying import Patience
from rivet.errors import DestinationUnavailable
from tests.destination.stores import names
from tests.servers.faults import Asked, Forward, Reply, run_fault_proxy
from tests.servers.gcs import GcsBucket
from tests.servers.s3 import S3Bucket

# Without the deadline each answer would arrive as a whole in some thirteen seconds or more.
PATIENCE = Patience(read_timeout_seconds=30, deadline_seconds=1.5)
PAUSE_SECONDS = 0.2
DATA = b"sixty bytes" * 6
NAME = "day=1/manifest.json"


def _slow(_: Asked, forward: Forward) -> Reply:
    return replace(forward(), pause_seconds=PAUSE_SECONDS)


@pytest.mark.parametrize("store", ["s3", "gcs"])
def test_an_answer_that_trickles(store: str, s3_bucket: S3Bucket, gcs_bucket: GcsBucket) -> None:
    """Reading an object and listing end with the deadline, and are not begun anew after it."""
    bucket = s3_bucket if store == "s3" else gcs_bucket
    bucket.put(f"root/{NAME}", DATA)
    with run_fault_proxy(bucket.server.endpoint_url) as proxy:
        for ask, is_warm in ((lambda d: d.read(NAME), False), (lambda d: d.read(NAME), True), (names, False)):
            with closing(_open(bucket, proxy.url)) as destination:
                if is_warm:  # from the second request on an object is asked for past the SDK
                    assert names(destination) == [NAME]
                proxy.choose = lambda *_: _slow
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
    module = {"s3": "rivet.destination.s3.bounded", "gcs": "rivet.destination.gcs.connection"}[store]
    hours = itertools.count(0, 3600)
    monkeypatch.setattr(f"{module}.time", SimpleNamespace(monotonic=lambda: next(hours)))
    if is_counted:
        monkeypatch.setattr(f"{module}.LEAST_BYTES_PER_SECOND", 1 / 36_000)
    data = bytes(range(256)) * 4096 * 4
    bucket.put(f"root/{NAME}", data)
    patience = replace(PATIENCE, deadline_seconds=1.5 * 3600, attempts=1, first_attempts=1)
    with closing(_open(bucket, bucket.server.endpoint_url, patience)) as destination:
        if is_counted:
            assert destination.read(NAME) == data
        else:
            with pytest.raises(DestinationUnavailable, match="did not answer in time"):
                destination.read(NAME)


def _open(
    bucket: S3Bucket | GcsBucket, url: str, patience: Patience = PATIENCE
) -> S3Destination | GcsDestination:
    if isinstance(bucket, S3Bucket):
        return S3Destination(bucket.at(url).settings("root/"), patience)
    return GcsDestination(bucket.at(url).settings("root/"), patience)
