"""Signs requests by AWS Signature Version 4.

As https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html has it for one request whose
payload is not cut into pieces.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Protocol

_ALGORITHM = "AWS4-HMAC-SHA256"
_UNSIGNED_HEADERS = frozenset({"user-agent", "expect"})  # which those on the way may change


class Credentials(Protocol):
    """What is signed with, as it stands at one moment."""

    access_key: str
    secret_key: str
    token: str | None


class Signature:
    """Signs with the same credentials on one day.

    Args:
        day: As in `20230102`, in UTC.
        service: The name that the store signs itself by.
    """

    def __init__(self, credentials: Credentials, day: str, region: str, service: str) -> None:
        self._token = credentials.token
        self._scope = f"{day}/{region}/{service}/aws4_request"
        self._credential = f"{credentials.access_key}/{self._scope}"
        key = f"AWS4{credentials.secret_key}".encode()
        for part in self._scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        self._key = key

    def signed(
        self, method: str, path: str, headers: Mapping[str, str], *, payload: str, moment: str
    ) -> dict[str, str]:
        """Give the headers with those that a signature adds.

        Args:
            path: Percent-encoded; there is no query.
            headers: By names in lower case, `host` among them.
            payload: The hex SHA-256 of the body, or the word that says that it is not signed.
            moment: As in `20230102T030405Z`, on the signature's day.
        """
        all_headers = {**headers, "x-amz-content-sha256": payload, "x-amz-date": moment}
        if self._token:
            all_headers["x-amz-security-token"] = self._token
        names = sorted(all_headers.keys() - _UNSIGNED_HEADERS)
        lines = "".join(f"{name}:{' '.join(all_headers[name].split())}\n" for name in names)
        request = f"{method}\n{path}\n\n{lines}\n{';'.join(names)}\n{payload}"
        digest = hashlib.sha256(request.encode()).hexdigest()
        text = f"{_ALGORITHM}\n{moment}\n{self._scope}\n{digest}"
        signature = hmac.digest(self._key, text.encode(), "sha256").hex()
        signed = f"SignedHeaders={';'.join(names)}, Signature={signature}"
        all_headers["authorization"] = f"{_ALGORITHM} Credential={self._credential}, {signed}"
        return all_headers
