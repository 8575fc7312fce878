"""The SDK's errors turned into Rivet's, without a secret."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from botocore import exceptions as sdk
from botocore.parsers import ResponseParserError
from urllib3.exceptions import HTTPError as TransportError

from rivet.destination.s3.meanings import BUCKET, GARBLED, REGION, is_of_renewal, meaning_of
from rivet.destination.s3.meanings import code_of as code_of
from rivet.errors import ObjectNotFound, RivetError

# What lies below the SDK comes through where a line breaks inside the body of an answer.
_RAISED = (sdk.ClientError, sdk.BotoCoreError, ResponseParserError, TransportError, OSError, ValueError)
# A user and a password in a URL.
_USER = re.compile(r"(?<=://)[^/\s\"'`]*@")


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
        except _RAISED as exc:
            raise self._error(action, key, exc) from exc
        except RuntimeError as exc:
            if not is_of_renewal(exc):
                raise
            raise self._error(action, key, exc) from exc
        except LookupError as exc:  # the SDK takes for granted what an answer must hold
            raise self.garbled(action, key) from exc

    def error(self, kind: Callable[..., RivetError], action: str, key: str, text: str) -> RivetError:
        """Make an error of Rivet's own about a key."""
        return kind(f"cannot {action} {self._uri + key!r} at {_shown(self._endpoint())}: {text}")

    def garbled(self, action: str, key: str) -> RivetError:
        """Make the error of an answer that lacks what every such answer has."""
        error = self.error(GARBLED.kind, action, key, GARBLED.text)
        error.hint = GARBLED.hint
        return error

    def _error(self, action: str, key: str, exc: Exception) -> RivetError:
        meaning, said = meaning_of(exc)
        if meaning.kind is ObjectNotFound and action == "list":  # a server of another kind says so
            meaning = BUCKET
        said = _USER.sub("***@", said)
        for secret in self._secrets:
            said = said.replace(secret, "***")
        error = self.error(meaning.kind, action, key, f"{meaning.text}{said and f' ({said})'}")
        error.hint = _region_hint(exc) if meaning is REGION else meaning.hint
        return error


def _region_hint(exc: Exception) -> str | None:
    response: dict[str, Any] = exc.response if isinstance(exc, sdk.ClientError) else {}
    headers = response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    region = response.get("Error", {}).get("Region") or headers.get("x-amz-bucket-region")
    return f"set region: {region}" if region else REGION.hint


def _shown(endpoint: str) -> str:
    """Give a URL without what stands before the host or behind the path, which may be a secret."""
    parts = urlsplit(endpoint)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
