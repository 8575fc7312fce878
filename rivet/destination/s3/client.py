"""Makes the SDK's client: one attempt for each request, bounded waits, and no way around an endpoint."""

from __future__ import annotations

import base64
import hashlib
import ssl
from typing import Any

import boto3
from botocore.config import Config

from rivet.config.settings import S3DestinationSettings
from rivet.destination.store.retrying import Patience
from rivet.errors import DestinationDenied

# Sixteen readers of a validation, or the threads that upload, and some.
_CONNECTIONS = 32


def make_client(settings: S3DestinationSettings, patience: Patience) -> Any:
    """Make a client, which may be used from several threads; no request is made yet.

    Raises:
        DestinationDenied: The file of authorities cannot be used.
    """
    session = boto3.session.Session(profile_name=settings.profile)
    client = session.client(
        "s3",
        # Where a store is not AWS any region will do, but requests are signed for one.
        region_name=settings.region or session.region_name or "us-east-1",
        endpoint_url=settings.endpoint_url,
        verify=None if settings.ca_file is None else _authorities(settings),
        aws_access_key_id=settings.access_key and settings.access_key.reveal(),
        aws_secret_access_key=settings.secret_key and settings.secret_key.reveal(),
        aws_session_token=settings.session_token and settings.session_token.reveal(),
        config=Config(
            connect_timeout=patience.connect_timeout_seconds,
            read_timeout=patience.read_timeout_seconds,
            # Trying again is Rivet's own, which counts it, looks before it does, and ends it.
            retries={"mode": "standard", "total_max_attempts": 1},
            max_pool_connections=_CONNECTIONS,
            parameter_validation=False,  # a quarter of what a small request costs here
            s3={"addressing_style": settings.addressing_style},
            # Every body has its Content-MD5, and other stores refuse headers that they do not know.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        ),
    )
    events = client.meta.events
    events.register_last("before-parameter-build.s3", _stay_in_the_region)
    events.register_last("before-call.s3", _send_at_once)
    events.register_first("before-sign.s3.DeleteObjects", _digest_body)
    return client


def content_md5(digest: bytes) -> str:
    """Spell an MD5 digest as the header has it."""
    return base64.b64encode(digest).decode()


def md5(data: bytes) -> bytes:
    """Digest bytes; no secret hangs on it, so that machines which forbid MD5 for those allow it."""
    return hashlib.md5(data, usedforsecurity=False).digest()


def _authorities(settings: S3DestinationSettings) -> str:
    try:
        ssl.create_default_context(cafile=settings.ca_file)
    except OSError as exc:
        raise DestinationDenied(
            f"cannot read certificates from {str(settings.ca_file)!r}: {exc.strerror or exc}",
            hint="ca_file takes a PEM file with the certificates of the authorities to trust",
        ) from exc
    return str(settings.ca_file)


def _stay_in_the_region(context: dict[str, Any], **_: object) -> None:
    """Let a wrong region be an error that names the right one, and not some more requests each time."""
    context.setdefault("s3_redirect", {})["redirected"] = True


def _send_at_once(params: dict[str, Any], **_: object) -> None:
    """Send bodies without asking whether they are welcome, which costs a round trip each."""
    params["headers"].pop("Expect", None)


def _digest_body(request: Any, **_: object) -> None:
    """Send the digest that many stores demand of a batch, where the SDK has a newer one that they ignore."""
    request.headers["Content-MD5"] = content_md5(md5(request.data))
