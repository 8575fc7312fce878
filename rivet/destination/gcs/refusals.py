"""What the SDK raises and what Google Cloud Storage answers, turned into Rivet's errors by tables."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Self

import aiohttp
from gcsfs.retry import HttpError, NonRetryableError
from google.auth.exceptions import GoogleAuthError, RefreshError, TransportError

from rivet.errors import DestinationDenied, DestinationError, DestinationUnavailable, IntegrityError

_AGAIN = "run again later"
_REACH = "check endpoint_url and the network, then run again"
_PROXY = "check HTTPS_PROXY and NO_PROXY"
NO_GOOGLE = "check that Google Cloud Storage answers at endpoint_url, then run again"


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What an error means to the user."""

    kind: type[DestinationError | IntegrityError]
    text: str
    hint: str | None


_BUCKET = _Meaning(
    DestinationDenied, "there is no such bucket", "create the bucket, or correct bucket or endpoint_url"
)
_CREDENTIALS = _Meaning(
    DestinationDenied,
    "the credentials are not accepted",
    "renew them by gcloud auth application-default login, or correct credentials_file or the machine's clock",
)
_RIGHTS = _Meaning(
    DestinationDenied,
    "the credentials lack the right",
    "grant the account the role roles/storage.objectUser on the bucket",
)
_ANONYMOUS = _Meaning(
    DestinationDenied,
    "requests without credentials are refused",
    "set credentials_file or leave anonymous out, or open the bucket to all",
)
_BILLING = _Meaning(
    DestinationDenied, "the bucket's project is not billed", "mend the billing of the project"
)
_RETENTION = _Meaning(
    DestinationDenied,
    "the bucket keeps objects from being replaced",
    "take its retention policy or the object's hold away, or export elsewhere",
)
_PAYER = _Meaning(
    DestinationDenied,
    "the bucket wants a project that pays for requests",
    "set project to one that may be billed",
)
_NOT_PAYER = _Meaning(
    DestinationDenied,
    "the credentials may not bill the project",
    "grant the account the role roles/serviceusage.serviceUsageConsumer on it, or correct project",
)
_SLOW = _Meaning(DestinationUnavailable, "the store asks for fewer requests", _AGAIN)
_QUOTA = _Meaning(DestinationUnavailable, "a quota is used up", "raise the quota, or run again later")
_FAILED = _Meaning(DestinationUnavailable, "the store failed", _AGAIN)
_DAMAGED = _Meaning(IntegrityError, "other bytes arrived than were sent", "run again; look at the network")
_DISGUISED = _Meaning(DestinationUnavailable, "the answer is not one of Google Cloud Storage", NO_GOOGLE)
_ELSEWHERE = _Meaning(DestinationError, "the server sends us elsewhere", "correct endpoint_url")
_REFUSED = _Meaning(DestinationError, "the store refused", None)
_TOKEN_SERVER = _Meaning(
    DestinationUnavailable, "the server that gives tokens fails", "check the network, then run again"
)

# https://cloud.google.com/storage/docs/json_api/v1/status-codes: a status by its reason where it has several.
_BY_REASON = {
    "rateLimitExceeded": _SLOW,
    "userRateLimitExceeded": _SLOW,
    "quotaExceeded": _QUOTA,
    "dailyLimitExceeded": _QUOTA,
    "accountDisabled": _BILLING,
    "billingNotEnabled": _BILLING,
    "retentionPolicyNotMet": _RETENTION,
    "objectUnderActiveHold": _RETENTION,
    "userProjectMissing": _PAYER,
    "userProjectAccessDenied": _NOT_PAYER,
}
_BY_STATUS = {
    401: _CREDENTIALS,
    403: _RIGHTS,
    404: _BUCKET,
    407: _Meaning(DestinationDenied, "the proxy refuses", _PROXY),
    408: _FAILED,
    409: _FAILED,
    410: _FAILED,
    412: _FAILED,
    429: _SLOW,
}

# The first whose class fits counts.
_BY_CLASS: tuple[tuple[type[BaseException], _Meaning], ...] = (
    (
        aiohttp.ClientConnectorCertificateError,
        _Meaning(
            DestinationDenied,
            "its certificate is not trusted",
            "let SSL_CERT_FILE name its authority; and endpoint_url must have the name in the certificate",
        ),
    ),
    (
        aiohttp.ClientSSLError,
        _Meaning(
            DestinationDenied, "it does not speak TLS", "write http:// in endpoint_url, or the right port"
        ),
    ),
    (
        aiohttp.ClientProxyConnectionError,
        _Meaning(DestinationUnavailable, "the proxy is not reached", f"{_PROXY}, then run again"),
    ),
    (aiohttp.ClientHttpProxyError, _Meaning(DestinationDenied, "the proxy refuses", _PROXY)),
    (aiohttp.ClientConnectorError, _Meaning(DestinationUnavailable, "it cannot be reached", _REACH)),
    (asyncio.TimeoutError, _Meaning(DestinationUnavailable, "it did not answer in time", _REACH)),
    (aiohttp.ClientConnectionError, _Meaning(DestinationUnavailable, "the connection was cut", _REACH)),
    (aiohttp.ClientPayloadError, _Meaning(DestinationUnavailable, "the answer was cut short", _REACH)),
    (aiohttp.InvalidURL, _Meaning(DestinationError, "this is no URL", "correct endpoint_url")),
    (aiohttp.ClientError, _DISGUISED),
    (TransportError, _TOKEN_SERVER),
    (GoogleAuthError, _CREDENTIALS),
    (NonRetryableError, _CREDENTIALS),
    (HttpError, _CREDENTIALS),
)
EXPECTED = tuple(kind for kind, _ in _BY_CLASS)
_LONGEST_TEXT = 300


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer with an error.

    Attributes:
        text: In the server's words, one line.
        reason: Google's own word for it, such as `quotaExceeded`; empty where there is none.
    """

    status: int
    text: str
    reason: str

    @classmethod
    def of(cls, status: int, body: bytes) -> Self:
        """Read an answer, whoever on the way has written it.

        >>> Refusal.of(429, b'{"error": {"message": "Slow.", "errors": [{"reason": "rateLimitExceeded"}]}}')
        Refusal(status=429, text='Slow.', reason='rateLimitExceeded')
        """
        text: object = body.decode(errors="replace")
        reason: object = ""
        try:
            error = json.loads(body)["error"]
            text = error if isinstance(error, str) else error["message"]
            reason = error["errors"][0]["reason"]
        except (ValueError, LookupError, TypeError):
            pass  # not in Google's form, or only so far
        return cls(status, _one_line(text), reason if isinstance(reason, str) else "")

    @property
    def misses_bucket(self) -> bool:
        """Tell whether it is the bucket that is not there."""
        return self.status == 404 and "bucket does not exist" in self.text

    @property
    def wants_payer(self) -> bool:
        """Tell whether a project must be named that pays for the request."""
        return self.status == 400 and "requester pays" in self.text.lower()

    def error(self, failed: str, *, is_anonymous: bool) -> DestinationError | IntegrityError:
        """Make Rivet's error of it.

        Args:
            failed: What could not be done, and where.
        """
        meaning = _BY_REASON.get(self.reason) or _BY_STATUS.get(self.status) or _other(self.status)
        if self.status == 400 and "doesn't match calculated" in self.text:  # of the MD5 that was sent along
            meaning = _DAMAGED
        if is_anonymous and self.status in {401, 403} and meaning in {_CREDENTIALS, _RIGHTS}:
            meaning = _ANONYMOUS
        said = f"{self.status}: {self.text}" if self.text else f"{self.status}"
        return meaning.kind(f"{failed}: {meaning.text} ({said})", hint=meaning.hint)


def exception_error(failed: str, exc: BaseException) -> DestinationError | IntegrityError:
    """Make Rivet's error of one of the `EXPECTED` exceptions.

    Args:
        failed: What could not be done, and where.
    """
    if isinstance(exc, HttpError) and isinstance(exc.__cause__, RefreshError):
        exc = exc.__cause__  # the SDK hides what the server that gives tokens has said
    meaning = next(meaning for kind, meaning in _BY_CLASS if isinstance(exc, kind))
    if isinstance(exc, RefreshError) and exc.retryable:
        meaning = _TOKEN_SERVER
    said = _said(exc)
    return meaning.kind(f"{failed}: {meaning.text}" + (f" ({said})" if said else ""), hint=meaning.hint)


def _said(exc: BaseException) -> str:
    """Give an exception's own words, without what is nobody's business."""
    if isinstance(exc, aiohttp.InvalidURL):  # a password may stand in it
        return ""
    if isinstance(exc, aiohttp.ClientResponseError):  # else with the URL of an upload, which is a key to it
        return _one_line(exc.message)
    if isinstance(exc, GoogleAuthError) and exc.args:  # then follows the whole answer of who gives tokens
        return _one_line(exc.args[0])
    return _one_line(exc)


def _one_line(text: object) -> str:
    return " ".join(str(text).split())[:_LONGEST_TEXT]


def _other(status: int) -> _Meaning:
    if status >= 500:
        return _FAILED
    if status >= 400:
        return _REFUSED
    return _ELSEWHERE if status >= 300 else _DISGUISED
