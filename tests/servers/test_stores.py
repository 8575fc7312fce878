"""The stores that other tests lean on do what those tests take for granted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, SSLError

from tests.servers.gcs import GcsBucket, GcsServer
from tests.servers.s3 import Key, S3Bucket, S3Server

KILLED = """
import os, signal
from tests.servers.{module} import {run}
with {run}() as server:
    print(server.endpoint_url.rpartition(":")[2], flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(params=["s3", "gcs"])
def server(request: pytest.FixtureRequest) -> S3Server | GcsServer:
    """Give each server in turn."""
    found: S3Server | GcsServer = request.getfixturevalue(request.param)
    return found


@pytest.fixture(params=["s3_bucket", "gcs_bucket"])
def bucket(request: pytest.FixtureRequest) -> S3Bucket | GcsBucket:
    """Give an empty bucket of each server in turn."""
    found: S3Bucket | GcsBucket = request.getfixturevalue(request.param)
    return found


def test_a_fresh_bucket_is_empty_and_gone_afterwards(server: S3Server | GcsServer) -> None:
    """A fresh bucket holds no object of another test, and goes with those it holds."""
    with server.fresh_bucket() as first:
        first.put("a/b", b"1")
        assert first.keys() == ["a/b"]
    with server.fresh_bucket() as second:
        assert second.keys() == []
    with pytest.raises(Exception, match=r"NoSuchBucket|404"):
        first.keys()


def test_keys_and_bytes_stay_as_they_are(bucket: S3Bucket | GcsBucket) -> None:
    """Signs that mean something in a URL are part of a key."""
    odd = ["day=2023-01-01/p", "a b", "a%2Fb", "a+b", "a#b?c&d=e", "ü/é😀"]
    for key in odd:
        bucket.put(key, key.encode())

    assert bucket.keys() == sorted(odd)
    assert [bucket.read(key) for key in odd] == [key.encode() for key in odd]
    assert bucket.keys("a%") == ["a%2Fb"]
    bucket.delete(*odd[1:])
    assert bucket.keys() == odd[:1]


def test_uploads_of_s3_that_are_not_completed_are_seen(s3_bucket: S3Bucket) -> None:
    """An upload in parts is told as such, and is no object, until it is completed."""
    client = s3_bucket.server.client
    upload = client.create_multipart_upload(Bucket=s3_bucket.name, Key="large")["UploadId"]
    assert (s3_bucket.uploads(), s3_bucket.keys()) == (["large"], [])
    client.abort_multipart_upload(Bucket=s3_bucket.name, Key="large", UploadId=upload)

    assert s3_bucket.uploads() == []


def test_rights_on_s3_are_those_of_the_key(s3_bucket: S3Bucket) -> None:
    """The account writes objects and makes no bucket, the reader only reads, and others do nothing."""
    server = s3_bucket.server
    account, reader = client_of(server, server.account), client_of(server, server.reader)
    account.put_object(Bucket=s3_bucket.name, Key="p", Body=b"rows")
    assert reader.get_object(Bucket=s3_bucket.name, Key="p")["Body"].read() == b"rows"
    with pytest.raises(ClientError, match="AccessDenied"):
        account.create_bucket(Bucket="another")
    with pytest.raises(ClientError, match="AccessDenied"):
        reader.put_object(Bucket=s3_bucket.name, Key="p", Body=b"")
    with pytest.raises(ClientError, match="SignatureDoesNotMatch"):
        client_of(server, Key(server.account.access_key, "guessed")).list_objects_v2(Bucket=s3_bucket.name)
    with pytest.raises(ClientError, match="InvalidAccessKeyId"):
        client_of(server, Key("nobody", "guessed")).list_objects_v2(Bucket=s3_bucket.name)


def test_an_s3_server_with_tls_proves_to_be_localhost(s3_tls: S3Server) -> None:
    """The certificate is good under the server's own authority, and under no other."""
    with s3_tls.fresh_bucket() as bucket:
        assert bucket.keys() == []
        with pytest.raises(SSLError, match="CERTIFICATE_VERIFY_FAILED"):
            client_of(s3_tls, s3_tls.account).list_objects_v2(Bucket=bucket.name)


@pytest.mark.parametrize("module", ["s3", "gcs"])
def test_nothing_is_left_of_a_killed_test_run(module: str, tmp_path: Path) -> None:
    """A server and its files go even when the process that started them is killed."""
    program = KILLED.format(module=module, run=f"run_{module}")
    killed = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    port = int(killed.stdout)
    socket_file = Path(f"/tmp/seaweedfs-s3-grpc-{port + 10_000}.sock")  # noqa: S108
    deadline = time.monotonic() + 60
    while any(tmp_path.iterdir()) or socket_file.exists():
        assert time.monotonic() < deadline, f"{list(tmp_path.iterdir())} is still there"
        time.sleep(0.05)


def client_of(server: S3Server, key: Key) -> Any:
    """Give a client with the rights of a key, which trusts the system's authorities only."""
    return boto3.client(
        "s3",
        endpoint_url=server.endpoint_url,
        region_name="us-east-1",
        aws_access_key_id=key.access_key,
        aws_secret_access_key=key.secret_key,
        config=Config(retries={"max_attempts": 0}),
    )
