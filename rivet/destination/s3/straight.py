"""Puts and gets objects over connections that the SDK has opened, without what it does around each request.

Its events, models, parsers and copies of headers are nine tenths of what a small object costs this side. So
the SDK is asked once what it would send; credentials, a refusal's meaning, new connections and all other
requests stay its own. Where it signs otherwise than is done here, everything does.
"""

from __future__ import annotations

import http.client
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from botocore import exceptions as sdk
from botocore.awsrequest import AWSResponse, HeadersDict, create_request_object
from botocore.parsers import create_parser

from rivet.destination.s3.answers import Answer, read_answer
from rivet.destination.s3.bounded import Pace
from rivet.destination.s3.signature import Signature
from rivet.destination.s3.sockets import PORTS, Place, Sockets, place_of

if TYPE_CHECKING:
    import socket

_KEY = "k"  # of the sample
_UNSIGNED = "UNSIGNED-PAYLOAD"
_DAY = len("20230102")
# The SDK's own; a pause between two of them may last as long as the line's timeout.
_PIECE_BYTES = 128 * 1024
_OWN_HEADERS = frozenset({"content-length", "content-md5", "expect"})
# What Rivet asks of answers, as the SDK calls it.
_TOLD = {
    "etag": "ETag",
    "x-amz-server-side-encryption": "ServerSideEncryption",
    "content-range": "ContentRange",
}
_NOT_IN_A_HEADER = re.compile("[^\t\x20-\x7e\xa0-\xff]")


@dataclass(frozen=True, slots=True)
class Sample:
    """What the SDK would send of one operation on an object.

    Attributes:
        request: As the SDK holds it, before it is signed.
        signer: What signs it.
        model: Of the operation.
    """

    request: Mapping[str, Any]
    signer: Any
    model: Any


def take_sample(client: Any, operation: str, **arguments: Any) -> Sample | None:
    """Ask a client that nobody uses yet what it would send, or give None where it refuses or adds a digest.

    Args:
        operation: As the client's method is called.
        arguments: Of the operation, but for the key.
    """
    taken: list[Sample] = []

    def take(model: Any, params: Mapping[str, Any], request_signer: Any, **_: object) -> Any:
        taken.append(Sample(params, request_signer, model))
        return AWSResponse(params["url"], 200, {}, None), {}  # as if it had been sent

    event = f"before-call.s3.{client.meta.method_to_api_mapping[operation]}"
    client.meta.events.register_last(event, take)
    try:
        getattr(client, operation)(Key=_KEY, **arguments)
    except (sdk.BotoCoreError, LookupError, ValueError):
        return None  # told when something is really asked
    finally:
        client.meta.events.unregister(event, take)
    if not taken or taken[0].request["context"].get("checksum", {}).get("request_algorithm"):
        return None
    return taken[0]


class Straight:
    """Asks for one operation on objects; used by many threads at once.

    Args:
        answer_seconds: For an answer that does not come.
        line_seconds: Between two pieces, either way.
    """

    def __init__(
        self,
        sample: Sample,
        sockets: Sockets,
        *,
        answer_seconds: float,
        line_seconds: float,
    ) -> None:
        self._sample = sample
        self._model = sample.model
        self._method: str = sample.request["method"]
        self._sockets = sockets
        self._answer_seconds = answer_seconds
        self._line_seconds = line_seconds
        self._url: str = sample.request["url"]
        self._place = place_of(self._url)
        self._path = urlsplit(self._url).path.removesuffix(_KEY)
        headers = {name.lower(): str(value) for name, value in sample.request["headers"].items()}
        self._headers = {name: value for name, value in headers.items() if name not in _OWN_HEADERS}
        self._headers["host"] = _host_of(self._place)
        self._signing = sample.request["context"].get("signing", {})
        self._parser = create_parser("rest-xml")
        self._lock = threading.Lock()
        self._signed_with: tuple[Any, ...] = ()
        self._signature: Signature | None = None
        self._signs_payload = True

    def ask(
        self, key: str, headers: Mapping[str, str], data: bytes = b""
    ) -> tuple[dict[str, str], bytes] | None:
        """Make one request, and give what Rivet asks of the answer and its body; None: the SDK has to.

        Args:
            headers: That go with this request alone, by names in lower case; the MD5 of data among them.

        Raises:
            ClientError: The store refuses, in the SDK's words.
            HTTPClientError: The connection broke, or the answer did not come in time.
        """
        moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        signature = self._signature_on(moment[:_DAY])
        if signature is None:
            return None
        name = quote(key, safe="/~")
        path = self._path + name
        signed = signature.signed(
            self._method,
            path,
            {**self._headers, **headers},
            payload=sha256(data).hexdigest() if self._signs_payload else _UNSIGNED,
            moment=moment,
        )
        if any(_NOT_IN_A_HEADER.search(value) for value in signed.values()):
            return None
        with self._sockets.lent(self._place) as connection:
            if connection is None:
                return None
            if self._method == "PUT":
                signed["content-length"] = str(len(data))
            signed["accept-encoding"] = "identity"
            lines = "".join(f"{name.title()}: {value}\r\n" for name, value in signed.items())
            head = f"{self._method} {path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1")
            answer = self._exchange(connection, head, data, name)
        return self._told(answer)

    def _exchange(self, connection: Any, head: bytes, data: bytes, name: str) -> Answer:
        is_last = True
        url = self._url.removesuffix(_KEY) + name
        try:
            sock = connection.sock
            sock.settimeout(self._line_seconds)
            was_sent = send(sock, head, data)
            answer = read_answer(sock, self._method, Pace(self._answer_seconds))
            is_last = answer.is_last or not was_sent
        except TimeoutError as exc:
            raise sdk.ReadTimeoutError(endpoint_url=url, error=exc) from exc
        except (OSError, http.client.HTTPException) as exc:
            raise sdk.ConnectionClosedError(endpoint_url=url, error=exc) from exc
        finally:
            if is_last:
                connection.close()
        return answer

    def _told(self, answer: Answer) -> tuple[dict[str, str], bytes]:
        status = answer.status
        if status == 200 and not self._model.has_streaming_output and b"<Error" in answer.body:
            status = 500
        if status < 300:
            told = {
                name: answer.headers[header] for header, name in _TOLD.items() if header in answer.headers
            }
            return told, answer.body
        parsed = self._parser.parse(
            {
                "status_code": status,
                "headers": HeadersDict(answer.headers),
                "body": answer.body,
                "context": {"operation_name": self._model.name},
            },
            self._model.output_shape,
        )
        raise sdk.ClientError(parsed, self._model.name)

    def _signature_on(self, day: str) -> Signature | None:
        """Give what signs with the credentials of this moment, or None where the SDK signs otherwise."""
        region, service = self._signing.get("region"), self._signing.get("signing_name")
        if region is None or service is None:
            return None
        credentials = getattr(self._sample.signer.get_auth_instance(service, region), "credentials", None)
        if credentials is None:
            return None
        wanted = (day, credentials.access_key, credentials.secret_key, credentials.token)
        with self._lock:
            if wanted != self._signed_with:
                self._signature = self._proved(Signature(credentials, day, region, service))
                self._signed_with = wanted
            return self._signature

    def _proved(self, signature: Signature) -> Signature | None:
        """Give a signature if it signs the sample as the SDK does."""
        request = create_request_object(self._sample.request)
        self._sample.signer.sign(self._model.name, request)
        theirs = {name.lower(): value for name, value in request.headers.items()}
        payload = theirs.get("x-amz-content-sha256", "")
        self._signs_payload = payload != _UNSIGNED
        of_body = {name: theirs[name] for name in ("content-md5",) if name in theirs}
        own = signature.signed(
            self._method,
            urlsplit(self._url).path,
            {**self._headers, **of_body},
            payload=payload,
            moment=theirs.get("x-amz-date", ""),
        )
        return signature if own["authorization"] == theirs.get("authorization") else None


def send(sock: socket.socket, head: bytes, data: bytes) -> bool:
    """Send a request, and tell whether all of it went: who closes before has answered why."""
    rest = memoryview(data)
    try:
        sock.sendall(b"".join((head, rest[:_PIECE_BYTES])))
        for start in range(_PIECE_BYTES, len(rest), _PIECE_BYTES):
            sock.sendall(rest[start : start + _PIECE_BYTES])
    except (BrokenPipeError, ConnectionResetError):
        return False
    return True


def _host_of(place: Place) -> str:
    """Give the header that names a server."""
    scheme, host, port = place
    name = f"[{host}]" if ":" in host else host
    return name if port == PORTS.get(scheme) else f"{name}:{port}"
