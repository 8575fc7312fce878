"""Where requests go, and what they show of who sends them.

Where the config or STORAGE_EMULATOR_HOST names an endpoint that is not Google's, nothing is looked up at
Google: no credentials are sent but those of a file that the config names.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import google.auth
from google.auth.credentials import with_scopes_if_required
from google.auth.exceptions import GoogleAuthError

from rivet.config.settings import GcsDestinationSettings
from rivet.errors import DestinationDenied, DestinationError

ANONYMOUS = "anon"
_SCOPES = ("https://www.googleapis.com/auth/devstorage.read_write",)
_GOOGLE = "googleapis.com"
_NO_URL = re.compile(r"[\x00-\x20\x7f]")


def endpoint_of(settings: GcsDestinationSettings) -> str | None:
    """Give the URL to send everything to, without a final slash; None for Google's own.

    Raises:
        DestinationError: STORAGE_EMULATOR_HOST holds none; that of a config was looked at before.
    """
    endpoint = settings.endpoint_url or os.environ.get("STORAGE_EMULATOR_HOST", "")
    if endpoint in {"", "default"}:  # the latter is how the SDK lets the variable be unset
        return None
    url = (endpoint if "://" in endpoint else f"http://{endpoint}").rstrip("/")
    if not _is_url(url):
        raise DestinationError(
            "STORAGE_EMULATOR_HOST holds no URL of a store", hint="write it like http://127.0.0.1:4443"
        )
    return url


def credentials_of(settings: GcsDestinationSettings, endpoint: str | None) -> Any:
    """Give what the SDK takes as its token: credentials, or the word for none.

    Raises:
        DestinationDenied: There are no credentials where some are needed, or they cannot be read.
    """
    if settings.anonymous:
        return ANONYMOUS
    with warnings.catch_warnings():
        # The file is the user's own, named by himself, and a quota is his affair too.
        warnings.simplefilter("ignore")
        if settings.credentials_file is not None:
            return _from_file(settings.credentials_file, endpoint)
        if endpoint is not None and not _is_google(endpoint):
            return ANONYMOUS
        return _application_default(settings)


def _from_file(path: Path, endpoint: str | None) -> Any:
    try:
        info = json.loads(path.read_text(encoding="utf-8"))
        # Neither has types. Scopes are for those that need them: to users' credentials they are an error.
        load, scoped = cast("Any", (google.auth.load_credentials_from_dict, with_scopes_if_required))
        credentials = scoped(load(info)[0], _SCOPES)
    except (OSError, ValueError, TypeError, AttributeError, GoogleAuthError) as exc:
        # What a library says of a key that it cannot read might hold some of it.
        reason = exc.strerror if isinstance(exc, OSError) else "it holds no credentials of a known type"
        raise DestinationDenied(
            f"cannot read the credentials in {str(path)!r}: {reason}",
            hint="name a service account's key, or what gcloud auth application-default login wrote",
        ) from exc
    if endpoint is not None and not _is_google(endpoint):
        sign = getattr(credentials, "with_always_use_jwt_access", None)
        if sign is not None:  # a service account can sign for itself, without a question to Google
            return sign(True)  # noqa: FBT003 - the SDK's own signature
    return credentials


def _application_default(settings: GcsDestinationSettings) -> Any:
    try:
        credentials, _ = google.auth.default(scopes=_SCOPES)
    except (GoogleAuthError, ValueError, OSError) as exc:
        said = str(exc.args[0] if exc.args else exc).rstrip(".")
        raise DestinationDenied(
            f"no credentials for {settings.label!r} at Google Cloud Storage: {said}",
            hint="run gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS, and "
            "STORAGE_EMULATOR_HOST for an emulator; or in a config, which --config names, credentials_file, "
            "or anonymous: true for a bucket that is open to all",
        ) from exc
    return credentials


def _is_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme.lower() in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        return False
    return bool(is_whole) and not parts.query and not _NO_URL.search(url)


def _is_google(endpoint: str) -> bool:
    """Tell whether an endpoint is one of Google's, such as a region's or a private one.

    >>> _is_google("https://storage.me-central2.rep.googleapis.com"), _is_google("http://127.0.0.1:4443")
    (True, False)
    """
    domain = os.environ.get("GOOGLE_CLOUD_UNIVERSE_DOMAIN", _GOOGLE)
    return (urlsplit(endpoint).hostname or "").endswith(f".{domain}")
