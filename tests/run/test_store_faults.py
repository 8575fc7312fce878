"""Runs into a store that fails, and runs that are killed: old or new, never half, and the next mends it."""

from __future__ import annotations

import functools
import itertools
import os
import queue
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace

import botocore.session
import pytest

from rivet.destination.gcs.connection import Answer, GcsConnection, Request
from rivet.destination.gcs.destination import GcsDestination
from rivet.destination.s3.destination import S3Destination
from rivet.destination.store import staged
from rivet.destination.store.retrying import Patience
from tests.run.buckets import STORES, Bucket
from tests.run.faulty_store import FaultyStore
from tests.servers.faults import (
    Asked,
    Ending,
    Fault,
    Forward,
    cut,
    hang,
    late,
    lost,
    reset,
    run_fault_proxy,
    s3_error,
    unheard,
)
from tests.servers.gcs import GcsServer
from tests.servers.s3 import S3Server

# The least that S3 takes for a part that is not the last; Google takes less.
SMALL_BYTES = {"s3": 5 * 1024**2, "gcs": 512 * 1024}
PATIENCE = Patience(attempts=3, first_pause_seconds=0.01, longest_pause_seconds=0.02)
# For silence, which takes as long as this at each attempt; a busy machine is silent, too.
HASTY = replace(PATIENCE, attempts=30, first_attempts=30, read_timeout_seconds=1.0)
ERROR = unheard(s3_error(500, "InternalError"))
SLOW_DOWN = unheard(s3_error(503, "SlowDown"))
ERROR_IN_200 = unheard(s3_error(200, "InternalError"))
FAULTS: tuple[Fault, ...] = (ERROR, SLOW_DOWN, reset, hang, cut, lost, ERROR, reset, cut, SLOW_DOWN, late)
"""Requests get them by turns; silence costs time, so there is less of it."""
UNHEARD = (cut, lost, late)
"""What is asked is done, and the client does not know."""
STRIDE = 3
RELEASING = 3  # requests after the tree is complete: two looks at the lock, and its removal


@pytest.fixture(scope="module")
def stores(
    s3: S3Server, gcs: GcsServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, FaultyStore]]:
    """Give each store, runs into which soon give up."""
    buckets: dict[str, Bucket] = {"s3": s3.make_bucket(), "gcs": gcs.make_bucket()}
    with (
        pytest.MonkeyPatch.context() as patch,
        run_fault_proxy(s3.endpoint_url) as s3_proxy,
        run_fault_proxy(gcs.endpoint_url) as gcs_proxy,
    ):
        patch.setattr(botocore.session, "create_loader", functools.cache(botocore.session.create_loader))
        for kind in (S3Destination, GcsDestination):
            patch.setattr(kind.__init__, "__defaults__", (PATIENCE,))
        proxies = {"s3": s3_proxy, "gcs": gcs_proxy}
        made = {}
        for name, bucket in buckets.items():
            patch.setattr(staged, "SMALL_BYTES", SMALL_BYTES[name])
            made[name] = FaultyStore(tmp_path_factory.mktemp(name), bucket, proxies[name], SMALL_BYTES[name])
        yield made


@pytest.fixture
def faulty(store: str, stores: dict[str, FaultyStore], monkeypatch: pytest.MonkeyPatch) -> FaultyStore:
    """Give the store that the test is parametrised with."""
    monkeypatch.setattr(staged, "SMALL_BYTES", SMALL_BYTES[store])
    return stores[store]


def _requests(faulty: FaultyStore) -> int:
    """Count the requests of an undisturbed run."""
    prefix = faulty.tree()
    assert faulty.run(prefix).exit_code == 0
    faulty.assert_new(prefix)
    return len(faulty.proxy.asked)


def _fail(faulty: FaultyStore, fault: Fault, numbers: Callable[[int], bool]) -> None:
    faulty.proxy.choose = lambda number, _: fault if numbers(number) else None


def _mend(faulty: FaultyStore, prefix: str) -> None:
    """Run once more, undisturbed."""
    faulty.proxy.spare()
    outcome = faulty.run(prefix)
    assert (outcome.exit_code, outcome.error) == (0, None)
    faulty.assert_new(prefix)


def _fail_some_once(faulty: FaultyStore, turn: int) -> list[Fault]:
    """Fail every third request once, none of them twice, and give the faults as they come."""
    seen: set[tuple[str | None, ...]] = set()
    given: list[Fault] = []

    def choose(_: int, asked: Asked) -> Fault | None:
        told = ("Content-Length", "Content-Range", "Range")  # all else may be equal at Google
        this = (asked.method, asked.path, *map(asked.headers.get, told))
        if this in seen:
            return None
        seen.add(this)
        if (len(seen) + turn) % STRIDE:
            return None
        fault = FAULTS[(len(given) + turn) % len(FAULTS)]
        given.append(fault)
        # Google's server takes a piece that is sent again for another one, which ends the run.
        return reset if fault in (*UNHEARD, hang) and "upload_id=" in asked.path else fault

    faulty.proxy.choose = choose
    return given


def _be_patient_with_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for the answer to a piece of an upload to Google, which none is refused, as long as it takes."""
    exchange = GcsConnection._exchange

    def exchanged(connection: GcsConnection, request: Request, payer: str | None) -> Answer:
        if "upload_id=" in request.path:
            connection = copy(connection)
            connection._patience = replace(connection._patience, read_timeout_seconds=60.0)
        return exchange(connection, request, payer)

    monkeypatch.setattr(GcsConnection, "_exchange", exchanged)


@pytest.mark.parametrize("store", STORES)
def test_any_request_may_fail_once(faulty: FaultyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever requests fail once, and however, the run ends well, with exact counts and nothing left."""
    for kind in (S3Destination, GcsDestination):
        monkeypatch.setattr(kind.__init__, "__defaults__", (HASTY,))
    _be_patient_with_pieces(monkeypatch)
    given: list[Fault] = []
    for turn in range(2 * STRIDE):
        prefix = faulty.tree()
        faults = _fail_some_once(faulty, turn)
        outcome = faulty.run(prefix)
        assert (outcome.exit_code, outcome.error) == (0, None), turn
        faulty.assert_new(prefix)
        given += faults
    assert set(given) == set(FAULTS)


@pytest.mark.parametrize("store", STORES)
def test_a_store_that_stays_away_from_any_request_on(faulty: FaultyStore) -> None:
    """The run ends with 3, each partition is old or new, and the next run makes all of it new.

    When only the lock is left to be removed, the run has ended well, and says that it could not be.
    """
    faults = itertools.cycle((SLOW_DOWN, reset, lost))
    requests = _requests(faulty)
    for number in range(0, requests - RELEASING, 5):
        prefix = faulty.tree()
        _fail(faulty, next(faults), range(number, 10_000).__contains__)
        assert faulty.run(prefix).exit_code == 3, number
        faulty.assert_old_or_new(prefix)
        _mend(faulty, prefix)
    prefix = faulty.tree()
    _fail(faulty, next(faults), range(requests - RELEASING, 10_000).__contains__)
    outcome = faulty.run(prefix)
    assert outcome.exit_code == 0
    assert any("could not be released" in warning for warning in outcome.warnings)
    _mend(faulty, prefix)


@pytest.mark.parametrize("fault", [reset, lost])
@pytest.mark.parametrize("store", STORES)
def test_a_large_part_that_breaks_off_half_way(faulty: FaultyStore, store: str, fault: Fault) -> None:
    """What of it has gone up is dropped, and the tree is as it was, byte for byte."""
    prefix = faulty.tree()
    second = "partNumber=2" if store == "s3" else "upload_id="
    faulty.proxy.choose = lambda _, asked: (
        fault if second in asked.path and asked.method != "DELETE" else None
    )
    assert faulty.run(prefix).exit_code == 3
    faulty.assert_untouched(prefix)
    _mend(faulty, prefix)


@pytest.mark.parametrize("store", ["s3"])
def test_an_upload_whose_completing_is_answered_with_an_error_in_a_200(faulty: FaultyStore) -> None:
    """No manifest lists the part that is not there: the partition stays old, and loses its marker."""
    prefix = faulty.tree()
    faulty.proxy.choose = lambda _, asked: ERROR_IN_200 if _completes(asked) else None
    assert faulty.run(prefix).exit_code == 3
    assert len([asked for asked in faulty.proxy.asked if "uploadId=" in asked[1]]) > PATIENCE.attempts
    faulty.assert_old_or_new(prefix)
    _mend(faulty, prefix)


def _completes(asked: Asked) -> bool:
    return asked.method == "POST" and "uploadId=" in asked.path


class Driver:
    """Runs that are killed.

    Attributes:
        faulty: The store they go into.
    """

    def __init__(self, faulty: FaultyStore, process: subprocess.Popen[str]) -> None:
        self.faulty = faulty
        self._process = process

    def run(self, prefix: str, *, kill_at: int) -> str:
        """Run, be killed when a request is done and not yet answered, and tell how the run ended."""
        runs = queue.SimpleQueue[int]()

        def kill(_: Asked, forward: Forward) -> Ending:
            forward()
            os.kill(runs.get(), signal.SIGKILL)
            return "reset"

        self.faulty.proxy.spare()
        self.faulty.proxy.choose = lambda n, _: kill if n == kill_at else None
        assert self._process.stdin is not None
        self._process.stdin.write(f"{self.faulty.config(prefix)}\n")
        self._process.stdin.flush()
        runs.put(int(self._answer()))
        return self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@pytest.fixture
def driver(faulty: FaultyStore, store: str) -> Iterator[Driver]:
    """Give a process whose runs may be killed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.run.store_driver", str(SMALL_BYTES[store])],
        env=os.environ | faulty.bucket.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,  # what runs say on standard error is shown where the test fails
    )
    try:
        yield Driver(faulty, process)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("store", STORES)
def test_a_run_that_is_killed_at_any_request(faulty: FaultyStore, driver: Driver) -> None:
    """Killed anywhere, and again while it recovers, each partition is old or new; the next run ends right."""
    answer = ""
    for number in itertools.count(0, 5):
        prefix = faulty.tree()
        answer = driver.run(prefix, kill_at=number)
        faulty.assert_old_or_new(prefix)
        if answer != "killed":
            break
        assert driver.run(prefix, kill_at=number // 2) == "killed"
        faulty.assert_old_or_new(prefix)
        _mend(faulty, prefix)

    assert (answer, number > 20) == ("0", True)
