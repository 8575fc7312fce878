"""One request to Google Cloud Storage and its answer, over the SDK's session, credentials and loop."""

from __future__ import annotations

import io
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import aiohttp
from fsspec.asyn import sync
from gcsfs.core import GCSFileSystem
from yarl import URL

from rivet.config.settings import GcsDestinationSettings
from rivet.destination.gcs.endpoint import ANONYMOUS, credentials_of, endpoint_of
from rivet.destination.gcs.refusals import EXPECTED, Refusal, exception_error
from rivet.destination.store.retrying import LEAST_BYTES_PER_SECOND, Patience, Retrying
from rivet.errors import DestinationUnavailable, ObjectNotFound
from rivet.interruption import hurry_on_interruption

OK = frozenset({200, 201, 204})
_LEAST_SENT_PER_SECOND = 128 * 1024  # an upload that is slower has come to a stand
_MOST_BYTES = 8 * 1024**2  # that are asked for at once


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked.

    Attributes:
        action: With the key, what is being done, for messages.
        path: From the endpoint on, encoded; it may hold a query of its own.
        finds: Whether 404 says that there is no such object, and not that there is no such bucket.
    """

    action: str
    key: str
    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    data: bytes = field(default=b"", repr=False)
    finds: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; header names fit in any case."""

    status: int
    headers: Any
    body: bytes


class GcsConnection:
    """Sends requests for one bucket, from any thread.

    The SDK's own functions for files are left alone: they try again unasked, log what they catch, keep
    listings, and take `*` and `[` in names for patterns.

    Attributes:
        endpoint: For people, without a password.
        retrying: Runs what is to be tried again.
        is_reached: Whether the last request had an answer.
    """

    def __init__(self, settings: GcsDestinationSettings, patience: Patience) -> None:
        self.bucket = settings.bucket
        self.retrying = Retrying(patience)
        self.is_reached = True
        self._patience = patience
        self._project = settings.project
        self._payer: str | None = None
        self._is_closed = False
        endpoint = endpoint_of(settings)
        token = credentials_of(settings, endpoint)
        self._is_anonymous = token == ANONYMOUS
        self._sdk = GCSFileSystem(
            project=settings.project or "",
            access="read_write",
            token=token,
            endpoint_url=endpoint,
            session_kwargs={"trust_env": True},  # proxies, as other tools take them
            skip_instance_cache=True,
            use_listings_cache=False,
        )
        self._base: str = self._sdk.base.removesuffix("/storage/v1/")
        parts = urlsplit(self._base)
        self.endpoint = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        hurry_on_interruption(self)

    @property
    def is_google(self) -> bool:
        """Tell whether requests go to Google."""
        return (urlsplit(self._base).hostname or "").endswith(".googleapis.com")

    def path(self, service: str, key: str | None = None) -> str:
        """Give the path of an object, or of all, below one of `""`, `/upload` and `/download`."""
        objects = f"{service}/storage/v1/b/{quote(self.bucket, safe='')}/o"
        return objects if key is None else f"{objects}/{quote(key, safe='')}"

    def path_of(self, url: str) -> str:
        """Give what follows the endpoint in a URL of the store's, whatever host it takes itself to be."""
        parts = urlsplit(url)
        path = parts.path.removeprefix(urlsplit(self._base).path)
        return f"{path}?{parts.query}" if parts.query else path

    def failed(self, action: str, key: str) -> str:
        """Begin a message: what could not be done, and where."""
        return f"cannot {action} {f'gs://{self.bucket}/{key}'!r} at {self.endpoint}"

    def send(self, request: Request, expected: Collection[int] = OK) -> Answer:
        """Send a request once.

        Raises:
            ObjectNotFound: The object is not there.
            DestinationUnavailable: The outcome is unknown, or may be another next time.
            DestinationError: It is refused for good.
            IntegrityError: Other bytes arrived than were sent.
        """
        payer = self._payer
        answer = self._exchange(request, payer)
        if answer.status in expected:
            return answer
        refusal = Refusal.of(answer.status, answer.body)
        if refusal.wants_payer and payer is None and self._project is not None:
            # To name who pays asks for a right more, so it is done only where it must be.
            self._payer = self._project
            return self.send(request, expected)
        failed = self.failed(request.action, request.key)
        if answer.status == 404 and request.finds and not refusal.misses_bucket:
            raise ObjectNotFound(f"{failed}: no such object")
        raise refusal.error(failed, is_anonymous=self._is_anonymous)

    def hurry(self) -> None:
        """Try nothing again, and close once what is under way has had a moment to end in order."""
        self.retrying.stop()
        time.sleep(self._patience.hurry_seconds)
        self.close()

    def close(self) -> None:
        """Cut what is under way, and try nothing again."""
        self.retrying.stop()
        self._is_closed = True
        if self._sdk.session is not None:
            sync(self._sdk.loop, self._sdk.session.close)

    def _exchange(self, request: Request, payer: str | None) -> Answer:
        failed = self.failed(request.action, request.key)
        if self._is_closed:
            raise DestinationUnavailable(f"{failed}: the destination is closed")
        headers = dict(request.headers)
        params = dict(request.params)
        if payer is not None:
            params["userProject"] = payer
        query = urlencode(params, quote_via=quote)
        url = self._base + request.path + ("&" if "?" in request.path else "?") * bool(query) + query
        try:
            # Here and not on the loop, where a token that must be renewed would keep all others waiting.
            self._sdk.credentials.apply(headers)
            answer: Answer = sync(self._sdk.loop, self._talk, request.method, url, headers, request.data)
        except EXPECTED as exc:
            self.is_reached = False
            raise exception_error(failed, exc) from exc
        self.is_reached = True
        return answer

    async def _talk(self, method: str, url: str, headers: dict[str, str], data: bytes) -> Answer:
        session = await self._sdk._set_session()  # noqa: SLF001 - what opens it with the SDK's certificates
        if session.closed:
            raise aiohttp.ClientConnectionError("closed")
        patience = self._patience
        seconds = patience.connect_timeout_seconds + patience.deadline_seconds
        end = time.monotonic() + seconds
        total = seconds + _MOST_BYTES / LEAST_BYTES_PER_SECOND
        if data:  # while it is sent nothing is read, so that nothing else would end
            total = patience.connect_timeout_seconds + patience.read_timeout_seconds
            total += len(data) / _LEAST_SENT_PER_SECOND
        elif method in {"POST", "PUT"}:
            headers["Content-Length"] = "0"
        try:
            async with session.request(
                method,
                URL(url, encoded=True),  # keys are encoded already, and `%2F` is not to become `/`
                headers=headers,
                data=io.BytesIO(data) if data else None,
                timeout=aiohttp.ClientTimeout(
                    total=total,
                    connect=patience.connect_timeout_seconds,
                    sock_read=patience.read_timeout_seconds,
                ),
                allow_redirects=False,  # elsewhere is where nobody has agreed to send anything
            ) as answer:
                pieces: list[bytes] = []
                async for piece in answer.content.iter_any():
                    pieces.append(piece)
                    end += len(piece) / LEAST_BYTES_PER_SECOND
                    if time.monotonic() > end:
                        raise TimeoutError
                return Answer(answer.status, answer.headers, b"".join(pieces))
        except AssertionError as exc:  # it has tried again over connections that were closed meanwhile
            if not session.closed:
                raise
            raise aiohttp.ClientConnectionError("closed") from exc
