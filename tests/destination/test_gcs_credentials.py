"""Where Google Cloud Storage is asked, with which credentials, and what is never asked of Google."""

from __future__ import annotations

import base64
import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn, cast

import aiohttp
import google.auth
import google.auth.exceptions
import pytest
import requests
from aiohttp import ClientError
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from gcsfs.retry import HttpError
from google.auth.exceptions import GoogleAuthError, RefreshError, TransportError

from rivet.config.settings import GcsDestinationSettings
from rivet.destination.gcs.connection import GcsConnection
from rivet.destination.gcs.destination import GcsDestination
from rivet.destination.gcs.endpoint import ANONYMOUS, credentials_of, endpoint_of
from rivet.destination.gcs.refusals import EXPECTED, exception_error
from rivet.destination.store.retrying import PATIENCE
from rivet.errors import DestinationDenied
from tests.destination.stores import names
from tests.servers.faults import Asked, Fault, FaultProxy, Reply, unheard
from tests.servers.gcs import GcsBucket

# They have no types.
_refresh, _transport = cast("Any", (RefreshError, TransportError))
BUCKET = GcsDestinationSettings("lake", "root/", "{partition}")


@pytest.fixture(autouse=True)
def _no_google(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let nothing go to Google, and nothing of the machine's own credentials be found."""

    def refuse(_: object, method: str, url: str, **__: object) -> NoReturn:
        raise AssertionError(f"{method} {url}")

    monkeypatch.setattr(requests.Session, "request", refuse)
    monkeypatch.setattr("google.auth.compute_engine._metadata.is_on_gce", lambda **_: False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path / "gcloud"))
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "STORAGE_EMULATOR_HOST", "GOOGLE_CLOUD_UNIVERSE_DOMAIN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def key() -> str:
    """Make a private key in PEM."""
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


@pytest.fixture
def service_account(tmp_path: Path, key: str) -> Path:
    """Write the file of a service account's key."""
    file = tmp_path / "key.json"
    told = {
        "type": "service_account",
        "project_id": "lake-project",
        "private_key_id": "1",
        "private_key": key,
        "client_email": "rivet@lake-project.iam.gserviceaccount.com",
        "token_uri": "https://oauth2.googleapis.com/token",
    }
    file.write_text(json.dumps(told))
    return file


@pytest.mark.parametrize(
    ("stated", "variable", "expected"),
    [
        (None, None, None),
        (None, "", None),
        (None, "default", None),
        (None, "localhost:4443", "http://localhost:4443"),
        (None, "https://emulator:4443/", "https://emulator:4443"),
        ("http://here:1/", "http://there:2", "http://here:1"),
    ],
)
def test_where_requests_go(
    monkeypatch: pytest.MonkeyPatch, stated: str | None, variable: str | None, expected: str | None
) -> None:
    """The config's endpoint comes first, then STORAGE_EMULATOR_HOST with or without a scheme, then Google."""
    if variable is not None:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", variable)

    assert endpoint_of(replace(BUCKET, endpoint_url=stated)) == expected


def test_an_emulator_of_the_environment_is_used(
    gcs_bucket: GcsBucket, gcs_proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With STORAGE_EMULATOR_HOST alone everything goes there, large objects too, without credentials."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", gcs_proxy.url.removeprefix("http://"))
    monkeypatch.setattr("rivet.destination.store.staged.SMALL_BYTES", 512 * 1024)
    seen: list[Asked] = []
    gcs_proxy.choose = lambda _, asked: seen.append(asked)
    run_id = "20230102T030405Z-0123abcd"
    with closing(GcsDestination(replace(BUCKET, bucket=gcs_bucket.name))) as destination:
        staged = destination.stage(f"events__1_{run_id}_0.parquet", run_id)
        staged.write(bytes(2_000_000))
        staged.finish()
        destination.publish([staged])
        assert len(names(destination)) == 1

    assert len(seen) == 7  # one to begin, four pieces, the end, a listing
    assert not any("Authorization" in asked.headers for asked in seen)


def test_an_endpoint_that_is_no_google_needs_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind an endpoint nobody is asked who we are, though credentials lie ready."""
    monkeypatch.setattr(google.auth, "default", lambda **_: pytest.fail("Google's library was asked"))

    assert credentials_of(BUCKET, "http://127.0.0.1:4443") == ANONYMOUS
    assert credentials_of(replace(BUCKET, anonymous=True), None) == ANONYMOUS


@pytest.mark.parametrize("endpoint", [None, "https://storage.me-central2.rep.googleapis.com"])
def test_google_gets_the_default_credentials(monkeypatch: pytest.MonkeyPatch, endpoint: str | None) -> None:
    """Google's own endpoints, those of regions too, get the application's default credentials."""
    found = object()
    monkeypatch.setattr(google.auth, "default", lambda **_: (found, None))

    assert credentials_of(BUCKET, endpoint) is found


def test_no_default_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without any credentials the mend is told, exit 2; so is a file that the environment names in vain."""
    with pytest.raises(DestinationDenied, match=r"gs://lake/root/.*credentials were not found") as raised:
        GcsDestination(BUCKET)
    assert raised.value.exit_code == 2
    assert "gcloud auth application-default login" in str(raised.value.hint)

    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    with pytest.raises(DestinationDenied, match=r"none\.json"):
        GcsDestination(BUCKET)


def test_a_service_account_signs_for_itself_behind_an_endpoint(
    gcs_bucket: GcsBucket, gcs_proxy: FaultProxy, service_account: Path
) -> None:
    """Credentials of a file go to the endpoint, signed here: Google is not asked for a token."""
    seen: list[Asked] = []
    gcs_proxy.choose = lambda _, asked: seen.append(asked)
    settings = replace(gcs_bucket.at(gcs_proxy.url).settings("root/"), anonymous=False)
    with closing(GcsDestination(replace(settings, credentials_file=service_account))) as destination:
        assert names(destination) == []

    scheme, token = seen[0].headers["authorization"].split()
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    assert (scheme, claims["iss"]) == ("Bearer", "rivet@lake-project.iam.gserviceaccount.com")
    assert claims["scope"].endswith("devstorage.read_write")


def test_a_service_account_asks_google_for_a_token(service_account: Path) -> None:
    """At Google the same file is exchanged for a token, and the error of that names no key."""
    settings = replace(BUCKET, credentials_file=service_account)
    connection = GcsConnection(settings, PATIENCE)
    with (
        closing(connection),
        pytest.raises(AssertionError, match=r"POST https://oauth2\.googleapis\.com/token"),
    ):
        connection._sdk.credentials.apply({})


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "null",
        "{}",
        '{"type": "service_account"}',
        '{"type": "unheard of", "private_key": "s3cret"}',
        '{"type": "authorized_user", "client_secret": "s3cret"}',
        '{"type": "service_account", "client_email": "a@b", "token_uri": "x", "private_key": "s3cret"}',
        "s3cret",
        "\x00\xff",
    ],
)
@pytest.mark.parametrize("endpoint", [None, "http://127.0.0.1:1"])
def test_a_file_that_holds_no_credentials(tmp_path: Path, content: str, endpoint: str | None) -> None:
    """A file of any other content is refused by name, and nothing of what it holds is told."""
    file = tmp_path / "key.json"
    file.write_text(content, encoding="latin-1")
    with pytest.raises(DestinationDenied, match=r"key\.json") as raised:
        GcsDestination(replace(BUCKET, credentials_file=file, endpoint_url=endpoint))

    assert "s3cret" not in f"{raised.value} {raised.value.hint}"
    assert raised.value.hint is not None


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """A file that is gone since the config was read is named."""
    with pytest.raises(DestinationDenied, match=r"gone\.json.*No such file"):
        GcsDestination(replace(BUCKET, credentials_file=tmp_path / "gone.json"))


def test_who_pays_is_named_where_the_bucket_wants_it(gcs_bucket: GcsBucket, gcs_proxy: FaultProxy) -> None:
    """`project` is told to a bucket whose requester pays, once it has said so, and to no other."""
    wants = unheard(
        Reply(
            400, b'{"error": {"message": "Bucket is a requester pays bucket but no user project provided."}}'
        )
    )

    def choose(_: int, asked: Asked) -> Fault | None:
        return None if "userProject=payer" in asked.path else wants

    settings = replace(gcs_bucket.at(gcs_proxy.url).settings("root/"), project="payer")
    with closing(GcsDestination(settings)) as destination:
        destination.put("p", b"rows")
        assert "userProject" not in gcs_proxy.asked[0][1]
        gcs_proxy.choose = choose
        destination.put("p", b"more rows")
        assert names(destination) == ["p"]
    assert len(gcs_proxy.asked) == 4


@pytest.mark.parametrize(
    ("raised", "kind", "text"),
    [
        (
            _refresh("invalid_grant: Invalid JWT: Token must be a short-lived token", {"e": "s3cret"}),
            2,
            "JWT",
        ),
        (_refresh("later", retryable=True), 3, "gives tokens"),
        (_transport("Max retries exceeded"), 3, "gives tokens"),
    ],
)
def test_what_gives_tokens_fails(raised: Exception, kind: int, text: str) -> None:
    """Tokens that are refused, for a clock that is wrong too, want a mend; a server that fails a new run."""
    error = exception_error("cannot list 'gs://lake/' at x", raised)

    assert (error.exit_code, text in str(error)) == (kind, True)
    assert error.hint is not None
    assert "s3cret" not in str(error)


def test_every_exception_has_a_meaning() -> None:
    """Whatever the SDK and its client raise, and what is derived from it, is told as Rivet's error."""
    raised = [*_classes(aiohttp.client_exceptions), *_classes(google.auth.exceptions), HttpError]
    told = [found for found in raised if issubclass(found, (ClientError, GoogleAuthError, HttpError))]

    assert len(told) > 20
    assert [found for found in told if not issubclass(found, EXPECTED)] == []


def _classes(module: ModuleType) -> list[type]:
    return [found for found in vars(module).values() if isinstance(found, type)]
