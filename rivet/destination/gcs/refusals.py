"""What the SDK raises and what Google Cloud Storage answers, turned into Rivet's errors by two tables."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Self

import aiohttp
from gcsfs.retry import HttpError, NonRetryableError
from google.auth.exceptions import GoogleAuthError, RefreshError, TransportError

from rivet.errors import DestinationDenied, DestinationError, DestinationUnavailable

Kind = type[DestinationError]

_AGAIN = "run again"
_REACH = "check `endpoint_url`, and that this machine reaches it, then run again"
_CREDENTIALS = (
    "check the credentials and this machine's clock: `gcloud auth application-default login`, "
    "or a valid `credentials_file`"
)
_TRUST = (
    "let SSL_CERT_FILE name the authority that signed the server's certificate, or correct `endpoint_url`"
)
_RIGHTS = "give the account the role roles/storage.objectUser on the bucket"
NO_GOOGLE = "check that Google Cloud Storage answers at `endpoint_url`, then run again"
_NO_BUCKET = "create the bucket, or correct `bucket` in the destination"

# The first whose class fits; what is more special stands before.
_BY_EXCEPTION: tuple[tuple[type[BaseException], Kind, str, str], ...] = (
    (aiohttp.ClientConnectorCertificateError, DestinationDenied, "its certificate is not trusted", _TRUST),
    (aiohttp.ClientSSLError, DestinationDenied, "no secure connection comes about", _TRUST),
    (
        aiohttp.ClientProxyConnectionError,
        DestinationUnavailable,
        "the proxy that the environment names is not reached",
        "check HTTPS_PROXY and NO_PROXY, then run again",
    ),
    (
        aiohttp.ClientHttpProxyError,
        DestinationDenied,
        "the proxy that the environment names refuses",
        "check HTTPS_PROXY and NO_PROXY",
    ),
    (aiohttp.ClientConnectorError, DestinationUnavailable, "it is not reached", _REACH),
    (asyncio.TimeoutError, DestinationUnavailable, "no answer came in time", _AGAIN),
    (aiohttp.ClientConnectionError, DestinationUnavailable, "the connection was cut", _AGAIN),
    (aiohttp.ClientPayloadError, DestinationUnavailable, "the answer was cut short", _AGAIN),
    (aiohttp.InvalidURL, DestinationError, "this is no URL", "correct `endpoint_url`"),
    (
        aiohttp.ClientResponseError,
        DestinationError,
        "it does not speak HTTP",
        "correct `endpoint_url`: its host, its port, and http or https",
    ),
    (aiohttp.ClientError, DestinationUnavailable, "the request failed", _AGAIN),
    (TransportError, DestinationUnavailable, "the server that gives tokens is not reached", _AGAIN),
    (GoogleAuthError, DestinationDenied, "the credentials give no token", _CREDENTIALS),
    (NonRetryableError, DestinationDenied, "the credentials give no token", _CREDENTIALS),
    (HttpError, DestinationDenied, "the credentials give no token", _CREDENTIALS),
)
EXPECTED = tuple(row[0] for row in _BY_EXCEPTION)

# https://cloud.google.com/storage/docs/json_api/v1/status-codes, by reason where one code says several.
_BY_REASON: dict[str, tuple[Kind, str]] = {
    "rateLimitExceeded": (DestinationUnavailable, _AGAIN),
    "userRateLimitExceeded": (DestinationUnavailable, _AGAIN),
    "quotaExceeded": (DestinationUnavailable, "raise the quota, or run again later"),
    "dailyLimitExceeded": (DestinationUnavailable, "raise the quota, or run again later"),
    "accountDisabled": (DestinationDenied, "mend the billing of the bucket's project"),
    "retentionPolicyNotMet": (
        DestinationDenied,
        "the bucket keeps objects from being replaced: take its retention policy away, or choose another",
    ),
    "objectUnderActiveHold": (DestinationDenied, "release the hold on the object, or choose another prefix"),
    "userProjectMissing": (DestinationDenied, "set `project`: it is billed for requests to this bucket"),
    "userProjectAccessDenied": (
        DestinationDenied,
        "give the account the role roles/serviceusage.serviceUsageConsumer on `project`",
    ),
}
_BY_STATUS: dict[int, tuple[Kind, str | None]] = {
    401: (DestinationDenied, _CREDENTIALS),
    403: (DestinationDenied, _RIGHTS),
    404: (DestinationDenied, _NO_BUCKET),
    407: (DestinationDenied, "check HTTPS_PROXY and NO_PROXY"),
    408: (DestinationUnavailable, _AGAIN),
    409: (DestinationUnavailable, _AGAIN),
    410: (DestinationUnavailable, _AGAIN),
    412: (DestinationUnavailable, _AGAIN),
    429: (DestinationUnavailable, _AGAIN),
}
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

    def error(self, failed: str, *, is_anonymous: bool) -> DestinationError:
        """Make Rivet's error of it.

        Args:
            failed: What could not be done, and where.
        """
        kind, hint = _BY_REASON.get(self.reason) or _BY_STATUS.get(self.status) or _other(self.status)
        if is_anonymous and self.status in {401, 403}:
            hint = "the requests are anonymous: set `credentials_file`, or open the bucket to all"
        text = "no such bucket" if self.status == 404 else self.text or "the server does not say why"
        return kind(f"{failed}: {text} ({self.status})", hint=hint)


def exception_error(failed: str, exc: BaseException) -> DestinationError:
    """Make Rivet's error of one of the `EXPECTED` exceptions.

    Args:
        failed: What could not be done, and where.
    """
    if isinstance(exc, HttpError) and isinstance(exc.__cause__, RefreshError):
        exc = exc.__cause__  # the SDK hides what the server that gives tokens has said
    kind, what, hint = next(row[1:] for row in _BY_EXCEPTION if isinstance(exc, row[0]))
    if isinstance(exc, RefreshError) and exc.retryable:
        kind, hint = DestinationUnavailable, _AGAIN
    # A second argument is the whole answer of the server that gives tokens.
    said = _one_line(exc.args[0] if isinstance(exc, GoogleAuthError) and exc.args else exc)
    return kind(f"{failed}: {what}" + (f" ({said})" if said else ""), hint=hint)


def _one_line(text: object) -> str:
    return " ".join(str(text).split())[:_LONGEST_TEXT]


def _other(status: int) -> tuple[Kind, str | None]:
    if status >= 500:
        return DestinationUnavailable, _AGAIN
    if status < 300:  # an error in disguise, or another's answer
        return DestinationUnavailable, NO_GOOGLE
    if 300 <= status < 400:
        return DestinationError, "correct `endpoint_url`: the server there sends us elsewhere"
    return DestinationError, None
