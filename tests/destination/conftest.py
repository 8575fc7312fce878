"""Each store in turn, for the contract of `rivet.destination.protocol`."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import botocore.session
import pytest

from rivet.destination.protocol import Destination
from tests.destination.stores import FACTORIES, Place
from tests.servers.faults import FaultProxy, run_fault_proxy
from tests.servers.gcs import GcsBucket, GcsServer
from tests.servers.s3 import S3Bucket, S3Server


@pytest.fixture(scope="session", autouse=True)
def one_reading_of_the_sdks_data() -> Iterator[None]:
    """Let the SDK of S3 read its many data files once, and not for each of our clients."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(botocore.session, "create_loader", functools.cache(botocore.session.create_loader))
        yield


@pytest.fixture(scope="session")
def shared_s3_bucket(s3: S3Server) -> S3Bucket:
    """Give a bucket in which each test has a prefix of its own: the first object in one takes its time."""
    return s3.make_bucket()


@pytest.fixture(scope="session")
def shared_gcs_bucket(gcs: GcsServer) -> GcsBucket:
    """Give a bucket in which each test has a prefix of its own."""
    return gcs.make_bucket()


@pytest.fixture(params=FACTORIES)
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Give each store in turn; syncs, which no test of the contract can see, are left out for their time."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    place = FACTORIES[request.param](request, tmp_path)
    with closing(place.destination):
        yield place


@pytest.fixture
def destination(place: Place) -> Destination:
    """Give each store's destination in turn."""
    return place.destination


@pytest.fixture
def gcs_proxy(gcs_bucket: GcsBucket) -> Iterator[FaultProxy]:
    """Give a proxy before the server of `gcs_bucket`."""
    with run_fault_proxy(gcs_bucket.server.endpoint_url) as proxy:
        yield proxy


@pytest.fixture
def gcs_line(
    gcs_bucket: GcsBucket,
    gcs_proxy: FaultProxy,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Destination]:
    """Give a destination behind `gcs_proxy` that tries nothing again more than twice."""
    from tests.destination import gcs_line

    monkeypatch.setattr("rivet.destination.store.staged.SMALL_BYTES", gcs_line.SMALL_BYTES)
    with closing(gcs_line.open_behind(gcs_proxy, gcs_bucket)) as destination:
        yield destination
