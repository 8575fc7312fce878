"""Objects that go straight to S3, past the SDK, are sent, answered and refused as through it."""

from __future__ import annotations

import itertools
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import md5, sha256
from pathlib import Path
from urllib.parse import quote

import botocore.auth
import pytest
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from rivet.config.settings import S3DestinationSettings, Secret
from rivet.destination.s3.destination import S3Destination
from rivet.destination.s3.signature import Signature
from rivet.destination.store.retrying import Patience
from rivet.errors import DestinationDenied, DestinationUnavailable, ObjectNotFound, RivetError
from tests.destination.stores import names
from tests.servers.faults import (
    Asked,
    Ending,
    Fault,
    FaultProxy,
    Forward,
    Reply,
    hang,
    reset,
    run_fault_proxy,
    s3_error,
    unheard,
)
from tests.servers.s3 import S3Bucket, S3Server

PATIENCE = Patience(attempts=1, first_attempts=1)
NAME = "day=1/manifest.json"
DATA = b"what is put"
ETAG = f'"{md5(DATA).hexdigest()}"'  # noqa: S324 - as S3 has it
LISTING = b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"
ODD_NAMES = (
    "a",
    "a b+c%2Fd",
    "~'()*!&$@=:;,?#[]",
    "日本 é/\U0001f600",
    "..a/.b",
    'a\\b|c"<d>^`{}',
    "a/" * 40 + "z",
)
_numbers = itertools.count(1)


@pytest.mark.parametrize("token", [None, "t0ken=="])
@pytest.mark.parametrize("url", ["http://store.example:8333/lake", "https://lake.s3.eu-west-3.amazonaws.com"])
def test_a_signature_is_the_one_of_the_sdk(url: str, token: str | None) -> None:
    """Whatever the key, the headers and the credentials, the SDK signs the same."""
    credentials = Credentials("AKIATEST", "s3cr/et+key<&>", token).get_frozen_credentials()
    for name in ODD_NAMES:
        headers = {"host": url.split("/")[2], "content-md5": "a+b/c==", "x-amz-acl": " two   words "}
        request = AWSRequest("PUT", f"{url}/{quote(name, safe='/~')}", headers, DATA)
        botocore.auth.S3SigV4Auth(credentials, "s3", "eu-west-3").add_auth(request)
        moment = request.headers["X-Amz-Date"]
        signature = Signature(credentials, moment[:8], "eu-west-3", "s3")
        path = "/" + request.url.split("/", 3)[3]
        signed = signature.signed("PUT", path, headers, payload=sha256(DATA).hexdigest(), moment=moment)

        assert signed["authorization"] == request.headers["Authorization"]
        assert signed.get("x-amz-security-token") == token


@pytest.fixture(scope="module")
def proxy(shared_s3_bucket: S3Bucket) -> Iterator[FaultProxy]:
    """Run one proxy for all tests."""
    with run_fault_proxy(shared_s3_bucket.server.endpoint_url) as proxy:
        yield proxy


@pytest.fixture
def headers(proxy: FaultProxy) -> list[dict[str, str]]:
    """Give the headers of each request on an object that goes through the proxy, with names in lower case."""
    seen: list[dict[str, str]] = []

    def fault(asked: Asked, forward: Forward) -> Reply:
        if "list-type" not in asked.path:
            seen.append({name.lower(): value for name, value in asked.headers.items()})
        return forward()

    proxy.spare()
    proxy.choose = lambda *_: fault
    return seen


def _settings(bucket: S3Bucket, proxy: FaultProxy) -> S3DestinationSettings:
    return bucket.at(proxy.url).settings(f"straight/{next(_numbers)}/")


def _is_straight(headers: Mapping[str, str]) -> bool:
    return "amz-sdk-invocation-id" not in headers


def test_what_is_sent(shared_s3_bucket: S3Bucket, proxy: FaultProxy, headers: list[dict[str, str]]) -> None:
    """The first request opens a connection, and what follows is what the SDK sends, but for its notes."""
    settings = replace(_settings(shared_s3_bucket, proxy), acl="private", storage_class="STANDARD")
    with closing(S3Destination(settings, PATIENCE)) as destination:
        for _ in range(2):
            destination.put(NAME, DATA)

    assert [_is_straight(each) for each in headers] == [False, True]
    theirs, own = headers
    signed_anew = {"authorization", "x-amz-date"}
    assert {n: v for n, v in own.items() if n not in signed_anew}.items() <= theirs.items()
    assert {"accept-encoding"} >= {n for n in theirs.keys() - own.keys() if not n.startswith("amz-sdk-")}


def test_what_is_asked(shared_s3_bucket: S3Bucket, proxy: FaultProxy, headers: list[dict[str, str]]) -> None:
    """An object is read whole, by its end and by a piece of one version, as through the SDK."""
    settings, data = _settings(shared_s3_bucket, proxy), bytes(range(256)) * 4096
    shared_s3_bucket.put(settings.prefix + NAME, data)
    shared_s3_bucket.put(f"{settings.prefix}empty", b"")
    with closing(S3Destination(settings, PATIENCE)) as destination:
        for _ in range(2):
            assert destination.read(NAME) == data
    theirs, own = headers
    assert [_is_straight(each) for each in headers] == [False, True]
    signed_anew = {"authorization", "x-amz-date"}
    assert {n: v for n, v in own.items() if n not in signed_anew}.items() <= theirs.items()

    headers.clear()
    with closing(S3Destination(settings, PATIENCE)) as destination:
        assert len(names(destination)) == 2
        with destination.open(NAME) as file:
            assert file.read(1000) == data[:1000]
            file.seek(-10, 2)
            assert file.read() == data[-10:]
        with destination.open("empty") as file:
            assert file.read() == b""
        with pytest.raises(ObjectNotFound):
            destination.read("none")
    assert all(_is_straight(each) for each in headers)
    end, piece = headers[:2]
    assert end["range"] == "bytes=-65536"
    assert "if-match" in piece


def test_odd_names(shared_s3_bucket: S3Bucket, proxy: FaultProxy, headers: list[dict[str, str]]) -> None:
    """An object goes where its name says, whatever characters are in it."""
    settings = _settings(shared_s3_bucket, proxy)
    odd_names = [name for name in ODD_NAMES if "\\" not in name]  # which the server takes for a slash
    with closing(S3Destination(settings, PATIENCE)) as destination:
        assert names(destination) == []
        for name in odd_names:
            destination.put(name, name.encode())

        assert names(destination) == sorted(odd_names)
        assert all(destination.read(name) == name.encode() for name in odd_names)
    assert len(headers) == 2 * len(odd_names)
    assert all(_is_straight(each) for each in headers)


def test_over_tls(s3_tls: S3Server) -> None:
    """Objects small and large arrive over TLS, too."""
    large = bytes(range(256)) * 4096
    with s3_tls.fresh_bucket() as bucket, closing(S3Destination(bucket.settings("a/"), PATIENCE)) as it:
        assert names(it) == []
        it.put(NAME, DATA)
        it.put("large", large)

        assert (it.read(NAME), it.read("large")) == (DATA, large)


@pytest.mark.parametrize("signs", ["true", "false"])
def test_a_payload_is_signed_where_the_sdk_would(
    shared_s3_bucket: S3Bucket,
    proxy: FaultProxy,
    headers: list[dict[str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    signs: str,
) -> None:
    """What the SDK's own files say of payloads holds for both ways."""
    file = tmp_path / "config"
    file.write_text(f"[default]\ns3 =\n  payload_signing_enabled = {signs}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(file))
    with closing(S3Destination(_settings(shared_s3_bucket, proxy), PATIENCE)) as destination:
        for _ in range(2):
            destination.put(NAME, DATA)

    expected = sha256(DATA).hexdigest() if signs == "true" else "UNSIGNED-PAYLOAD"
    assert [each["x-amz-content-sha256"] for each in headers] == [expected] * 2
    assert [_is_straight(each) for each in headers] == [False, True]


def test_where_the_sdk_signs_otherwise_it_sends(
    shared_s3_bucket: S3Bucket,
    proxy: FaultProxy,
    headers: list[dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A signature that is not the SDK's is never sent."""
    monkeypatch.setattr("rivet.destination.s3.signature._ALGORITHM", "AWS4-OTHERWISE")
    with closing(S3Destination(_settings(shared_s3_bucket, proxy), PATIENCE)) as destination:
        for _ in range(2):
            destination.put(NAME, DATA)

    assert [_is_straight(each) for each in headers] == [False, False]


def test_credentials_that_are_renewed(
    proxy: FaultProxy, headers: list[dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each object is signed with what the SDK's chain gives at its moment, the session's token too."""
    ends_at = (datetime.now(UTC) + timedelta(minutes=5)).isoformat()  # so soon that the SDK renews at each
    keys = {"Version": 1, "AccessKeyId": "key", "SecretAccessKey": "secret", "Expiration": ends_at}
    given = tmp_path / "given.json"
    file = tmp_path / "config"
    file.write_text(f"[profile nightly]\ncredential_process = cat {given}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(file))

    def fault(asked: Asked, _: Forward) -> Reply:
        assert asked.body == DATA
        headers.append({name.lower(): value for name, value in asked.headers.items()})
        return Reply(200, b"", {"ETag": ETAG})

    proxy.choose = lambda *_: fault
    settings = S3DestinationSettings("lake", "", "", endpoint_url=proxy.url, profile="nightly")
    with closing(S3Destination(settings, PATIENCE)) as destination:
        for token in "abb":
            given.write_text(json.dumps({**keys, "SessionToken": token}))
            destination.put(NAME, DATA)

    assert [_is_straight(each) for each in headers] == [False, True, True]
    assert [each["x-amz-security-token"] for each in headers] == ["a", "b", "b"]


REFUSALS: dict[str, Reply | Ending] = {
    "right": s3_error(403, "AccessDenied"),
    "no word": Reply(403),
    "region": replace(s3_error(301, "PermanentRedirect"), headers={"x-amz-bucket-region": "eu-west-3"}),
    "clock": s3_error(403, "RequestTimeTooSkewed"),
    "slow": s3_error(503, "SlowDown"),
    "gateway": Reply(504, b"<html>Gateway Time-out</html>"),
    "200": s3_error(200, "InternalError"),
    "condition": s3_error(412, "PreconditionFailed"),
    "digest": s3_error(400, "BadDigest"),
    "garbled": Reply(400, b"<Error><Code>"),
    "no ETag": Reply(200),
    "reset": "reset",
}


@pytest.mark.parametrize("method", ["PUT", "GET"])
@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS.keys())
def test_refusals(proxy: FaultProxy, refusal: Reply | Ending, method: str) -> None:
    """A refusal is told in the words that it has through the SDK."""
    if method == "GET" and isinstance(refusal, Reply) and refusal.status == 200:
        return  # whatever the bytes are, they are the object's
    told = []
    for is_warm in (False, True):
        settings = _elsewhere(proxy.url)
        proxy.spare()
        proxy.choose = lambda _, asked: _answering(
            Reply(200, LISTING) if "list-type" in asked.path else refusal
        )
        with closing(S3Destination(settings, PATIENCE)) as destination:
            if is_warm:
                assert names(destination) == []
            with pytest.raises(RivetError) as caught:
                destination.put(NAME, DATA) if method == "PUT" else destination.read(NAME)
        told.append((type(caught.value), str(caught.value), caught.value.hint))

    assert told[0] == told[1]


ANSWERS = {
    "length": b"HTTP/1.1 200 OK\r\nETag: %b\r\nContent-Length: 0\r\n\r\n",
    "no reason": b"HTTP/1.1 200\r\netag:%b\r\ncontent-length:0\r\n\r\n",
    "body": b"HTTP/1.1 200 OK\r\nETag: %b\r\nContent-Length: 3\r\n\r\n\r\n\r",
    "in pieces": b"HTTP/1.1 200 OK\r\nETag: %b\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    "not yet": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nETag: %b\r\nContent-Length: 0\r\n\r\n",
    "folded": b"HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\nETag: %b\r\nContent-Length: 0\r\n\r\n",
    "204": b"HTTP/1.1 204 No Content\r\nETag: %b\r\n\r\n",
    "end": b"HTTP/1.1 200 OK\r\nETag: %b\r\n\r\n",
    "old": b"HTTP/1.0 200 OK\r\nETag: %b\r\nContent-Length: 0\r\n\r\n",
    "last": b"HTTP/1.1 200 OK\r\nETag: %b\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    "too much": b"HTTP/1.1 200 OK\r\nETag: %b\r\nContent-Length: 0\r\n\r\nHTTP/1.1 500 No\r\n\r\n",
}


CLOSING = {"end", "old", "last"}
# What comes after an answer's end can be seen only if it is there when the next request goes out.
AT_ONCE = {"too much"}


@pytest.mark.parametrize(
    ("spelling", "is_slow"),
    [(each, slow) for each in ANSWERS for slow in (False, True) if not slow or each not in AT_ONCE],
)
def test_any_spelling_of_an_answer(spelling: str, *, is_slow: bool) -> None:
    """Whatever HTTP allows is understood, and after it the next request has a connection that fits."""
    answer = ANSWERS[spelling] % ETAG.encode()
    with _run_server(answer, is_slow=is_slow, closes=spelling in CLOSING) as (url, puts):
        with closing(S3Destination(_elsewhere(url), PATIENCE)) as destination:
            for _ in range(3):
                assert names(destination) == []
                destination.put(NAME, DATA)
        assert puts == [DATA] * 3


NO_ANSWERS = {
    "nothing": b"",
    "other": b"SSH-2.0-OpenSSH_9.2\r\n",
    "cut": b"HTTP/1.1 200 OK\r\nETag: x",
    "cut body": b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
    "without end": b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 10_000,
    "long": b"HTTP/1.1 200 OK\r\nX-A: " + b"b" * 100_000 + b"\r\n\r\n",
}


@pytest.mark.parametrize("answer", NO_ANSWERS.values(), ids=NO_ANSWERS.keys())
def test_what_is_no_answer(answer: bytes) -> None:
    """What is not one, or breaks off, is an error that may pass."""
    with _run_server(answer) as (url, _), closing(S3Destination(_elsewhere(url), PATIENCE)) as destination:
        assert names(destination) == []
        with pytest.raises(DestinationUnavailable):
            destination.put(NAME, DATA)


def test_a_server_that_refuses_before_it_has_all() -> None:
    """Where the server closes in the middle of a large object, what it has answered counts."""
    refusal = b"<Error><Code>AccessDenied</Code></Error>"
    answer = b"HTTP/1.1 403 Forbidden\r\nContent-Length: %d\r\n\r\n%b" % (len(refusal), refusal)
    with (
        _run_server(answer, takes=False) as (url, _),
        closing(S3Destination(_elsewhere(url), PATIENCE)) as destination,
    ):
        assert names(destination) == []
        with pytest.raises(DestinationDenied, match="AccessDenied"):
            destination.put(NAME, bytes(64 * 1024**2))


def test_closing_cuts_what_is_under_way(proxy: FaultProxy) -> None:
    """A put whose answer does not come ends when the destination is closed."""
    has_come = threading.Event()

    def fault(asked: Asked, forward: Forward) -> Reply | Ending:
        has_come.set()
        return hang(asked, forward)

    proxy.spare()
    listing = unheard(Reply(200, LISTING))
    proxy.choose = lambda _, asked: fault if asked.method == "PUT" else listing
    destination = S3Destination(_elsewhere(proxy.url), Patience(read_timeout_seconds=600))
    assert names(destination) == []
    with ThreadPoolExecutor(1) as pool:
        putting = pool.submit(destination.put, NAME, DATA)
        assert has_come.wait(60)
        destination.close()

        with pytest.raises(DestinationUnavailable):
            putting.result()


def _answering(answer: Reply | Ending) -> Fault:
    return unheard(answer) if isinstance(answer, Reply) else reset


def _elsewhere(url: str) -> S3DestinationSettings:
    stated = {"endpoint_url": url, "access_key": Secret("key"), "secret_key": Secret("secret")}
    return S3DestinationSettings("lake", "", "{partition}", **stated)  # type: ignore[arg-type]


@contextmanager
def _run_server(
    answer: bytes, *, is_slow: bool = False, takes: bool = True, closes: bool = True
) -> Iterator[tuple[str, list[bytes]]]:
    """Run a server that lists nothing and answers each put with bytes.

    Args:
        is_slow: Each byte goes by itself.
        takes: Whether the body of a put is read first.
        closes: Whether the connection is closed then.
    """
    puts: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream, suppress(OSError):
            while line := stream.readline():
                head = list(iter(stream.readline, b"\r\n"))
                if line.startswith(b"GET"):
                    connection.sendall(
                        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(LISTING), LISTING)
                    )
                    continue
                length = next(int(h[15:]) for h in head if h.lower().startswith(b"content-length:"))
                if takes:
                    puts.append(stream.read(length))
                for piece in (bytes([byte]) for byte in answer) if is_slow else (answer,):
                    connection.sendall(piece)
                if closes:
                    return

    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    threading.Thread(target=serve, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", puts
        server.shutdown(socket.SHUT_RDWR)
