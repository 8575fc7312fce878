"""Runs into a store that does not answer any more, and are asked to stop: they end soon, and in order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rivet.destination.opening import open_destination
from rivet.destination.store.retrying import PATIENCE
from rivet.destination.store.staged import SMALL_BYTES
from rivet.errors import DestinationUnavailable
from tests.run.buckets import STORES
from tests.run.faulty_store import FaultyStore
from tests.servers.faults import Asked, Fault, hang, run_fault_proxy
from tests.servers.gcs import GcsServer
from tests.servers.s3 import S3Server


def _goes_up(asked: Asked) -> bool:
    """Tell whether a request brings a piece of a large part."""
    return asked.method != "DELETE" and ("partNumber=" in asked.path or "upload_id=" in asked.path)


def _is_manifest(asked: Asked) -> bool:
    """Tell whether a request publishes a manifest."""
    return asked.method in {"PUT", "POST"} and (
        "manifest.json" in asked.path
        or ("uploadType=multipart" in asked.path and b"manifest.json" in asked.body)
    )


@pytest.mark.parametrize("store", STORES)
def test_closing_cuts_a_request_that_hangs(s3: S3Server, gcs: GcsServer, store: str) -> None:
    """Whoever waits for its answer is told that the store is not there."""
    bucket = s3.make_bucket() if store == "s3" else gcs.make_bucket()
    with run_fault_proxy(bucket.server.endpoint_url) as proxy, ThreadPoolExecutor(1) as pool:
        destination = open_destination(bucket.at(proxy.url).settings("root/"))
        hangs = threading.Event()

        def stand_still(*_: object) -> Fault:
            hangs.set()
            return hang

        proxy.choose = stand_still
        deleting = pool.submit(destination.delete, ["name"])
        assert hangs.wait(60)
        destination.close()

        with pytest.raises(DestinationUnavailable):
            deleting.result(PATIENCE.read_timeout_seconds * 0.75)


@pytest.mark.parametrize("stands_still", [_goes_up, _is_manifest], ids=["reading", "publishing"])
@pytest.mark.parametrize("store", STORES)
def test_a_run_that_waits_for_a_store_ends_when_it_is_asked_to(
    s3: S3Server, gcs: GcsServer, tmp_path: Path, store: str, stands_still: Callable[[Asked], bool]
) -> None:
    """It does not wait until requests time out, says 130, leaves old or new, and the next run mends it."""
    bucket = s3.make_bucket() if store == "s3" else gcs.make_bucket()
    with run_fault_proxy(bucket.server.endpoint_url) as proxy:
        faulty = FaultyStore(tmp_path, bucket, proxy, SMALL_BYTES)
        prefix, hangs = faulty.tree(), threading.Event()

        def stand_still(asked: Asked) -> bool:
            if stands_still(asked):
                hangs.set()
            return hangs.is_set()

        proxy.choose = lambda _, asked: hang if stand_still(asked) else None
        run = subprocess.Popen(
            [sys.executable, "-m", "rivet", "run", "--config", faulty.config(prefix)],
            env=os.environ | bucket.environment,
            stderr=subprocess.PIPE,
        )
        assert hangs.wait(60)
        run.send_signal(signal.SIGINT)
        _, told = run.communicate(timeout=PATIENCE.read_timeout_seconds * 0.75)

        assert (run.returncode, told.count(b"Traceback")) == (130, 0)
        faulty.assert_old_or_new(prefix)
        proxy.spare()
        assert faulty.run(prefix).exit_code == 0
        faulty.assert_new(prefix)
