"""The SDK's errors and the store's codes, turned into Rivet's by one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from botocore import exceptions as sdk
from botocore.parsers import ResponseParserError

from rivet.errors import (
    DestinationDenied,
    DestinationError,
    DestinationUnavailable,
    IntegrityError,
    ObjectNotFound,
    RivetError,
)


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What an error means to the user."""

    kind: Callable[..., RivetError]
    text: str
    hint: str | None = None


_BUCKET = _Meaning(
    DestinationDenied,
    "there is no such bucket",
    "create the bucket, or correct bucket, region or endpoint_url",
)
_KEY = _Meaning(
    DestinationDenied, "the store does not know the access key", "correct the access key, or endpoint_url"
)
_SECRET = _Meaning(DestinationDenied, "the secret key does not fit the access key", "correct the secret key")
_RIGHTS = _Meaning(
    DestinationDenied,
    "the credentials lack the right",
    "grant s3:ListBucket, s3:GetObject, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload there",
)
_EXPIRED = _Meaning(DestinationDenied, "the credentials have expired", "renew them, then run again")
_TOKEN = _Meaning(
    DestinationDenied, "the session token is not valid", "give the token that belongs to the access key"
)
_CLOCK = _Meaning(
    DestinationDenied, "this machine's clock differs from the store's", "set the clock, best by NTP"
)
_REGION = _Meaning(DestinationDenied, "the bucket is in another region", "set region to the bucket's own")
_ACL = _Meaning(
    DestinationError, "the bucket takes no ACL", "leave acl out, or allow ACLs (Object Ownership) there"
)
_CLASS = _Meaning(
    DestinationError, "the store has no such storage class", "correct storage_class, or leave it out"
)
_CRYPT = _Meaning(
    DestinationError, "the store does not encrypt so", "correct server_side_encryption and kms_key_id"
)
_KMS = _Meaning(
    DestinationDenied,
    "the KMS key cannot be used",
    "enable the key, and grant kms:GenerateDataKey and kms:Decrypt on it",
)
_ARCHIVED = _Meaning(
    DestinationError, "the object is archived", "restore it, and keep the export out of archiving classes"
)
_SLOW = _Meaning(DestinationUnavailable, "the store asks for fewer requests", "run again later")
_FAILED = _Meaning(DestinationUnavailable, "the store failed", "run again later")
_FULL = _Meaning(DestinationUnavailable, "the store has no room left", "raise the quota or make room there")
_DAMAGED = _Meaning(IntegrityError, "other bytes arrived than were sent", "run again; look at the network")
_GONE = _Meaning(ObjectNotFound, "no such object")
_UNABLE = _Meaning(
    DestinationError, "the store does not offer this", "leave out acl, storage_class and encryption settings"
)

_BY_CODE: dict[str, _Meaning] = {
    "NoSuchBucket": _BUCKET,
    "InvalidBucketName": _BUCKET,
    "InvalidAccessKeyId": _KEY,
    "SignatureDoesNotMatch": _SECRET,
    "AccessDenied": _RIGHTS,
    "AllAccessDisabled": _RIGHTS,
    "AccountProblem": _RIGHTS,
    "InvalidSecurity": _RIGHTS,
    "Forbidden": _RIGHTS,
    "Unauthorized": _RIGHTS,
    "ExpiredToken": _EXPIRED,
    "ExpiredTokenException": _EXPIRED,
    "TokenRefreshRequired": _EXPIRED,
    "InvalidToken": _TOKEN,
    "RequestTimeTooSkewed": _CLOCK,
    "RequestExpired": _CLOCK,
    "PermanentRedirect": _REGION,
    "AuthorizationHeaderMalformed": _REGION,
    "IllegalLocationConstraintException": _REGION,
    "InvalidRegion": _REGION,
    "AccessControlListNotSupported": _ACL,
    "MalformedACLError": _ACL,
    "InvalidStorageClass": _CLASS,
    "InvalidEncryptionAlgorithmError": _CRYPT,
    "ServerSideEncryptionConfigurationNotFoundError": _CRYPT,
    "InvalidObjectState": _ARCHIVED,
    "SlowDown": _SLOW,
    "SlowDownRead": _SLOW,
    "SlowDownWrite": _SLOW,
    "ServiceUnavailable": _SLOW,
    "Throttling": _SLOW,
    "ThrottlingException": _SLOW,
    "RequestLimitExceeded": _SLOW,
    "BandwidthLimitExceeded": _SLOW,
    "TooManyRequests": _SLOW,
    "InternalError": _FAILED,
    "RequestTimeout": _FAILED,
    "OperationAborted": _FAILED,
    "ConditionalRequestConflict": _FAILED,
    "TemporaryRedirect": _FAILED,
    "QuotaExceeded": _FULL,
    "ServiceQuotaExceeded": _FULL,
    "InsufficientStorage": _FULL,
    "XMinioStorageFull": _FULL,
    "XMinioAdminBucketQuotaExceeded": _FULL,
    "BadDigest": _DAMAGED,
    "IncompleteBody": _DAMAGED,
    "XAmzContentSHA256Mismatch": _DAMAGED,
    "NoSuchKey": _GONE,
    "NoSuchUpload": _GONE,
    "PreconditionFailed": _GONE,
    "NotImplemented": _UNABLE,
}
_BY_STATUS: dict[int, _Meaning] = {
    301: _REGION,
    307: _FAILED,
    401: _RIGHTS,
    403: _RIGHTS,
    404: _GONE,
    408: _FAILED,
    412: _GONE,
    429: _SLOW,
    501: _UNABLE,
    503: _SLOW,
    507: _FULL,
}

_UNTRUSTED = _Meaning(
    DestinationDenied,
    "its certificate is not trusted",
    "name the file of its authority in ca_file; and endpoint_url must have the name in the certificate",
)
_PLAIN = _Meaning(
    DestinationDenied, "it does not speak TLS", "write http:// in endpoint_url, or the right port"
)
_UNREACHABLE = _Meaning(
    DestinationUnavailable, "it cannot be reached", "check endpoint_url and the network, then run again"
)
_SILENT = _Meaning(DestinationUnavailable, "it did not answer in time", "check the network, then run again")
_CUT = _Meaning(
    DestinationUnavailable,
    "the connection was cut",
    "check the network, and whether endpoint_url wants http:// or https://, then run again",
)
_GARBLED = _Meaning(
    DestinationUnavailable, "the answer is not one of S3", "check that endpoint_url is an S3 endpoint"
)
_NONE = _Meaning(
    DestinationDenied,
    "no credentials were found",
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_ENDPOINT_URL_S3 for a store that is not AWS; "
    "or in a config, which --config names, access_key_env and secret_key_env, or a profile",
)
_CHAIN = _Meaning(DestinationDenied, "the credentials cannot be had", "log in again, or correct the profile")
_STATED = _Meaning(DestinationError, "the settings do not fit", "correct bucket, region or endpoint_url")

# The first that fits counts.
_BY_CLASS: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], _Meaning], ...] = (
    ((sdk.NoCredentialsError, sdk.PartialCredentialsError), _NONE),
    (
        (
            sdk.CredentialRetrievalError,
            sdk.MetadataRetrievalError,
            sdk.ProfileNotFound,
            sdk.ConfigNotFound,
            sdk.ConfigParseError,
            sdk.InvalidConfigError,
            sdk.NoAuthTokenError,
            sdk.SSOError,
            sdk.TokenRetrievalError,
            sdk.RefreshWithMFAUnsupportedError,
            sdk.UnknownCredentialError,
        ),
        _CHAIN,
    ),
    ((sdk.ConnectTimeoutError, sdk.ReadTimeoutError), _SILENT),
    ((sdk.EndpointConnectionError, sdk.ProxyConnectionError), _UNREACHABLE),
    ((ResponseParserError,), _GARBLED),
    ((sdk.HTTPClientError, sdk.ConnectionError, sdk.IncompleteReadError, OSError), _CUT),
)


class Translator:
    """Turns errors on one bucket into Rivet's, none of which shows a secret.

    Args:
        secrets: Texts that are taken out of what the store says.
    """

    def __init__(self, uri: str, endpoint: Callable[[], str], secrets: tuple[str, ...]) -> None:
        self._uri = uri
        self._endpoint = endpoint
        self._secrets = secrets

    @contextmanager
    def translated(self, action: str, key: str = "") -> Iterator[None]:
        """Raise the SDK's errors in the block as Rivet's, naming bucket and endpoint."""
        try:
            yield
        except (sdk.ClientError, sdk.BotoCoreError, ResponseParserError, OSError, ValueError) as exc:
            raise self._error(action, key, exc) from exc

    def error(self, kind: Callable[..., RivetError], action: str, key: str, text: str) -> RivetError:
        """Make an error of Rivet's own about a key."""
        return kind(f"cannot {action} {self._uri + key!r} at {_shown(self._endpoint())}: {text}")

    def garbled(self, action: str, key: str) -> RivetError:
        """Make the error of an answer that lacks what every such answer has."""
        error = self.error(_GARBLED.kind, action, key, _GARBLED.text)
        error.hint = _GARBLED.hint
        return error

    def _error(self, action: str, key: str, exc: Exception) -> RivetError:
        meaning, said = _meaning(exc)
        for secret in self._secrets:
            said = said.replace(secret, "***")
        error = self.error(meaning.kind, action, key, f"{meaning.text}{said and f' ({said})'}")
        error.hint = _region_hint(exc) if meaning is _REGION else meaning.hint
        return error


def code_of(exc: BaseException | None) -> str:
    """Give the store's code for what an error of Rivet's was raised from, or nothing."""
    return str(exc.response.get("Error", {}).get("Code", "")) if isinstance(exc, sdk.ClientError) else ""


def _meaning(exc: Exception) -> tuple[_Meaning, str]:
    """Give what an error means, and what the store or the SDK says of it in one line."""
    if isinstance(exc, sdk.ClientError):
        error = exc.response.get("Error", {})
        code, message = code_of(exc), " ".join(str(error.get("Message", "")).split())
        said = f"{code}: {message}" if message and message != code else code
        return _by_code(code, _status(exc)), said
    if isinstance(exc, sdk.SSLError):
        return _of_tls(str(exc)), ""
    for classes, meaning in _BY_CLASS:
        if isinstance(exc, classes):
            return meaning, " ".join(str(exc).split())
    return _STATED, " ".join(str(exc).split())


def _by_code(code: str, status: int) -> _Meaning:
    if code in _BY_CODE:
        return _BY_CODE[code]
    if code.startswith("KMS."):
        return _KMS
    # Answers to HEAD have no body, and the SDK then tells the status as the code.
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:
        return _FAILED
    return _Meaning(DestinationError, "the store refused", None)


def _status(exc: sdk.ClientError) -> int:
    return int(exc.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _of_tls(text: str) -> _Meaning:
    if "CERTIFICATE_VERIFY_FAILED" in text or "doesn't match" in text:
        return _UNTRUSTED
    return _PLAIN if "WRONG_VERSION_NUMBER" in text or "RECORD_LAYER" in text else _CUT


def _region_hint(exc: Exception) -> str | None:
    response: dict[str, Any] = exc.response if isinstance(exc, sdk.ClientError) else {}
    headers = response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    region = response.get("Error", {}).get("Region") or headers.get("x-amz-bucket-region")
    return f"set region: {region}" if region else _REGION.hint


def _shown(endpoint: str) -> str:
    """Give a URL without what stands before the host, which may be a password."""
    parts = urlsplit(endpoint)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
