"""What goes wrong with S3, told in two lines that name bucket, endpoint and mend, and no secret."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import botocore.auth
import pytest
from urllib3.exceptions import ProtocolError

from rivet.config.settings import S3DestinationSettings, Secret
from rivet.destination.s3.destination import S3Destination
from rivet.destination.s3.errors import Translator
from rivet.destination.store.retrying import Patience
from rivet.errors import DestinationDenied, DestinationError, DestinationUnavailable, IntegrityError
from tests.servers.faults import FaultProxy, Reply, hang, run_fault_proxy, s3_error, unheard
from tests.servers.process import free_port
from tests.servers.s3 import Key, S3Bucket, S3Server

HASTY = Patience(attempts=2, first_attempts=2, first_pause_seconds=0.01)
# For a store that never answers, which takes as long as this at each attempt.
DEAF = replace(HASTY, read_timeout_seconds=0.5)
ACCESS_KEY = "AKIATESTTESTTESTTEST"
SECRET_KEY = "s3cr/et+key<&>"
TOKEN = "t0ken=="


def _list(destination: S3Destination) -> None:
    list(destination.list())


def _put(destination: S3Destination) -> None:
    destination.put("day=1/manifest.json", b"{}")


def _read(destination: S3Destination) -> None:
    destination.read("day=1/manifest.json")


Use = Callable[[S3Destination], None]


def _fails(
    settings: S3DestinationSettings, use: Use = _list, patience: Patience = HASTY
) -> DestinationError | IntegrityError:
    """Use a destination that must fail, and hold its error to what every one of them has."""
    with (
        closing(S3Destination(settings, patience)) as destination,
        pytest.raises((DestinationError, IntegrityError)) as caught,
    ):
        use(destination)
    error = caught.value
    assert isinstance(error, DestinationError | IntegrityError)
    text = f"{error}\n{error.hint}"
    assert len(text.splitlines()) == 2
    assert f"s3://{settings.bucket}/" in text
    assert settings.endpoint_url is None or settings.endpoint_url in text
    for secret in (settings.secret_key, settings.session_token):
        assert secret is None or secret.reveal() not in text
    return error


def _denied(settings: S3DestinationSettings, use: Use = _list) -> str:
    error = _fails(settings, use)
    assert isinstance(error, DestinationDenied)
    assert error.exit_code == 2
    return f"{error}\n{error.hint}"


def test_wrong_access_key(s3_bucket: S3Bucket) -> None:
    """An access key that nobody has is refused."""
    text = _denied(s3_bucket.reached_by(Key("nobody-has-this", "secret")).settings())

    assert "does not know the access key" in text


def test_wrong_secret_key(s3_bucket: S3Bucket) -> None:
    """A secret that is not the key's is refused."""
    key = s3_bucket.server.account.access_key
    text = _denied(s3_bucket.reached_by(Key(key, "not-its-secret")).settings())

    assert "secret key does not fit" in text


def test_clock_that_is_wrong(s3_bucket: S3Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose clock is an hour off is told so."""
    early = botocore.auth.get_current_datetime() - timedelta(hours=1)
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda *_, **__: early)

    assert "set the clock" in _denied(s3_bucket.settings(), _put)


@pytest.mark.parametrize("use", [_list, _put, _read])
def test_no_such_bucket(s3: S3Server, use: Use) -> None:
    """A bucket that does not exist is named, whatever is asked of it, and is no missing object."""
    text = _denied(S3Bucket(s3, "no-such-bucket").settings("events/"), use)

    assert "there is no such bucket" in text


def test_read_only_identity(s3_bucket: S3Bucket) -> None:
    """Who may only read is told at the first write which rights are needed."""
    settings = s3_bucket.reached_by(s3_bucket.server.reader).settings("events/")
    with closing(S3Destination(settings, HASTY)) as destination:
        assert list(destination.list()) == []

    assert "s3:PutObject" in _denied(settings, _put)


def test_nothing_listens() -> None:
    """An endpoint at which nobody listens may be there later."""
    error = _fails(_stub(f"http://127.0.0.1:{free_port()}"))

    assert isinstance(error, DestinationUnavailable)
    assert error.exit_code == 3
    assert "cannot be reached" in str(error)


def test_no_such_host() -> None:
    """A host that has no address may have one later."""
    error = _fails(_stub("http://no-such-host.invalid:9000"))

    assert isinstance(error, DestinationUnavailable)


def test_nothing_answers() -> None:
    """A server that takes connections and stays silent ends in an error, not in waiting for ever."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        error = _fails(_stub(f"http://127.0.0.1:{server.getsockname()[1]}"), patience=DEAF)

    assert isinstance(error, DestinationUnavailable)
    assert "did not answer in time" in str(error)


def test_a_line_that_breaks_inside_an_answer() -> None:
    """What the layer below the SDK says of a body that breaks off is a broken line, like any other."""
    translator = Translator("s3://lake/", lambda: "http://store", ())
    with (
        pytest.raises(DestinationUnavailable, match="s3://lake/day=1"),
        translator.translated("read", "day=1"),
    ):
        raise ProtocolError("Connection broken: reset by peer")


def test_untrusted_certificate(s3_tls: S3Server) -> None:
    """A certificate of an unknown authority, and one for another name, are refused with the mend."""
    settings = S3Bucket(s3_tls, "any").settings()
    assert "ca_file" in _denied(replace(settings, ca_file=None))
    assert settings.endpoint_url is not None
    other_name = settings.endpoint_url.replace("localhost", "127.0.0.1")
    assert "certificate is not trusted" in _denied(replace(settings, endpoint_url=other_name))


def test_trusted_certificate(s3_tls: S3Server) -> None:
    """With the file of its authority a store is used over TLS, digests and all."""
    with (
        s3_tls.fresh_bucket() as bucket,
        closing(S3Destination(bucket.settings("events/"), HASTY)) as destination,
    ):
        _put(destination)
        assert destination.read("day=1/manifest.json") == b"{}"


def test_ca_file_that_is_none(s3_tls: S3Server, tmp_path: Path) -> None:
    """A file of authorities that holds none is named."""
    file = tmp_path / "ca.pem"
    file.write_text("no certificate")
    settings = replace(S3Bucket(s3_tls, "any").settings(), ca_file=file)
    with (
        closing(S3Destination(settings, HASTY)) as destination,
        pytest.raises(DestinationDenied, match=r"ca\.pem"),
    ):
        _list(destination)


def test_tls_to_a_port_without(s3: S3Server) -> None:
    """https:// to a port that speaks plain HTTP says so."""
    endpoint = s3.endpoint_url.replace("http://", "https://")

    assert "write http://" in _denied(_stub(endpoint))


def test_no_tls_to_a_port_with(s3_tls: S3Server) -> None:
    """http:// to a port that speaks TLS is cut by the server, and the mend names https."""
    endpoint = s3_tls.endpoint_url.replace("https://", "http://")

    assert "https://" in str(_fails(_stub(endpoint)).hint)


def test_no_credentials(s3: S3Server) -> None:
    """Where neither the config nor the SDK's chain has credentials, both are named."""
    settings = replace(_stub(s3.endpoint_url), access_key=None, secret_key=None, session_token=None)

    assert "access_key_env" in _denied(settings)


def test_no_such_profile(s3: S3Server) -> None:
    """A profile that the SDK's files do not have is named."""
    settings = replace(_stub(s3.endpoint_url), profile="nightly")

    assert "nightly" in _denied(settings)


DENIED = {
    (400, "ExpiredToken"): "have expired",
    (400, "TokenRefreshRequired"): "have expired",
    (400, "InvalidToken"): "session token",
    (403, "RequestTimeTooSkewed"): "set the clock",
    (403, "InvalidAccessKeyId"): "access key",
    (403, "SignatureDoesNotMatch"): "secret key",
    (403, "AccessDenied"): "s3:PutObject",
    (403, "AccountProblem"): "right",
    (403, "NobodyKnowsThis"): "right",
    (404, "NoSuchBucket"): "create the bucket",
    (400, "IllegalLocationConstraintException"): "another region",
    (400, "KMS.DisabledException"): "kms:GenerateDataKey",
}
REFUSED = {
    (400, "InvalidStorageClass"): "storage_class",
    (400, "AccessControlListNotSupported"): "acl",
    (400, "InvalidEncryptionAlgorithmError"): "server_side_encryption",
    (403, "InvalidObjectState"): "restore",
    (501, "NotImplemented"): "storage_class",
    (400, "NobodyKnowsThis"): "NobodyKnowsThis",
}
UNAVAILABLE = {
    (503, "SlowDown"): "fewer requests",
    (503, "ServiceUnavailable"): "fewer requests",
    (429, "TooManyRequests"): "fewer requests",
    (500, "InternalError"): "failed",
    (502, "NobodyKnowsThis"): "failed",
    (507, "XMinioStorageFull"): "no room",
    (403, "QuotaExceeded"): "quota",
    (400, "RequestTimeout"): "failed",
    (409, "OperationAborted"): "failed",
}


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        *((answer, DestinationDenied, words) for answer, words in DENIED.items()),
        *((answer, DestinationError, words) for answer, words in REFUSED.items()),
        *((answer, DestinationUnavailable, words) for answer, words in UNAVAILABLE.items()),
    ],
)
@pytest.mark.parametrize("use", [_list, _put])
def test_codes(
    proxy: FaultProxy, answer: tuple[int, str], kind: type[DestinationError], words: str, use: Use
) -> None:
    """Each code that a store answers with is told as what it means, with its exit code and mend."""
    _answer(proxy, *answer)
    error = _fails(_stub(proxy.url), use)

    assert type(error) is kind
    assert error.exit_code == (3 if kind is DestinationUnavailable else 2)
    assert words in f"{error}\n{error.hint}"
    assert len(proxy.asked) == (1 if error.exit_code == 2 else 2 if use is _list else 3)


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (301, "<Error><Code>PermanentRedirect</Code></Error>", {"x-amz-bucket-region": "eu-west-3"}),
        (400, "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-3</Region></Error>", {}),
    ],
)
def test_wrong_region(proxy: FaultProxy, status: int, body: str, headers: dict[str, str]) -> None:
    """The region in which a bucket is stands in the mend, and nothing is asked anywhere else."""
    proxy.spare()
    proxy.choose = lambda *_: unheard(Reply(status, body.encode(), headers))

    assert "region: eu-west-3" in _denied(_stub(proxy.url), _put)
    assert len(proxy.asked) == 1


def test_what_a_store_says_is_shown_without_secrets(proxy: FaultProxy) -> None:
    """A message of the store is shown on one line, and a secret that it repeats is not."""
    said = f"no,\n no: {ACCESS_KEY} {SECRET_KEY.replace('&', '&amp;').replace('<', '&lt;')} {TOKEN}"
    _answer(proxy, 400, "Odd", said)

    assert "Odd: no, no: *** *** ***" in str(_fails(_stub(proxy.url)))


def test_endpoint_with_a_password(proxy: FaultProxy) -> None:
    """What stands before the host in an endpoint is not shown."""
    _answer(proxy, 403, "AccessDenied")
    settings = _stub(proxy.url.replace("http://", "http://user:pa55@"))
    with closing(S3Destination(settings, HASTY)) as destination, pytest.raises(DestinationError) as caught:
        _list(destination)

    assert "pa55" not in f"{caught.value}{caught.value.hint}"


@pytest.mark.parametrize("port", [1, 99_999])
def test_variable_with_a_password_in_an_endpoint_that_is_not_there(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is it where the SDK tells of the whole URL."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://user:pa55@127.0.0.1:{port}")

    error = _fails(replace(_stub(""), endpoint_url=None))

    assert f"at http://127.0.0.1:{port}: " in str(error)
    assert "pa55" not in f"{error}{error.hint}"


@pytest.mark.parametrize("variable", ["AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN"])
def test_variables_that_no_header_can_hold(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token with a line break is refused at once, and not shown."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "t0k" + "\n" * (name == variable) + "en")
    settings = _stub(f"http://127.0.0.1:{free_port()}")

    text = _denied(replace(settings, access_key=None, secret_key=None, session_token=None))

    assert "line break" in text
    assert "t0k" not in text


def test_authorities_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing file of authorities is told as such, and not as a connection that was cut."""
    monkeypatch.setenv("AWS_CA_BUNDLE", "/nowhere/ca.pem")
    with socket.create_server(("127.0.0.1", 0)) as server:
        text = _denied(_stub(f"https://127.0.0.1:{server.getsockname()[1]}"))

    assert "AWS_CA_BUNDLE" in text


@pytest.mark.parametrize("status", [302, 404, 407])
def test_servers_of_another_kind(proxy: FaultProxy, status: int) -> None:
    """What a web server or a proxy on the way answers is told with the mend."""
    proxy.spare()
    proxy.choose = lambda *_: unheard(Reply(status, b"<html>no</html>", {"Location": "http://127.0.0.1:1/"}))
    error = _fails(_stub(proxy.url))

    assert error.exit_code == 2
    assert error.hint is not None


_LISTING = (
    b"<ListBucketResult><IsTruncated>%s</IsTruncated><NextContinuationToken>1</NextContinuationToken>"
    b"<Contents>%s</Contents></ListBucketResult>"
)


@pytest.mark.parametrize(
    "body",
    [
        b"<html>Hello</html>",
        b"",
        b"\0\1",
        b"<ListBucketResult><Conte",
        _LISTING % (b"true", b"<Key>a</Key><Size>1</Size>"),  # each page names itself as the next
        _LISTING % (b"false", b"<Key>a</Key>"),
        _LISTING % (b"false", b"<Size>1</Size>"),
    ],
)
def test_answers_that_are_none_of_s3(proxy: FaultProxy, body: bytes) -> None:
    """A page of something else, and half an answer, are errors and never an empty listing."""
    proxy.spare()
    proxy.choose = lambda *_: unheard(Reply(200, body))
    error = _fails(_stub(proxy.url))

    assert isinstance(error, DestinationUnavailable)


def test_a_hang_ends(proxy: FaultProxy) -> None:
    """A request that is taken and never answered ends in an error that may be tried again."""
    proxy.spare()
    proxy.choose = lambda *_: hang

    assert isinstance(_fails(_stub(proxy.url), _put, DEAF), DestinationUnavailable)


@pytest.fixture(scope="module")
def proxy() -> Iterator[FaultProxy]:
    """Run a proxy before nothing: every answer is made up."""
    with run_fault_proxy(f"http://127.0.0.1:{free_port()}") as proxy:
        yield proxy


def _stub(endpoint_url: str) -> S3DestinationSettings:
    return S3DestinationSettings(
        "lake",
        "events/",
        "{partition}",
        endpoint_url=endpoint_url,
        access_key=Secret(ACCESS_KEY),
        secret_key=Secret(SECRET_KEY),
        session_token=Secret(TOKEN),
    )


def _answer(proxy: FaultProxy, status: int, code: str, message: str = "it is so") -> None:
    proxy.spare()
    told = s3_error(status, code, message)
    proxy.choose = lambda _, asked: unheard(Reply(status) if asked.method == "HEAD" else told)
