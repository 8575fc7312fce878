"""What goes wrong with Google Cloud Storage, told by bucket, endpoint and mend, and no secret."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from google.oauth2.credentials import Credentials

from rivet.config.settings import GcsDestinationSettings
from rivet.destination.gcs.destination import GcsDestination
from rivet.destination.store.retrying import Patience
from rivet.errors import DestinationDenied, DestinationError, DestinationUnavailable, ObjectNotFound
from tests.servers.certificates import Certificates
from tests.servers.faults import FaultProxy, Reply, hang, unheard
from tests.servers.gcs import GcsBucket, GcsServer
from tests.servers.process import free_port

# It has no types.
_credentials = cast("Any", Credentials)
HASTY = Patience(attempts=2, first_attempts=2, first_pause_seconds=0.01)
# For a store that never answers, which takes as long as this at each attempt.
DEAF = replace(HASTY, read_timeout_seconds=0.5)
Use = Callable[[GcsDestination], object]
USES: dict[str, Use] = {
    "list": lambda destination: list(destination.list()),
    "put": lambda destination: destination.put("day=1/_SUCCESS", b""),
    "read": lambda destination: destination.read("day=1/_SUCCESS"),
    "open": lambda destination: destination.open("day=1/_SUCCESS"),
    "delete": lambda destination: destination.delete(["day=1/_SUCCESS"]),
}


def fails(
    settings: GcsDestinationSettings, use: Use = USES["list"], patience: Patience = HASTY
) -> DestinationError:
    """Use a destination that must fail, and hold its error to what every one of them has."""
    with (
        closing(GcsDestination(settings, patience)) as destination,
        pytest.raises(DestinationError) as raised,
    ):
        use(destination)
    error = raised.value
    assert "\n" not in f"{error}{error.hint}"
    assert f"gs://{settings.bucket}/" in str(error)
    return error


@pytest.mark.parametrize("use", ["list", "put"])
def test_no_such_bucket(gcs: GcsServer, use: str) -> None:
    """A bucket that is not there is named, exit 2, before anything is written and when it is."""
    error = fails(GcsBucket(gcs, "nobodys-lake").settings("root/"), USES[use])

    assert isinstance(error, DestinationDenied)
    assert "there is no such bucket" in str(error)
    assert gcs.endpoint_url in str(error)


@pytest.mark.parametrize("use", ["read", "open"])
def test_a_bucket_that_has_gone(gcs_bucket: GcsBucket, gcs_proxy: FaultProxy, use: str) -> None:
    """Where Google says that it is the bucket that is missing, no object is said to be."""
    settings = gcs_bucket.at(gcs_proxy.url).settings("root/")
    assert isinstance(fails(settings, USES[use]), ObjectNotFound)

    gone = {"error": {"code": 404, "message": "The specified bucket does not exist."}}
    gcs_proxy.choose = lambda _, __: unheard(Reply(404, json.dumps(gone).encode()))
    error = fails(settings, USES[use])
    assert not isinstance(error, ObjectNotFound)
    assert isinstance(error, DestinationDenied)


@pytest.mark.parametrize(
    ("status", "reason", "kind", "text", "hint"),
    [
        (400, "invalid", DestinationError, "the store refused", None),
        (401, "required", DestinationDenied, "requests without credentials are refused", "credentials_file"),
        (403, "forbidden", DestinationDenied, "requests without credentials are refused", "credentials_file"),
        (403, "rateLimitExceeded", DestinationUnavailable, "fewer requests", "run again"),
        (403, "quotaExceeded", DestinationUnavailable, "a quota is used up", "quota"),
        (403, "accountDisabled", DestinationDenied, "not billed", "billing"),
        (403, "retentionPolicyNotMet", DestinationDenied, "from being replaced", "retention"),
        (
            403,
            "userProjectAccessDenied",
            DestinationDenied,
            "may not bill the project",
            "serviceUsageConsumer",
        ),
        (400, "userProjectMissing", DestinationDenied, "a project that pays for requests", "project"),
        (408, "", DestinationUnavailable, "the store failed", "run again"),
        (412, "conditionNotMet", DestinationUnavailable, "the store failed", "run again"),
        (413, "uploadTooLarge", DestinationError, "the store refused", None),
        (429, "rateLimitExceeded", DestinationUnavailable, "fewer requests", "run again"),
        (499, "", DestinationError, "the store refused", None),
        (301, "", DestinationError, "sends us elsewhere", "endpoint_url"),
        (500, "backendError", DestinationUnavailable, "the store failed", "run again"),
        (502, "", DestinationUnavailable, "the store failed", "run again"),
        (503, "", DestinationUnavailable, "the store failed", "run again"),
        (504, "", DestinationUnavailable, "the store failed", "run again"),
    ],
)
@pytest.mark.parametrize("use", USES)
def test_what_the_store_answers(
    gcs_bucket: GcsBucket,
    gcs_proxy: FaultProxy,
    use: str,
    status: int,
    reason: str,
    kind: type[DestinationError],
    text: str,
    hint: str | None,
) -> None:
    """Each status, or its reason, has a meaning and a mend, whatever was asked, and the store's words."""
    told = {"error": {"code": status, "message": "It is\n so", "errors": [{"reason": reason}]}}
    gcs_proxy.choose = lambda _, __: unheard(Reply(status, json.dumps(told).encode()))
    error = fails(gcs_bucket.at(gcs_proxy.url).settings("root/"), USES[use])

    assert type(error) is kind
    assert f"{text} ({status}: It is so)" in str(error)
    assert f"at {gcs_proxy.url}: " in str(error)
    assert (error.hint is None) == (hint is None)
    assert (hint or "") in str(error.hint)


@pytest.mark.parametrize(
    ("status", "text", "hint"),
    [
        (401, "the credentials are not accepted", "gcloud auth application-default login"),
        (403, "the credentials lack the right", "roles/storage.objectUser"),
    ],
)
def test_credentials_that_are_refused(
    gcs_bucket: GcsBucket,
    gcs_proxy: FaultProxy,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    text: str,
    hint: str,
) -> None:
    """Where credentials were sent, it is they that are refused, and they are not told."""
    monkeypatch.setattr(
        "rivet.destination.gcs.connection.credentials_of", lambda *_: _credentials(token="s3cret")
    )
    gcs_proxy.choose = lambda _, __: unheard(Reply(status, b"no"))
    error = fails(gcs_bucket.at(gcs_proxy.url).settings())

    assert isinstance(error, DestinationDenied)
    assert text in str(error)
    assert hint in str(error.hint)
    assert "s3cret" not in f"{error} {error.hint}"


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>\n<p>nginx", b"null", b"[]", b'{"error": "text"}', b'{"error": {"errors": []}}', b"\xff"],
)
def test_an_error_in_any_form(gcs_bucket: GcsBucket, gcs_proxy: FaultProxy, body: bytes) -> None:
    """An error is told by its status whatever its body is."""
    gcs_proxy.choose = lambda _, __: unheard(Reply(503, body))
    error = fails(gcs_bucket.at(gcs_proxy.url).settings())

    assert isinstance(error, DestinationUnavailable)
    assert "the store failed (503" in str(error)


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"null", b"[]", b"{}", b'{"kind": "storage#objects", "items": [{}]}', b'{"items": 7}'],
)
def test_a_listing_that_is_none(gcs_bucket: GcsBucket, gcs_proxy: FaultProxy, body: bytes) -> None:
    """An answer that is no listing is an error, and never taken for an empty bucket."""
    gcs_proxy.choose = lambda _, __: unheard(Reply(200, body))
    error = fails(gcs_bucket.at(gcs_proxy.url).settings())

    assert isinstance(error, DestinationUnavailable)
    assert "endpoint_url" in str(error.hint)


def test_a_listing_without_end(gcs_bucket: GcsBucket, gcs_proxy: FaultProxy) -> None:
    """Pages that name themselves as the next are an error, and not read for ever."""
    page = Reply(200, b'{"kind": "storage#objects", "nextPageToken": "again"}')
    gcs_proxy.choose = lambda _, __: unheard(page)

    assert isinstance(fails(gcs_bucket.at(gcs_proxy.url).settings()), DestinationUnavailable)


@pytest.mark.parametrize("host", ["http://[::1", "http://u:s3cret@127.0.0.1:99999", "not a host", "ftp://x"])
def test_an_emulator_that_is_none(gcs_bucket: GcsBucket, monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    """A variable that holds no URL is refused by its name, and what it holds is not told."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", host)
    with pytest.raises(DestinationError, match="STORAGE_EMULATOR_HOST") as caught:
        GcsDestination(replace(gcs_bucket.settings(), endpoint_url=None))

    assert "s3cret" not in f"{caught.value} {caught.value.hint}"


def test_nobody_listens() -> None:
    """An endpoint that is not reached may be reached next time, exit 3."""
    endpoint = f"http://127.0.0.1:{free_port()}"
    error = fails(GcsDestinationSettings("lake", "", "{partition}", endpoint_url=endpoint))

    assert isinstance(error, DestinationUnavailable)
    assert f"at {endpoint}: it cannot be reached" in str(error)


def test_nobody_answers(gcs_bucket: GcsBucket, gcs_proxy: FaultProxy) -> None:
    """A server that takes a request and never answers is given up."""
    gcs_proxy.choose = lambda _, __: hang
    error = fails(gcs_bucket.at(gcs_proxy.url).settings(), patience=DEAF)

    assert isinstance(error, DestinationUnavailable)
    assert "it did not answer in time" in str(error)


def test_nobody_reads_what_is_sent(gcs_bucket: GcsBucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that takes a connection and reads nothing of a large body is given up."""
    monkeypatch.setattr("rivet.destination.gcs.connection._LEAST_SENT_PER_SECOND", 2**40)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        endpoint = f"http://127.0.0.1:{listener.getsockname()[1]}"
        settings = replace(gcs_bucket.settings(), endpoint_url=endpoint)
        error = fails(settings, lambda destination: destination.put("p", bytes(30_000_000)), DEAF)

    assert isinstance(error, DestinationUnavailable)
    assert "it did not answer in time" in str(error)


def test_a_password_in_the_endpoint_is_not_told(gcs_bucket: GcsBucket, gcs_proxy: FaultProxy) -> None:
    """A URL with a password, which the environment may hold, is told without it."""
    gcs_proxy.choose = lambda _, __: unheard(Reply(403, b"no"))
    url = gcs_proxy.url.replace("http://", "http://user:s3cret@")
    error = fails(replace(gcs_bucket.settings("root/"), endpoint_url=url))

    assert f"at {gcs_proxy.url}: " in str(error)
    assert "s3cret" not in f"{error} {error.hint} {error.__cause__}"


@contextmanager
def listening(serve: Callable[[socket.socket], object]) -> Iterator[int]:
    """Listen on a port of 127.0.0.1, with something to be done to each connection."""
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                with suppress(OSError), client:
                    serve(client)

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def test_a_certificate_that_is_not_trusted(tmp_path: Path) -> None:
    """A server whose authority nobody here knows is refused, exit 2, with the mend."""
    certificates = Certificates(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.certificate_file, certificates.key_file)

    def serve(client: socket.socket) -> None:
        context.wrap_socket(client, server_side=True).close()

    with listening(serve) as port:
        endpoint = f"https://localhost:{port}"
        error = fails(GcsDestinationSettings("lake", "", "{partition}", endpoint_url=endpoint))

    assert isinstance(error, DestinationDenied)
    assert "its certificate is not trusted" in str(error)
    assert "SSL_CERT_FILE" in str(error.hint)


def test_a_server_without_tls(gcs: GcsServer) -> None:
    """An endpoint that is written with https and speaks http is told as such, exit 2."""
    settings = replace(
        GcsBucket(gcs, "lake").settings(), endpoint_url=gcs.endpoint_url.replace("http:", "https:")
    )
    error = fails(settings)

    assert isinstance(error, DestinationDenied)
    assert "it does not speak TLS" in str(error)


def test_a_server_of_another_kind() -> None:
    """A server that speaks no HTTP at all is told as no Google Cloud Storage."""

    def serve(client: socket.socket) -> None:
        client.recv(100)
        client.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")

    with listening(serve) as port:
        endpoint = f"http://127.0.0.1:{port}"
        error = fails(GcsDestinationSettings("lake", "", "{partition}", endpoint_url=endpoint))

    assert isinstance(error, DestinationUnavailable)
    assert "not one of Google Cloud Storage" in str(error)
    assert "/storage/v1" not in str(error)
