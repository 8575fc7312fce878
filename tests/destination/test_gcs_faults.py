"""Google Cloud Storage behind a line that fails: nothing half stands, and what may pass is tried again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace

import pytest

from rivet.destination.gcs.destination import GcsDestination
from rivet.destination.store.retrying import Patience
from rivet.errors import DestinationError, DestinationUnavailable, IntegrityError
from tests.destination.stores import RUN, finished, part_name
from tests.servers.faults import (
    Asked,
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
    unheard,
)
from tests.servers.gcs import GcsBucket

SMALL_BYTES = 512 * 1024
LARGE = bytes(range(256)) * 5000  # two pieces, and what is over
PREFIX = "root #1/50%/"
PATIENCE = Patience(attempts=3, first_pause_seconds=0.01, longest_pause_seconds=0.02)
# Where no answer comes, each attempt takes as long as this.
IMPATIENCE = replace(PATIENCE, attempts=2, read_timeout_seconds=0.5)

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


@pytest.fixture
def proxy(gcs_bucket: GcsBucket, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultProxy]:
    """Give a proxy before the server of `gcs_bucket`; few bytes make a large object."""
    monkeypatch.setattr("rivet.destination.store.staged.SMALL_BYTES", SMALL_BYTES)
    with run_fault_proxy(gcs_bucket.server.endpoint_url) as proxy:
        yield proxy


@pytest.fixture
def destination(
    request: pytest.FixtureRequest, gcs_bucket: GcsBucket, proxy: FaultProxy
) -> Iterator[GcsDestination]:
    """Give a destination behind the proxy, with little patience."""
    patience = IMPATIENCE if "silence" in request.node.name else PATIENCE
    with closing(GcsDestination(gcs_bucket.at(proxy.url).settings(PREFIX), patience)) as destination:
        yield destination


def turn(fault: str, number: int) -> Fault:
    """Give the fault of this kind whose turn it is."""
    return FAULTS[fault][number % len(FAULTS[fault])]


def write(destination: GcsDestination) -> None:
    """Replace what stands, by a large part, a small one and a put, and remove an old one."""
    parts = [
        finished(destination, part_name(number=0), LARGE),
        finished(destination, part_name(number=1), b"few rows"),
    ]
    try:
        destination.publish(parts)
    finally:
        for part in parts:
            part.discard()
    destination.put("day=1/manifest.json", b"new")
    destination.delete(["day=1/old.parquet", "day=1/never.parquet"])


def read(destination: GcsDestination) -> list[object]:
    """Read what stands, in each way."""
    with destination.open(part_name(number=0)) as file:
        file.seek(300)
        piece = file.read(1000)
    return [
        [listed.name for listed in destination.list()],
        destination.read("day=1/manifest.json"),
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


def test_how_many_requests_it_takes(
    destination: GcsDestination, gcs_bucket: GcsBucket, proxy: FaultProxy
) -> None:
    """A small part and a put are one request each, a large one two and one for each piece; so is reading."""
    stand(gcs_bucket)
    write(destination)
    assert len(proxy.asked) == WRITING

    proxy.spare()
    assert read(destination) == READ
    assert [method for method, _ in proxy.asked] == ["GET"] * 4  # tail and range, listing, manifest


@pytest.mark.parametrize("number", range(WRITING))
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_any_request_that_writes(
    destination: GcsDestination, gcs_bucket: GcsBucket, proxy: FaultProxy, fault: str, number: int
) -> None:
    """One fault is got over; where it is not, no object holds what was not meant for it."""
    stand(gcs_bucket)
    chosen: list[tuple[Fault, str]] = []

    def choose(asked_before: int, asked: Asked) -> Fault | None:
        if asked_before != number:
            return None
        chosen.append((turn(fault, number), asked.headers.get("Content-Range", "")))
        return chosen[0][0]

    proxy.choose = choose
    try:
        write(destination)
    except DestinationUnavailable:
        # The server has the piece twice, which is seen before the object is.
        assert chosen[0][0] in TWICE
        assert chosen[0][1].endswith("/*")
        assert standing(gcs_bucket) == {"day=1/manifest.json": b"old", "day=1/old.parquet": b"old rows"}
        proxy.spare()
        write(destination)
    assert chosen
    assert standing(gcs_bucket) == WRITTEN


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_any_request_that_reads(
    destination: GcsDestination, proxy: FaultProxy, fault: str
) -> None:
    """One fault at each request that reads changes nothing of what is read."""
    write(destination)
    faulty: set[str] = set()

    def choose(_: int, asked: Asked) -> Fault | None:
        told = f"{asked.path} {asked.headers.get('Range')}"
        if told in faulty:
            return None
        faulty.add(told)
        return turn(fault, len(faulty))

    proxy.choose = choose
    assert read(destination) == READ
    assert len(faulty) == 4


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_without_end(
    destination: GcsDestination, gcs_bucket: GcsBucket, proxy: FaultProxy, fault: str
) -> None:
    """Where every request fails each operation gives up, naming where, and nothing half stands."""
    stand(gcs_bucket)
    staged = finished(destination, part_name(number=0), LARGE)
    proxy.choose = lambda number, _: turn(fault, number)
    for operation in (
        lambda: list(destination.list()),
        lambda: destination.read("day=1/manifest.json"),
        lambda: destination.open("day=1/manifest.json"),
        lambda: destination.put("day=1/manifest.json", b"new"),
        lambda: finished(destination, part_name(number=1), LARGE),
        lambda: destination.publish([staged]),
    ):
        proxy.asked.clear()
        with pytest.raises(DestinationUnavailable) as raised:
            operation()
        assert f"gs://{gcs_bucket.name}/{PREFIX}" in str(raised.value)
        assert proxy.url in str(raised.value)
        assert raised.value.hint is not None
        assert len(proxy.asked) <= 3 * PATIENCE.attempts  # with looks, which the client repeats once
    staged.discard()

    found = standing(gcs_bucket)
    assert found.pop("day=1/manifest.json") in {b"old", b"new"}
    assert found.pop("day=1/old.parquet") == b"old rows"
    # An answer that is always lost is no sign that nothing was done.
    assert not found or (fault in {"lost", "silence"} and found == {part_name(number=0): LARGE})


def test_what_was_done_is_not_done_again(
    destination: GcsDestination, gcs_bucket: GcsBucket, proxy: FaultProxy
) -> None:
    """After an answer that was lost the object is looked at, and sent again only where it is not that."""
    staged = finished(destination, part_name(), LARGE)
    proxy.spare()
    proxy.choose = lambda number, _: lost if number == 0 else None
    destination.publish([staged])
    assert [method for method, _ in proxy.asked] == ["POST", "GET"]

    proxy.spare()
    proxy.choose = lambda number, _: lost if number == 0 else None
    destination.put("p", b"rows")
    assert [method for method, _ in proxy.asked] == ["POST", "GET"]

    proxy.spare()
    proxy.choose = lambda number, _: reset if number == 0 else None
    destination.put("p", b"other rows")
    assert [method for method, _ in proxy.asked] == ["POST", "GET", "POST"]
    assert gcs_bucket.read(f"{PREFIX}p") == b"other rows"


def test_a_piece_that_arrives_in_part(
    destination: GcsDestination, gcs_bucket: GcsBucket, proxy: FaultProxy
) -> None:
    """What of a piece the store has not kept is sent again, as Google's may ask at any time."""

    def half(asked: Asked, forward: Forward) -> Reply:
        kept = 256 * 1024
        return forward(asked.body[:kept], {"Content-Range": f"bytes 0-{kept - 1}/*"})

    proxy.choose = lambda number, _: half if number == 1 else None
    staged = finished(destination, part_name(), LARGE)
    destination.publish([staged])

    assert gcs_bucket.read(PREFIX + part_name()) == LARGE
    assert [listed.checksum for listed in destination.list()] == [staged.checksum]


def test_pieces_go_where_the_first_request_went(destination: GcsDestination, proxy: FaultProxy) -> None:
    """Whatever host the store names for an upload, its pieces go to the endpoint."""

    def elsewhere(_: Asked, forward: Forward) -> Reply:
        reply = forward()
        moved = "https://storage.googleapis.com/" + reply.headers["Location"].split("/", 3)[3]
        return replace(reply, headers={**reply.headers, "Location": moved})

    proxy.choose = lambda number, _: elsewhere if number == 0 else None
    destination.publish([finished(destination, part_name(), LARGE)])
    assert [method for method, _ in proxy.asked] == ["POST"] * 4


def test_no_redirect_is_followed(destination: GcsDestination, proxy: FaultProxy) -> None:
    """An answer that points elsewhere is an error, and nobody is asked there."""
    proxy.choose = lambda _, __: unheard(Reply(302, headers={"Location": f"{proxy.url}/elsewhere"}))
    with pytest.raises(DestinationError) as raised:
        destination.read("p")

    assert (raised.value.exit_code, "302" in str(raised.value)) == (2, True)
    assert len(proxy.asked) == 1


def test_other_bytes_than_were_sent(
    destination: GcsDestination, gcs_bucket: GcsBucket, proxy: FaultProxy
) -> None:
    """A small object that arrives garbled is put again; one that always does is an error of integrity."""

    def garbled(asked: Asked, forward: Forward) -> Reply:
        return forward(asked.body.replace(b"rows", b"rats"))

    proxy.choose = lambda number, _: garbled if number == 0 else None
    destination.put("p", b"rows")
    assert gcs_bucket.read(f"{PREFIX}p") == b"rows"

    proxy.choose = lambda _, __: garbled
    with pytest.raises(IntegrityError, match="4 bytes of md5:"):
        destination.put("p", b"rows")


def test_other_bytes_that_the_store_refuses(
    destination: GcsDestination, gcs_bucket: GcsBucket, proxy: FaultProxy
) -> None:
    """Google compares the MD5 that is sent along with each object; bytes that it refuses are sent again."""
    words = """Provided MD5 hash "a" doesn't match calculated MD5 hash "b"."""
    refused = unheard(Reply(400, json.dumps({"error": {"code": 400, "message": words}}).encode()))
    told: list[str] = []

    def choose(number: int, asked: Asked) -> Fault | None:
        if asked.method == "POST":
            told.append(f"{asked.headers.get('X-Goog-Hash')} {asked.body[:400].decode(errors='replace')}")
        return refused if number == 0 else None

    staged = finished(destination, part_name(), LARGE)
    proxy.spare()
    proxy.choose = choose
    destination.publish([staged])
    assert [staged.checksum.replace(":", "=") in text for text in told] == [True, True]  # type: ignore[union-attr]

    proxy.spare()
    told.clear()
    proxy.choose = choose
    destination.put("p", b"rows")
    assert ["3zR6NzuPkqoK492SCl7C9g==" in text for text in told] == [True, True]
    assert gcs_bucket.read(f"{PREFIX}p") == b"rows"


def test_a_large_object_that_arrives_garbled_is_removed(
    destination: GcsDestination, gcs_bucket: GcsBucket, proxy: FaultProxy
) -> None:
    """Bytes that change on their way are seen at once, those of the end when it is published, and removed."""

    def garbled(asked: Asked, forward: Forward) -> Reply:
        return forward(bytes(len(asked.body)))

    proxy.choose = lambda number, _: garbled if number == 2 else None
    with pytest.raises(DestinationUnavailable, match="was sent so far"):
        finished(destination, part_name(), LARGE)

    proxy.spare()
    staged = finished(destination, part_name(), LARGE)
    proxy.choose = lambda _, asked: garbled if asked.method == "POST" else None
    with pytest.raises(IntegrityError, match=f"{len(LARGE)} bytes of md5:"):
        destination.publish([staged])
    staged.discard()
    assert gcs_bucket.keys() == []


def test_an_empty_object_has_no_end(destination: GcsDestination, proxy: FaultProxy) -> None:
    """An empty object is opened as such where the store answers, as Google does, that there is no range."""
    destination.put("p", b"")
    proxy.choose = lambda _, __: unheard(Reply(416, headers={"Content-Range": "bytes */0"}))
    with destination.open("p") as file:
        assert file.read() == b""


def test_bytes_that_are_read_garbled(destination: GcsDestination, proxy: FaultProxy) -> None:
    """An object is read again where it does not arrive as the store says that it is."""
    destination.put("p", b"rows")
    proxy.spare()
    garbled = False

    def once(_: Asked, forward: Forward) -> Reply:
        return replace(forward(), body=b"rats")

    proxy.choose = lambda number, _: once if number == 0 or garbled else None
    assert destination.read("p") == b"rows"
    garbled = True
    with pytest.raises(IntegrityError, match=f"{PREFIX}p"):
        destination.read("p")


def test_an_upload_that_the_store_has_forgotten(
    destination: GcsDestination, gcs_bucket: GcsBucket, proxy: FaultProxy
) -> None:
    """An upload that is gone, as after a week, fails the run so that it may be run again."""
    staged = finished(destination, part_name(), LARGE)
    proxy.choose = lambda _, asked: unheard(Reply(410)) if "Content-Range" in asked.headers else None
    with pytest.raises(DestinationUnavailable, match="does not know the upload any more"):
        destination.publish([staged])
    with pytest.raises(DestinationUnavailable, match="does not know the upload any more"):
        finished(destination, part_name(number=1), LARGE)
    assert gcs_bucket.keys() == []


@pytest.mark.parametrize("fault", [None, *FAULTS])
def test_a_discarded_upload_is_cancelled(
    destination: GcsDestination, gcs_bucket: GcsBucket, proxy: FaultProxy, fault: str | None
) -> None:
    """Discarding a large object tells the store so, and where that fails nothing is raised."""
    staged = finished(destination, part_name(), LARGE)
    proxy.choose = lambda number, _: None if fault is None else turn(fault, number)
    staged.discard()

    assert proxy.asked[-1][0] == "DELETE"
    assert gcs_bucket.keys() == []


def test_uploads_are_not_cancelled_one_by_one_at_a_store_that_is_gone(
    destination: GcsDestination, proxy: FaultProxy
) -> None:
    """Once the store is not reached, dropping many large objects waits for it no more than once."""
    staged = [finished(destination, part_name(number=number), LARGE) for number in range(5)]
    proxy.spare()
    proxy.choose = lambda _, __: reset
    for one in staged:
        one.discard()

    assert [method for method, _ in proxy.asked] == ["DELETE"] * len(proxy.asked)
    assert 1 <= len(proxy.asked) <= 2  # the client repeats it where a connection had been used before


def test_no_message_holds_the_key_to_an_upload(destination: GcsDestination, proxy: FaultProxy) -> None:
    """The URL of an upload lets anybody write to it, so that no error tells it, whatever the answer is."""
    seen: list[str] = []
    fault = unheard(Reply(500, b"no", {"X-Bad\r\n header": "x"}))

    def choose(number: int, asked: Asked) -> Fault | None:
        seen.append(asked.path)
        return None if number == 0 else fault

    proxy.choose = choose
    with pytest.raises(DestinationError) as raised:
        finished(destination, part_name(), LARGE)

    upload_id = seen[-1].rpartition("upload_id=")[2]
    assert len(upload_id) > 10
    assert "not one of Google Cloud Storage" in str(raised.value)
    assert upload_id not in str(raised.value)


def test_an_upload_whose_part_fails_half_way(
    destination: GcsDestination, gcs_bucket: GcsBucket, proxy: FaultProxy
) -> None:
    """Pieces that wait for one that does not arrive do not wait for ever."""
    proxy.choose = lambda _, asked: (
        reset if "bytes 524288-" in asked.headers.get("Content-Range", "") else None
    )
    staged = destination.stage(part_name(), RUN)

    def write_much() -> None:
        for _ in range(20):
            staged.write(LARGE)
        staged.finish()

    with pytest.raises(DestinationUnavailable, match="the connection was cut"):
        write_much()
    staged.discard()
    assert gcs_bucket.keys() == []


def test_closing_ends_what_is_under_way(gcs_bucket: GcsBucket, proxy: FaultProxy) -> None:
    """A destination that is closed while requests hang waits for none of them, and takes no more."""
    destination = GcsDestination(gcs_bucket.at(proxy.url).settings(PREFIX))
    proxy.choose = lambda _, __: hang
    staged = destination.stage(part_name(), RUN)
    for _ in range(3):
        staged.write(LARGE)
    destination.close()

    with suppress(DestinationUnavailable):
        staged.discard()
    with pytest.raises(DestinationUnavailable, match="closed"):
        destination.read("p")
