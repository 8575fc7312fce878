"""One request to S3 and its answer, over the SDK's client, and what ETags tell."""

from __future__ import annotations

import re
import threading
import time
from contextlib import closing, suppress
from typing import Any
from urllib.parse import urlsplit

from rivet.config.settings import S3DestinationSettings
from rivet.destination.s3.client import content_md5, make_client, md5
from rivet.destination.s3.errors import Translator
from rivet.destination.s3.sockets import Sockets
from rivet.destination.s3.straight import Straight, take_sample
from rivet.destination.store.retrying import Patience, Retrying
from rivet.errors import DestinationUnavailable, IntegrityError, ObjectNotFound
from rivet.interruption import hurry_on_interruption

CHECKSUM_KIND = "md5:"
_HEADERS = {
    "ContentMD5": "content-md5",
    "IfMatch": "if-match",
    "IfNoneMatch": "if-none-match",
    "Range": "range",
}
_MD5_ETAG = re.compile("[0-9a-f]{32}")


class S3Connection:
    """Sends requests for one bucket, from any thread.

    Attributes:
        retrying: Runs what is to be tried again.
        translator: Tells what is wrong.
        written_with: What the settings say of every object, as the SDK's arguments.
        has_digests: Whether ETags may be digests of what was sent, which they are not with a key of KMS.
    """

    def __init__(self, settings: S3DestinationSettings, patience: Patience) -> None:
        self.uri = f"s3://{settings.bucket}/"
        self.retrying = Retrying(patience)
        self.written_with = _arguments(settings)
        self.has_digests = not (settings.server_side_encryption or "").startswith("aws:kms")
        self._bucket = settings.bucket
        self._settings = settings
        self._patience = patience
        self._lock = threading.Lock()
        self._client: Any = None
        self._straight: dict[str, Straight] = {}
        self._is_closed = False
        self._sockets = Sockets(patience.deadline_seconds)
        secrets = (settings.access_key, settings.secret_key, settings.session_token)
        shown = tuple(secret.reveal() for secret in secrets if secret is not None and secret.value)
        self.translator = Translator(self.uri, self._endpoint, shown)
        hurry_on_interruption(self)

    @property
    def is_aws(self) -> bool:
        """Tell whether requests go to AWS, once one was made: variables may have named another endpoint."""
        host = urlsplit(self._endpoint()).hostname or ""
        return host.endswith((".amazonaws.com", ".amazonaws.com.cn"))

    @property
    def bucket(self) -> str:
        """Name the bucket."""
        return self._bucket

    def ask(self, operation: str, action: str, key: str, **arguments: Any) -> Any:
        """Make one request of the bucket and give the answer.

        Args:
            action: With the key, what is being done, for messages.
        """
        with self.translator.translated(action, key):
            client = self._opened()
        if client is None:
            raise self.translator.error(DestinationUnavailable, action, key, "the destination is closed")
        with self.translator.translated(action, key):
            return getattr(client, operation)(Bucket=self._bucket, **arguments)

    def request(self, operation: str, action: str, key: str, **arguments: Any) -> Any:
        """Make one request about a key and give the answer."""
        return self.ask(operation, action, key, Key=key, **arguments)

    def put(self, key: str, data: bytes, digest: bytes, **condition: str) -> Any:
        """Write an object by one request and give the answer, which says that the store has what was sent.

        Args:
            digest: The MD5 of the data.
            condition: `IfMatch` or `IfNoneMatch`.

        Raises:
            IntegrityError: The answer tells of other bytes.
        """
        asked = self._ask_straight(
            "put_object", "write", key, data, ContentMD5=content_md5(digest), **condition
        )
        answer: Any = None if asked is None else asked[0]
        if answer is None:
            more = {"Body": data, "ContentMD5": content_md5(digest), **condition, **self.written_with}
            answer = self.request("put_object", "write", key, **more)
        self.compare(answer, digest, key)
        return answer

    def body(self, key: str, **arguments: Any) -> tuple[bytes, Any]:
        """Read an object, or a piece of it, and give the answer too.

        Args:
            arguments: `Range` or `IfMatch`.
        """
        asked = self._ask_straight("get_object", "read", key, **arguments)
        if asked is not None:
            answer, data = asked
        else:
            answer = self.request("get_object", "read", key, **arguments)
            with self.translator.translated("read", key), closing(answer["Body"]) as body:
                data = body.read()
        if "Range" not in arguments and "ContentRange" in answer:  # a piece that nobody has asked for
            raise self.translator.garbled("read", key)
        return data, answer

    def head(self, key: str) -> Any | None:
        """Tell of an object without its bytes; None where there is none."""
        with suppress(ObjectNotFound):
            return self.request("head_object", "look at", key)
        return None

    def told(self, answer: Any, name: str, action: str, key: str) -> Any:
        """Give what every answer of its kind has, and what passes for one with status 200 has not."""
        if name not in answer:
            raise self.translator.garbled(action, key)
        return answer[name]

    def compare(self, answer: Any, digest: bytes, key: str) -> None:
        """See to it that what the store has taken is what was sent, where its answer tells.

        Raises:
            IntegrityError: It is not.
        """
        etag = self.told(answer, "ETag", "write", key).strip('"')
        if is_digest(answer, etag) and etag != digest.hex():
            text = f"the store has taken bytes with MD5 {etag!r}, and {digest.hex()!r} was sent"
            raise self.translator.error(IntegrityError, "write", key, text)

    def checksum(self, etag: str) -> str | None:
        """Give the checksum that an ETag is; that of several parts holds those of the parts."""
        return CHECKSUM_KIND + etag.strip('"') if etag and self.has_digests else None

    def hurry(self) -> None:
        """Try nothing again, and close once what is under way has had a moment to end in order."""
        self.retrying.stop()
        time.sleep(self._patience.hurry_seconds)
        self.close()

    def close(self) -> None:
        """Cut what is under way, let go of connections, and try nothing again."""
        self.retrying.stop()
        with self._lock:
            self._is_closed = True
            if self._client is not None:
                self._client.close()
        self._sockets.cut()

    def _opened(self) -> Any | None:
        with self._lock:
            if self._client is None and not self._is_closed:
                self._client = make_client(self._settings, self._patience)
                self._sockets.watch(self._client)
                self._straight = self._made_straight(self._client)
            return None if self._is_closed else self._client

    def _made_straight(self, client: Any) -> dict[str, Straight]:
        samples = {
            "put_object": take_sample(
                client,
                "put_object",
                Bucket=self._bucket,
                Body=b"",
                ContentMD5=content_md5(md5(b"")),
                **self.written_with,
            ),
            "get_object": take_sample(client, "get_object", Bucket=self._bucket),
        }
        return {
            operation: Straight(
                sample,
                self._sockets,
                answer_seconds=self._patience.deadline_seconds,
                line_seconds=self._patience.read_timeout_seconds,
            )
            for operation, sample in samples.items()
            if sample is not None
        }

    def _ask_straight(
        self, operation: str, action: str, key: str, data: bytes = b"", **arguments: str
    ) -> tuple[dict[str, str], bytes] | None:
        """Make a request past the SDK, or give None where that cannot be."""
        straight = self._straight.get(operation)
        if straight is None:
            return None
        headers = {_HEADERS[name]: value for name, value in arguments.items()}
        with self.translator.translated(action, key):
            return straight.ask(key, headers, data)

    def _endpoint(self) -> str:
        if self._client is not None:
            return str(self._client.meta.endpoint_url)
        return self._settings.endpoint_url or "AWS"


def is_digest(answer: Any, etag: str) -> bool:
    """Tell whether an ETag is the MD5 of the bytes, which it is not with a key of KMS, even the bucket's."""
    return "kms" not in answer.get("ServerSideEncryption", "") and bool(_MD5_ETAG.fullmatch(etag))


def _arguments(settings: S3DestinationSettings) -> dict[str, str]:
    stated = {
        "StorageClass": settings.storage_class,
        "ServerSideEncryption": settings.server_side_encryption,
        "SSEKMSKeyId": settings.kms_key_id,
        "ACL": settings.acl,
    }
    return {name: value for name, value in stated.items() if value is not None}
