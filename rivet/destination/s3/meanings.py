"""What the SDK's errors and the store's codes mean to people: one table."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from botocore import exceptions as sdk
from botocore.parsers import ResponseParserError
from urllib3.exceptions import HTTPError as TransportError

from rivet.errors import (
    DestinationDenied,
    DestinationError,
    DestinationUnavailable,
    IntegrityError,
    ObjectNotFound,
    RivetError,
)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What an error means to the user."""

    kind: Callable[..., RivetError]
    text: str
    hint: str | None = None


BUCKET = Meaning(
    DestinationDenied,
    "there is no such bucket",
    "create the bucket, or correct bucket, region or endpoint_url",
)
_KEY = Meaning(
    DestinationDenied, "the store does not know the access key", "correct the access key, or endpoint_url"
)
_SECRET = Meaning(DestinationDenied, "the secret key does not fit the access key", "correct the secret key")
_RIGHTS = Meaning(
    DestinationDenied,
    "the credentials lack the right",
    "grant s3:ListBucket, s3:GetObject, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload there",
)
_EXPIRED = Meaning(DestinationDenied, "the credentials have expired", "renew them, then run again")
_TOKEN = Meaning(
    DestinationDenied, "the session token is not valid", "give the token that belongs to the access key"
)
_CLOCK = Meaning(
    DestinationDenied, "this machine's clock differs from the store's", "set the clock, best by NTP"
)
REGION = Meaning(DestinationDenied, "the bucket is in another region", "set region to the bucket's own")
_ACL = Meaning(
    DestinationError, "the bucket takes no ACL", "leave acl out, or allow ACLs (Object Ownership) there"
)
_CLASS = Meaning(
    DestinationError, "the store has no such storage class", "correct storage_class, or leave it out"
)
_CRYPT = Meaning(
    DestinationError, "the store does not encrypt so", "correct server_side_encryption and kms_key_id"
)
_KMS = Meaning(
    DestinationDenied,
    "the KMS key cannot be used",
    "enable the key, and grant kms:GenerateDataKey and kms:Decrypt on it",
)
_ARCHIVED = Meaning(
    DestinationError, "the object is archived", "restore it, and keep the export out of archiving classes"
)
_SLOW = Meaning(DestinationUnavailable, "the store asks for fewer requests", "run again later")
_FAILED = Meaning(DestinationUnavailable, "the store failed", "run again later")
_FULL = Meaning(DestinationUnavailable, "the store has no room left", "raise the quota or make room there")
_DAMAGED = Meaning(IntegrityError, "other bytes arrived than were sent", "run again; look at the network")
_GONE = Meaning(ObjectNotFound, "no such object")
_ELSEWHERE = Meaning(DestinationError, "the server sends us elsewhere", "correct endpoint_url")
_PROXY = Meaning(DestinationDenied, "the proxy refuses", "check HTTPS_PROXY and NO_PROXY")
_UNABLE = Meaning(
    DestinationError, "the store does not offer this", "leave out acl, storage_class and encryption settings"
)

_BY_CODE: dict[str, Meaning] = {
    "NoSuchBucket": BUCKET,
    "InvalidBucketName": BUCKET,
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
    "PermanentRedirect": REGION,
    "AuthorizationHeaderMalformed": REGION,
    "IllegalLocationConstraintException": REGION,
    "InvalidRegion": REGION,
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
_BY_STATUS: dict[int, Meaning] = {
    301: REGION,
    307: _FAILED,
    401: _RIGHTS,
    403: _RIGHTS,
    404: _GONE,
    407: _PROXY,
    408: _FAILED,
    412: _GONE,
    429: _SLOW,
    501: _UNABLE,
    503: _SLOW,
    507: _FULL,
}

# What the system and its TLS say of a file, not of a server.
_NO_AUTHORITIES = re.compile(r"No such file|Is a dir|Not a dir|Permission denied|\[X509|NO_CERTIFICATE")
_UNTRUSTED = Meaning(
    DestinationDenied,
    "its certificate is not trusted",
    "name the file of its authority in ca_file; and endpoint_url must have the name in the certificate",
)
_PLAIN = Meaning(
    DestinationDenied, "it does not speak TLS", "write http:// in endpoint_url, or the right port"
)
_UNREACHABLE = Meaning(
    DestinationUnavailable, "it cannot be reached", "check endpoint_url and the network, then run again"
)
_SILENT = Meaning(DestinationUnavailable, "it did not answer in time", "check the network, then run again")
_CUT = Meaning(
    DestinationUnavailable,
    "the connection was cut",
    "check the network, and whether endpoint_url wants http:// or https://, then run again",
)
GARBLED = Meaning(
    DestinationUnavailable, "the answer is not one of S3", "check that endpoint_url is an S3 endpoint"
)
_NONE = Meaning(
    DestinationDenied,
    "no credentials were found",
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_ENDPOINT_URL_S3 for a store that is not AWS; "
    "or in a config, which --config names, access_key_env and secret_key_env, or a profile",
)
_CHAIN = Meaning(DestinationDenied, "the credentials cannot be had", "log in again, or correct the profile")
_AUTHORITIES = Meaning(
    DestinationDenied,
    "the file of the authorities to trust cannot be read",
    "correct ca_file, or AWS_CA_BUNDLE or REQUESTS_CA_BUNDLE",
)
_UNSENT = Meaning(
    DestinationDenied,
    "the credentials hold a character that no request can",
    "take the line break or blank out of the access key or the session token",
)
_STATED = Meaning(DestinationError, "the settings do not fit", "correct bucket, region or endpoint_url")

# The first that fits counts.
_BY_CLASS: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], Meaning], ...] = (
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
    ((RuntimeError,), _EXPIRED),
    ((ResponseParserError,), GARBLED),
    ((sdk.HTTPClientError, sdk.ConnectionError, sdk.IncompleteReadError, TransportError, OSError), _CUT),
)


def code_of(exc: BaseException | None) -> str:
    """Give the store's code for what an error of Rivet's was raised from, or nothing."""
    return str(exc.response.get("Error", {}).get("Code", "")) if isinstance(exc, sdk.ClientError) else ""


def is_of_renewal(exc: RuntimeError) -> bool:
    """Tell whether this is the SDK's own error of credentials that have expired when its chain gives them."""
    return "credentials are still expired" in str(exc)


def meaning_of(exc: Exception) -> tuple[Meaning, str]:
    """Give what an error means, and what the store or the SDK says of it in one line."""
    if isinstance(exc, sdk.ClientError):
        error = exc.response.get("Error", {})
        code, message = code_of(exc), " ".join(str(error.get("Message", "")).split())
        said = f"{code}: {message}" if message and message != code else code
        return _by_code(code, _status(exc)), said
    if isinstance(exc, sdk.SSLError):
        return _of_tls(str(exc)), ""
    if isinstance(exc, sdk.HTTPClientError) and "Invalid header value" in str(exc):  # and shows it
        return _UNSENT, ""
    for classes, meaning in _BY_CLASS:
        if isinstance(exc, classes):
            return meaning, " ".join(str(exc).split())
    return _STATED, " ".join(str(exc).split())


def _by_code(code: str, status: int) -> Meaning:
    if code in _BY_CODE:
        return _BY_CODE[code]
    if code.startswith("KMS."):
        return _KMS
    # Answers to HEAD have no body, and the SDK then tells the status as the code.
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:
        return _FAILED
    if 300 <= status < 400:
        return _ELSEWHERE
    return Meaning(DestinationError, "the store refused", None)


def _status(exc: sdk.ClientError) -> int:
    return int(exc.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _of_tls(text: str) -> Meaning:
    if "CERTIFICATE_VERIFY_FAILED" in text or "doesn't match" in text:
        return _UNTRUSTED
    if _NO_AUTHORITIES.search(text):
        return _AUTHORITIES
    return _PLAIN if "WRONG_VERSION_NUMBER" in text or "RECORD_LAYER" in text else _CUT
