"""Uploads to Google Cloud Storage, and downloads: what arrives is what was sent, or is not there."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace

import pytest

from rivet.destination.gcs.destination import GcsDestination
from rivet.destination.protocol import Destination
from rivet.errors import DestinationError, DestinationUnavailable, IntegrityError
from tests.destination.gcs_line import LARGE, PREFIX
from tests.destination.stores import RUN, finished, part_name
from tests.servers.faults import Asked, Fault, FaultProxy, Forward, Reply, hang, lost, reset, unheard
from tests.servers.gcs import GcsBucket


def test_what_was_done_is_not_done_again(
    gcs_line: Destination, gcs_bucket: GcsBucket, gcs_proxy: FaultProxy
) -> None:
    """After an answer that was lost the object is looked at, and sent again only where it is not that."""
    staged = finished(gcs_line, part_name(), LARGE)
    gcs_proxy.spare()
    gcs_proxy.choose = lambda number, _: lost if number == 0 else None
    gcs_line.publish([staged])
    assert [method for method, _ in gcs_proxy.asked] == ["POST", "GET"]

    gcs_proxy.spare()
    gcs_proxy.choose = lambda number, _: lost if number == 0 else None
    gcs_line.put("p", b"rows")
    assert [method for method, _ in gcs_proxy.asked] == ["POST", "GET"]

    gcs_proxy.spare()
    gcs_proxy.choose = lambda number, _: reset if number == 0 else None
    gcs_line.put("p", b"other rows")
    assert [method for method, _ in gcs_proxy.asked] == ["POST", "GET", "POST"]
    assert gcs_bucket.read(f"{PREFIX}p") == b"other rows"


def test_a_piece_that_arrives_in_part(
    gcs_line: Destination, gcs_bucket: GcsBucket, gcs_proxy: FaultProxy
) -> None:
    """What of a piece the store has not kept is sent again, as Google's may ask at any time."""

    def half(asked: Asked, forward: Forward) -> Reply:
        kept = 256 * 1024
        return forward(asked.body[:kept], {"Content-Range": f"bytes 0-{kept - 1}/*"})

    gcs_proxy.choose = lambda number, _: half if number == 1 else None
    staged = finished(gcs_line, part_name(), LARGE)
    gcs_line.publish([staged])

    assert gcs_bucket.read(PREFIX + part_name()) == LARGE
    assert [listed.checksum for listed in gcs_line.list()] == [staged.checksum]


def test_pieces_go_where_the_first_request_went(gcs_line: Destination, gcs_proxy: FaultProxy) -> None:
    """Whatever host the store names for an upload, its pieces go to the endpoint."""

    def elsewhere(_: Asked, forward: Forward) -> Reply:
        reply = forward()
        moved = "https://storage.googleapis.com/" + reply.headers["Location"].split("/", 3)[3]
        return replace(reply, headers={**reply.headers, "Location": moved})

    gcs_proxy.choose = lambda number, _: elsewhere if number == 0 else None
    gcs_line.publish([finished(gcs_line, part_name(), LARGE)])
    assert [method for method, _ in gcs_proxy.asked] == ["POST"] * 4


def test_no_redirect_is_followed(gcs_line: Destination, gcs_proxy: FaultProxy) -> None:
    """An answer that points elsewhere is an error, and nobody is asked there."""
    gcs_proxy.choose = lambda _, __: unheard(Reply(302, headers={"Location": f"{gcs_proxy.url}/elsewhere"}))
    with pytest.raises(DestinationError) as raised:
        gcs_line.read("p")

    assert (raised.value.exit_code, "302" in str(raised.value)) == (2, True)
    assert len(gcs_proxy.asked) == 1


def test_other_bytes_than_were_sent(
    gcs_line: Destination, gcs_bucket: GcsBucket, gcs_proxy: FaultProxy
) -> None:
    """A small object that arrives garbled is put again; one that always does is an error of integrity."""

    def garbled(asked: Asked, forward: Forward) -> Reply:
        return forward(asked.body.replace(b"rows", b"rats"))

    gcs_proxy.choose = lambda number, _: garbled if number == 0 else None
    gcs_line.put("p", b"rows")
    assert gcs_bucket.read(f"{PREFIX}p") == b"rows"

    gcs_proxy.choose = lambda _, __: garbled
    with pytest.raises(IntegrityError, match="4 bytes of md5:"):
        gcs_line.put("p", b"rows")


def test_other_bytes_that_the_store_refuses(
    gcs_line: Destination, gcs_bucket: GcsBucket, gcs_proxy: FaultProxy
) -> None:
    """Google compares the MD5 that is sent along with each object; bytes that it refuses are sent again."""
    words = """Provided MD5 hash "a" doesn't match calculated MD5 hash "b"."""
    refused = unheard(Reply(400, json.dumps({"error": {"code": 400, "message": words}}).encode()))
    told: list[str] = []

    def choose(number: int, asked: Asked) -> Fault | None:
        if asked.method == "POST":
            told.append(f"{asked.headers.get('X-Goog-Hash')} {asked.body[:400].decode(errors='replace')}")
        return refused if number == 0 else None

    staged = finished(gcs_line, part_name(), LARGE)
    gcs_proxy.spare()
    gcs_proxy.choose = choose
    gcs_line.publish([staged])
    assert [staged.checksum.replace(":", "=") in text for text in told] == [True, True]  # type: ignore[union-attr]

    gcs_proxy.spare()
    told.clear()
    gcs_proxy.choose = choose
    gcs_line.put("p", b"rows")
    assert ["3zR6NzuPkqoK492SCl7C9g==" in text for text in told] == [True, True]
    assert gcs_bucket.read(f"{PREFIX}p") == b"rows"


def test_a_large_object_that_arrives_garbled_is_removed(
    gcs_line: Destination, gcs_bucket: GcsBucket, gcs_proxy: FaultProxy
) -> None:
    """Bytes that change on their way are seen at once, those of the end when it is published, and removed."""

    def garbled(asked: Asked, forward: Forward) -> Reply:
        return forward(bytes(len(asked.body)))

    gcs_proxy.choose = lambda number, _: garbled if number == 2 else None
    with pytest.raises(DestinationUnavailable, match="was sent so far"):
        finished(gcs_line, part_name(), LARGE)

    gcs_proxy.spare()
    staged = finished(gcs_line, part_name(), LARGE)
    gcs_proxy.choose = lambda _, asked: garbled if asked.method == "POST" else None
    with pytest.raises(IntegrityError, match=f"{len(LARGE)} bytes of md5:"):
        gcs_line.publish([staged])
    staged.discard()
    assert gcs_bucket.keys() == []


def test_an_empty_object_has_no_end(gcs_line: Destination, gcs_proxy: FaultProxy) -> None:
    """An empty object is opened as such where the store answers, as Google does, that there is no range."""
    gcs_line.put("p", b"")
    gcs_proxy.choose = lambda _, __: unheard(Reply(416, headers={"Content-Range": "bytes */0"}))
    with gcs_line.open("p") as file:
        assert file.read() == b""


def test_bytes_that_are_read_garbled(gcs_line: Destination, gcs_proxy: FaultProxy) -> None:
    """An object is read again where it does not arrive as the store says that it is."""
    gcs_line.put("p", b"rows")
    gcs_proxy.spare()
    garbled = False

    def once(_: Asked, forward: Forward) -> Reply:
        return replace(forward(), body=b"rats")

    gcs_proxy.choose = lambda number, _: once if number == 0 or garbled else None
    assert gcs_line.read("p") == b"rows"
    garbled = True
    with pytest.raises(IntegrityError, match=f"{PREFIX}p"):
        gcs_line.read("p")


def test_an_upload_that_the_store_has_forgotten(
    gcs_line: Destination, gcs_bucket: GcsBucket, gcs_proxy: FaultProxy
) -> None:
    """An upload that is gone, as after a week, fails the run so that it may be run again."""
    staged = finished(gcs_line, part_name(), LARGE)
    gcs_proxy.choose = lambda _, asked: unheard(Reply(410)) if "Content-Range" in asked.headers else None
    with pytest.raises(DestinationUnavailable, match="does not know the upload any more"):
        gcs_line.publish([staged])
    with pytest.raises(DestinationUnavailable, match="does not know the upload any more"):
        finished(gcs_line, part_name(number=1), LARGE)
    assert gcs_bucket.keys() == []


def test_uploads_are_not_cancelled_one_by_one_at_a_store_that_is_gone(
    gcs_line: Destination, gcs_proxy: FaultProxy
) -> None:
    """Once the store is not reached, dropping many large objects waits for it no more than once."""
    staged = [finished(gcs_line, part_name(number=number), LARGE) for number in range(5)]
    gcs_proxy.spare()
    gcs_proxy.choose = lambda _, __: reset
    for one in staged:
        one.discard()

    assert [method for method, _ in gcs_proxy.asked] == ["DELETE"] * len(gcs_proxy.asked)
    assert 1 <= len(gcs_proxy.asked) <= 2  # the client repeats it where a connection had been used before


def test_no_message_holds_the_key_to_an_upload(gcs_line: Destination, gcs_proxy: FaultProxy) -> None:
    """The URL of an upload lets anybody write to it, so that no error tells it, whatever the answer is."""
    seen: list[str] = []
    fault = unheard(Reply(500, b"no", {"X-Bad\r\n header": "x"}))

    def choose(number: int, asked: Asked) -> Fault | None:
        seen.append(asked.path)
        return None if number == 0 else fault

    gcs_proxy.choose = choose
    with pytest.raises(DestinationError) as raised:
        finished(gcs_line, part_name(), LARGE)

    upload_id = seen[-1].rpartition("upload_id=")[2]
    assert len(upload_id) > 10
    assert "not one of Google Cloud Storage" in str(raised.value)
    assert upload_id not in str(raised.value)


def test_an_upload_whose_part_fails_half_way(
    gcs_line: Destination, gcs_bucket: GcsBucket, gcs_proxy: FaultProxy
) -> None:
    """Pieces that wait for one that does not arrive do not wait for ever."""
    gcs_proxy.choose = lambda _, asked: (
        reset if "bytes 524288-" in asked.headers.get("Content-Range", "") else None
    )
    staged = gcs_line.stage(part_name(), RUN)

    def write_much() -> None:
        for _ in range(20):
            staged.write(LARGE)
        staged.finish()

    with pytest.raises(DestinationUnavailable, match="the connection was cut"):
        write_much()
    staged.discard()
    assert gcs_bucket.keys() == []


def test_closing_ends_what_is_under_way(gcs_bucket: GcsBucket, gcs_proxy: FaultProxy) -> None:
    """A destination that is closed while requests hang waits for none of them, and takes no more."""
    gcs_line = GcsDestination(gcs_bucket.at(gcs_proxy.url).settings(PREFIX))
    gcs_proxy.choose = lambda _, __: hang
    staged = gcs_line.stage(part_name(), RUN)
    for _ in range(3):
        staged.write(LARGE)
    gcs_line.close()

    with suppress(DestinationUnavailable):
        staged.discard()
    with pytest.raises(DestinationUnavailable, match="closed"):
        gcs_line.read("p")
