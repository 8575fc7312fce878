"""Odd answers of a server, and odd ways to it, make no object of S3 another one."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import md5
from pathlib import Path
from typing import Any

import pytest

from rivet.config.settings import S3DestinationSettings, Secret
from rivet.destination.s3.destination import S3Destination
from rivet.destination.store.retrying import Patience
from rivet.errors import DestinationDenied, DestinationError, DestinationUnavailable
from tests.destination.stores import names

ONCE = Patience(attempts=1, first_attempts=1)
TWICE = Patience(attempts=2, first_attempts=2, first_pause_seconds=0.01)
NAME = "day=1/manifest.json"
DATA = b"what is put"
ETAG = b'"%b"' % md5(DATA).hexdigest().encode()  # noqa: S324 - as S3 has it
LISTING = b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"
OBJECT = b"HTTP/1.1 200 OK\r\nETag: %b\r\nContent-Length: %d\r\n\r\n%b" % (ETAG, len(DATA), DATA)
TAKEN = b"HTTP/1.1 200 OK\r\nETag: %b\r\nContent-Length: 0\r\n\r\n" % ETAG


@dataclass
class Line:
    """A server that lists nothing, and keeps an object under each key.

    Attributes:
        asked: Method, target and host of each request, and whether the SDK has made it.
        instead: Gives, by a request's number and method, bytes that are answered in place of what is right;
            none at all close the connection.
        closes: Whether the connection is closed after those, too.
    """

    url: str
    asked: list[tuple[str, str, str, bool]] = field(default_factory=list)
    instead: Callable[[int, str], bytes | None] = lambda _number, _method: None
    closes: bool = False

    def answer(self, method: str, target: str) -> bytes:
        """Give the bytes of an answer."""
        if "list-type" in target:
            return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(LISTING), LISTING)
        objects = [each for each in self.asked if "list-type" not in each[1]]
        odd = self.instead(len(objects), method)
        return odd if odd is not None else TAKEN if method == "PUT" else OBJECT


@pytest.fixture
def line() -> Iterator[Line]:
    """Run a server."""
    with _run_line() as line:
        yield line


def _settings(url: str, **more: Any) -> S3DestinationSettings:
    stated = {"endpoint_url": url, "access_key": Secret("key"), "secret_key": Secret("secret")}
    return S3DestinationSettings("lake", "", "{partition}", **{**stated, **more})


@contextmanager
def _destination(url: str, patience: Patience, *, is_warm: bool, **more: Any) -> Iterator[S3Destination]:
    """Open a destination; a warm one has a connection, over which objects go straight."""
    with closing(S3Destination(_settings(url, **more), patience)) as destination:
        if is_warm:
            assert names(destination) == []
        yield destination


@pytest.mark.parametrize("is_warm", [False, True])
@pytest.mark.parametrize("status", [b"101 Switching Protocols", b"102 Processing", b"103 Early Hints"])
def test_what_comes_before_an_answer_is_none(line: Line, status: bytes, *, is_warm: bool) -> None:
    """It is no empty object, and the answer behind it is not taken for that of the next request."""
    other = b"HTTP/1.1 200 OK\r\nETag: %b\r\nContent-Length: 5\r\n\r\nother" % ETAG
    line.instead = lambda number, _: (
        b"HTTP/1.1 %b\r\nLink: a\r\n\r\n%b" % (status, other) if number == 1 else None
    )
    with _destination(line.url, ONCE, is_warm=is_warm) as destination:
        with pytest.raises(DestinationUnavailable):
            destination.read(NAME)
        assert destination.read(NAME) == DATA


@pytest.mark.parametrize("is_warm", [False, True])
@pytest.mark.parametrize("before", [b"", b"HTTP/1.1 100 Continue\r\n\r\n"], ids=["at once", "continued"])
@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_an_answer_that_breaks_off_is_none(line: Line, method: str, before: bytes, *, is_warm: bool) -> None:
    """Wherever that is: in its first line, in its headers or in its body."""
    whole = before + (OBJECT if method == "GET" else TAKEN)
    cuts = range(1, len(whole))
    line.closes = True
    line.instead = lambda number, _: whole[: cuts[number - 1]]
    with _destination(line.url, ONCE, is_warm=is_warm) as destination:
        for _ in cuts:
            if is_warm:  # what is closed is not asked straight
                assert names(destination) == []
            with pytest.raises(DestinationUnavailable):
                destination.read(NAME) if method == "GET" else destination.put(NAME, DATA)
    asked = [by_sdk for method, target, _, by_sdk in line.asked if "list-type" not in target]
    assert asked == [not is_warm] * len(cuts)


@pytest.mark.parametrize("is_warm", [False, True])
def test_no_body_is_waited_for_where_none_can_be(line: Line, *, is_warm: bool) -> None:
    """What an answer of status 204 says of a length counts for nothing."""
    taken = b"HTTP/1.1 204 No Content\r\nETag: %b\r\nContent-Length: 5\r\n\r\n" % ETAG
    line.instead = lambda _, method: taken if method == "PUT" else None
    with _destination(line.url, ONCE, is_warm=is_warm) as destination:
        destination.put(NAME, DATA)
        assert destination.read(NAME) == DATA


@pytest.mark.parametrize("is_warm", [False, True])
@pytest.mark.parametrize(
    "head",
    [
        b"200 OK\r\nContent-Length: 4\r\nContent-Length: %d" % len(DATA),
        b"206 Partial Content\r\nContent-Range: bytes 0-3/%d\r\nContent-Length: 4" % len(DATA),
    ],
    ids=["two lengths", "a piece"],
)
def test_a_piece_is_not_the_object(line: Line, head: bytes, *, is_warm: bool) -> None:
    """Where an answer says of itself that it may hold less, nothing is read rather than that."""
    line.instead = lambda *_: b"HTTP/1.1 %b\r\nETag: %b\r\n\r\n%b" % (head, ETAG, DATA[:4])
    with (
        _destination(line.url, ONCE, is_warm=is_warm) as destination,
        pytest.raises(DestinationError),
    ):
        destination.read(NAME)


def test_an_object_of_which_a_store_tells_no_length(line: Line) -> None:
    """It is not known to stand, and is sent again where the outcome of the first request is unknown."""
    told = b"HTTP/1.1 200 OK\r\nETag: %b\r\n\r\n" % ETAG
    line.instead = lambda number, method: b"" if number == 1 else told if method == "HEAD" else None
    with _destination(line.url, TWICE, is_warm=True) as destination:
        destination.put(NAME, DATA)

    assert [method for method, *_ in line.asked] == ["GET", "PUT", "HEAD", "PUT"]


@pytest.mark.parametrize("style", ["path", "virtual"])
def test_nothing_goes_past_a_proxy(line: Line, style: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a proxy is to be used, it is asked for every object, and by the SDK."""
    monkeypatch.setenv("HTTP_PROXY", line.url)
    with _destination("http://store.invalid:8333", ONCE, is_warm=True, addressing_style=style) as destination:
        for _ in range(2):
            destination.put(NAME, DATA)
            assert destination.read(NAME) == DATA

    host, path = ("store.invalid", "/lake") if style == "path" else ("lake.store.invalid", "")
    assert len(line.asked) == 5
    assert {target for _, target, _, _ in line.asked[1:]} == {
        f"http://{host}:8333{path}/day%3D1/manifest.json"
    }
    assert all(by_sdk for *_, by_sdk in line.asked)


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:9", "http://user:s3cret@127.0.0.1:9"])
def test_no_proxy(line: Line, proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that NO_PROXY names is asked itself, others through the proxy, whose password is not told."""
    monkeypatch.setenv("HTTP_PROXY", proxy)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with _destination(line.url, ONCE, is_warm=True) as destination:
        destination.put(NAME, DATA)
    assert [by_sdk for *_, by_sdk in line.asked] == [True, False]

    with (
        _destination("http://store.invalid", ONCE, is_warm=False) as destination,
        pytest.raises(DestinationUnavailable) as caught,
    ):
        destination.put(NAME, DATA)
    assert "s3cret" not in f"{caught.value} {caught.value.hint} {caught.value.__cause__}"


@pytest.mark.parametrize("is_warm", [False, True])
def test_a_bucket_in_the_name_of_the_host(
    line: Line, monkeypatch: pytest.MonkeyPatch, *, is_warm: bool
) -> None:
    """Objects go to that host, and its name is not in their path, straight or not."""
    resolve = socket.getaddrinfo
    monkeypatch.setattr(
        "socket.getaddrinfo",
        lambda host, *more, **others: resolve(
            "127.0.0.1" if host == "lake.store.invalid" else host, *more, **others
        ),
    )
    port = line.url.rpartition(":")[2]
    url = f"http://store.invalid:{port}"
    with _destination(url, ONCE, is_warm=is_warm, addressing_style="virtual") as destination:
        destination.put(NAME, DATA)
        assert destination.read(NAME) == DATA

    wanted = ("/day%3D1/manifest.json", f"lake.store.invalid:{port}")
    assert [each[1:3] for each in line.asked if "list-type" not in each[1]] == [wanted, wanted]
    assert not line.asked[-1][3]


@pytest.mark.parametrize("is_warm", [False, True])
def test_credentials_that_are_renewed_too_late(
    line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_warm: bool
) -> None:
    """Where what the SDK's chain gives has expired already, that is said, at the start and later."""
    keys = {"Version": 1, "AccessKeyId": "key", "SecretAccessKey": "s3cret", "SessionToken": "t0ken"}
    given, file = tmp_path / "given.json", tmp_path / "config"
    file.write_text(f"[profile nightly]\ncredential_process = cat {given}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(file))

    def give(minutes: int) -> None:
        ends_at = (datetime.now(UTC) + timedelta(minutes=minutes)).isoformat()
        given.write_text(json.dumps({**keys, "Expiration": ends_at}))

    give(5 if is_warm else -5)  # so soon that the SDK renews at each request
    more: dict[str, Any] = {"profile": "nightly", "access_key": None, "secret_key": None}
    with _destination(line.url, ONCE, is_warm=is_warm, **more) as destination:
        give(-5)
        for work in (
            lambda: destination.put(NAME, DATA),
            lambda: destination.read(NAME),
            lambda: names(destination),
        ):
            with pytest.raises(DestinationDenied, match="the credentials have expired") as caught:
                work()
            assert (caught.value.exit_code, caught.value.hint) == (2, "renew them, then run again")


@contextmanager
def _run_line() -> Iterator[Line]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        line = Line(f"http://127.0.0.1:{server.getsockname()[1]}")

        def serve(connection: socket.socket) -> None:
            with connection, connection.makefile("rb") as stream, suppress(OSError):
                while first := stream.readline():
                    head = dict(
                        each.decode("latin-1").strip().lower().split(": ", 1)
                        for each in iter(stream.readline, b"\r\n")
                    )
                    stream.read(int(head.get("content-length", 0)))
                    method, target, _ = first.decode().split()
                    line.asked.append((method, target, head["host"], "amz-sdk-invocation-id" in head))
                    answer = line.answer(method, target)
                    if not answer:
                        return
                    connection.sendall(answer)
                    if line.closes and "list-type" not in target:
                        return

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    threading.Thread(target=serve, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield line
        server.shutdown(socket.SHUT_RDWR)
