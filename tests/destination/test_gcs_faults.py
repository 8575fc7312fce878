"""Every request to Google Cloud Storage fails in turn: what may pass is tried again, nothing half stands."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rivet.destination.protocol import Destination
from rivet.errors import DestinationUnavailable
from tests.destination.gcs_line import IMPATIENCE, LARGE, PATIENCE, PREFIX, wait_for_answers
from tests.destination.stores import finished, part_name
from tests.servers.faults import (
    Asked,
    Fault,
    FaultProxy,
    Reply,
    cut,
    hang,
    late,
    lost,
    reset,
    unheard,
)
from tests.servers.gcs import GcsBucket

BACKEND_ERROR = json.dumps({"error": {"code": 503, "message": "We are sorry."}}).encode()
SLOW_DOWN = json.dumps(
    {"error": {"message": "Too many requests.", "errors": [{"reason": "rateLimitExceeded"}]}}
).encode()
FAULTS: dict[str, tuple[Fault, ...]] = {
    "status": (
        unheard(Reply(500, b"<html>oh dear</html>")),
        unheard(Reply(503, BACKEND_ERROR)),
        unheard(Reply(429, SLOW_DOWN)),
        unheard(Reply(403, SLOW_DOWN)),
    ),
    "error in a 200": (unheard(Reply(200, BACKEND_ERROR)),),
    "reset": (reset,),
    "lost": (lost, cut),
    "silence": (hang, late),
}
"""Faults of one kind, which requests get by turns."""
# What becomes of the request is unknown, and this server takes a piece that is sent again for another one.
TWICE = (lost, late, cut)


def turn(fault: str, number: int) -> Fault:
    """Give the fault of this kind whose turn it is."""
    return FAULTS[fault][number % len(FAULTS[fault])]


def write(gcs_line: Destination) -> None:
    """Replace what stands, by a large part, a small one and a put, and remove an old one."""
    parts = [
        finished(gcs_line, part_name(number=0), LARGE),
        finished(gcs_line, part_name(number=1), b"few rows"),
    ]
    try:
        gcs_line.publish(parts)
    finally:
        for part in parts:
            part.discard()
    gcs_line.put("day=1/manifest.json", b"new")
    gcs_line.delete(["day=1/old.parquet", "day=1/never.parquet"])


def read(gcs_line: Destination) -> list[object]:
    """Read what stands, in each way."""
    with gcs_line.open(part_name(number=0)) as file:
        file.seek(300)
        piece = file.read(1000)
    return [
        [listed.name for listed in gcs_line.list()],
        gcs_line.read("day=1/manifest.json"),
        piece,
    ]


def stand(bucket: GcsBucket) -> None:
    """Put what an earlier run has left."""
    for name, data in (("manifest.json", b"old"), ("old.parquet", b"old rows")):
        bucket.put(f"{PREFIX}day=1/{name}", data)


def standing(bucket: GcsBucket) -> dict[str, bytes]:
    """Give what stands in the bucket, past the proxy."""
    return {key.removeprefix(PREFIX): bucket.read(key) for key in list(bucket.keys())}


WRITTEN = {
    part_name(number=0): LARGE,
    part_name(number=1): b"few rows",
    "day=1/manifest.json": b"new",
}
READ = [sorted(WRITTEN), b"new", LARGE[300:1300]]
# To begin an upload, two pieces, its end, a put, the manifest, and two deletes.
WRITING = 8
SIDE_BY_SIDE = (4, 7)
"""Requests that are sent while the one before is under way."""


def test_how_many_requests_it_takes(
    gcs_line: Destination, gcs_bucket: GcsBucket, gcs_proxy: FaultProxy
) -> None:
    """A small part and a put are one request each, a large one two and one for each piece; so is reading."""
    stand(gcs_bucket)
    write(gcs_line)
    assert len(gcs_proxy.asked) == WRITING

    gcs_proxy.spare()
    assert read(gcs_line) == READ
    assert [method for method, _ in gcs_proxy.asked] == ["GET"] * 4  # tail and range, listing, manifest


@pytest.mark.parametrize("number", range(WRITING))
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_any_request_that_writes(
    gcs_line: Destination, gcs_bucket: GcsBucket, gcs_proxy: FaultProxy, fault: str, number: int
) -> None:
    """One fault is got over; where it is not, no object holds what was not meant for it."""
    stand(gcs_bucket)
    chosen: list[tuple[Fault, str]] = []

    def expect(next_number: int) -> None:
        # What is sent beside another is sent before that is heard.
        is_next = number - (number in SIDE_BY_SIDE) <= next_number <= number
        is_silent = fault == "silence" and is_next
        wait_for_answers(gcs_line, IMPATIENCE if is_silent else PATIENCE)

    def choose(asked_before: int, asked: Asked) -> Fault | None:
        expect(asked_before + 1)
        if asked_before != number:
            return None
        chosen.append((turn(fault, number), asked.headers.get("Content-Range", "")))
        return chosen[0][0]

    gcs_proxy.choose = choose
    expect(0)
    try:
        write(gcs_line)
    except DestinationUnavailable:
        # The server has the piece twice, which is seen before the object is.
        assert chosen[0][0] in TWICE
        assert chosen[0][1].endswith("/*")
        assert standing(gcs_bucket) == {"day=1/manifest.json": b"old", "day=1/old.parquet": b"old rows"}
        gcs_proxy.spare()
        write(gcs_line)
    assert chosen
    assert standing(gcs_bucket) == WRITTEN


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_any_request_that_reads(gcs_line: Destination, gcs_proxy: FaultProxy, fault: str) -> None:
    """One fault at each request that reads changes nothing of what is read."""
    write(gcs_line)
    faulty: set[str] = set()

    def choose(_: int, asked: Asked) -> Fault | None:
        told = f"{asked.path} {asked.headers.get('Range')}"
        expect(is_silent=told in faulty)  # what comes next is then something else, for the first time
        if told in faulty:
            return None
        faulty.add(told)
        return turn(fault, len(faulty))

    def expect(*, is_silent: bool) -> None:
        wait_for_answers(gcs_line, IMPATIENCE if is_silent and fault == "silence" else PATIENCE)

    gcs_proxy.choose = choose
    expect(is_silent=True)
    assert read(gcs_line) == READ
    assert len(faulty) == 4


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_without_end(
    gcs_line: Destination, gcs_bucket: GcsBucket, gcs_proxy: FaultProxy, fault: str
) -> None:
    """Where every request fails each operation gives up, naming where, and nothing half stands."""
    stand(gcs_bucket)
    staged = finished(gcs_line, part_name(number=0), LARGE)
    gcs_proxy.choose = lambda number, _: turn(fault, number)
    if fault == "silence":
        wait_for_answers(gcs_line, replace(IMPATIENCE, read_timeout_seconds=0.2))
    for operation in (
        lambda: list(gcs_line.list()),
        lambda: gcs_line.read("day=1/manifest.json"),
        lambda: gcs_line.open("day=1/manifest.json"),
        lambda: gcs_line.put("day=1/manifest.json", b"new"),
        lambda: finished(gcs_line, part_name(number=1), LARGE),
        lambda: gcs_line.publish([staged]),
    ):
        gcs_proxy.asked.clear()
        with pytest.raises(DestinationUnavailable) as raised:
            operation()
        assert f"gs://{gcs_bucket.name}/{PREFIX}" in str(raised.value)
        assert gcs_proxy.url in str(raised.value)
        assert raised.value.hint is not None
        assert len(gcs_proxy.asked) <= 3 * PATIENCE.attempts  # with looks, which the client repeats once
    staged.discard()

    found = standing(gcs_bucket)
    assert found.pop("day=1/manifest.json") in {b"old", b"new"}
    assert found.pop("day=1/old.parquet") == b"old rows"
    # An answer that is always lost is no sign that nothing was done.
    assert not found or (fault in {"lost", "silence"} and found == {part_name(number=0): LARGE})


@pytest.mark.parametrize("fault", [None, *FAULTS])
def test_a_discarded_upload_is_cancelled(
    gcs_line: Destination, gcs_bucket: GcsBucket, gcs_proxy: FaultProxy, fault: str | None
) -> None:
    """Discarding a large object tells the store so, and where that fails nothing is raised."""
    staged = finished(gcs_line, part_name(), LARGE)
    gcs_proxy.choose = lambda number, _: None if fault is None else turn(fault, number)
    if fault == "silence":
        wait_for_answers(gcs_line, IMPATIENCE)
    staged.discard()

    assert gcs_proxy.asked[-1][0] == "DELETE"
    assert gcs_bucket.keys() == []
