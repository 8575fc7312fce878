"""What is asked of S3: how often, at which place, and with what."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rivet.config.settings import S3DestinationSettings, Secret
from rivet.destination.s3.client import make_client
from rivet.destination.s3.destination import S3Destination
from rivet.destination.store.retrying import Patience
from rivet.errors import DestinationDenied
from tests.destination.stores import OTHER_RUN, RUN, finished, names, part_name
from tests.servers.faults import Asked, FaultProxy, Forward, Reply, run_fault_proxy, s3_error, unheard
from tests.servers.process import free_port
from tests.servers.s3 import S3Bucket

PATIENCE = Patience(attempts=3, first_pause_seconds=0.01, longest_pause_seconds=0.05)
MEBIBYTE = 1024**2
BEGUN = b"<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>"
LISTING = b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"
_numbers = itertools.count(1)


class Watched:
    """A destination behind a proxy, and what it asked.

    Attributes:
        headers: Of each request, with names in lower case.
    """

    def __init__(self, bucket: S3Bucket, proxy: FaultProxy, **more: Any) -> None:
        self.prefix = f"requests/{next(_numbers)}/"
        self.bucket, self.proxy = bucket, proxy
        self.headers: list[dict[str, str]] = []
        self.destination = S3Destination(bucket.at(proxy.url).settings(self.prefix, **more), PATIENCE)
        self.answer(lambda _: None)

    def answer(self, choose: Callable[[Asked], Reply | None]) -> None:
        """Count from zero again, and answer some requests in the store's place."""
        self.proxy.spare()
        self.headers.clear()

        def fault(asked: Asked, forward: Forward) -> Reply:
            reply = choose(asked)
            assert asked.body is not None
            self.headers.append({name.lower(): value for name, value in asked.headers.items()})
            return forward() if reply is None else reply

        self.proxy.choose = lambda *_: fault

    @property
    def uploads(self) -> list[str]:
        """List what is unfinished below the prefix."""
        return sorted(key for key in self.bucket.uploads() if key.startswith(self.prefix))

    @property
    def methods(self) -> list[str]:
        """Give the methods of what was asked."""
        return [method for method, _ in self.proxy.asked]


@pytest.fixture(scope="module")
def proxy(shared_s3_bucket: S3Bucket) -> Iterator[FaultProxy]:
    """Run one proxy for all tests."""
    with run_fault_proxy(shared_s3_bucket.server.endpoint_url) as proxy:
        yield proxy


@pytest.fixture
def watched(shared_s3_bucket: S3Bucket, proxy: FaultProxy) -> Iterator[Watched]:
    """Watch a destination with no more than it needs."""
    watched = Watched(shared_s3_bucket, proxy)
    with closing(watched.destination):
        yield watched


def _replace(watched: Watched, part_bytes: int) -> None:
    destination = watched.destination
    part = finished(destination, part_name(), b"x" * part_bytes)
    manifest = finished(destination, "day=1/manifest.json", b"{}")
    marker = finished(destination, "day=1/_SUCCESS", b"sha256")
    for staged in (part, manifest, marker):
        destination.publish([staged])


@pytest.mark.parametrize(("part_bytes", "requests"), [(0, 3), (8 * MEBIBYTE, 3), (8 * MEBIBYTE + 1, 6)])
def test_requests_to_write_a_partition(watched: Watched, part_bytes: int, requests: int) -> None:
    """A part of at most 8 MiB costs one request, a larger one two more than it has pieces."""
    _replace(watched, part_bytes)

    assert len(watched.proxy.asked) == requests


def test_small_objects_wait_on_this_side(watched: Watched) -> None:
    """Nothing is asked for an object of at most 8 MiB before it is published."""
    finished(watched.destination, part_name(), b"x" * 8 * MEBIBYTE)
    finished(watched.destination, "day=1/manifest.json", b"x" * 9 * MEBIBYTE)

    assert watched.proxy.asked == []


def test_large_objects_go_up_while_they_are_written(watched: Watched) -> None:
    """Pieces of 8 MiB are sent before the object is finished."""
    staged = watched.destination.stage(part_name(), RUN)
    for _ in range(7):
        staged.write(b"x" * 4 * MEBIBYTE)
    _wait_until(lambda: watched.uploads == [watched.prefix + part_name()])
    _wait_until(lambda: watched.methods.count("PUT") == 3)
    assert watched.bucket.keys(watched.prefix) == []
    staged.discard()

    assert watched.uploads == []


def test_a_footer_costs_one_request(watched: Watched) -> None:
    """The end of an object is there once it is open, and a file read from its start costs one for 8 MiB."""
    watched.bucket.put(watched.prefix + "p", bytes(range(256)) * 4096 * 12)
    with watched.destination.open("p") as file:
        file.seek(-64 * 1024, 2)
        file.read()
        assert len(watched.proxy.asked) == 1
        file.seek(0)
        while file.read(MEBIBYTE):
            pass

    assert len(watched.proxy.asked) == 3


def test_digests_and_nothing_newer(watched: Watched) -> None:
    """Each body has its MD5, and no header of the newer checksums that other stores refuse."""
    _replace(watched, 8 * MEBIBYTE + 1)
    watched.destination.put("day=1/more", b"")
    watched.destination.delete(["day=1/more", "day=1/none"])
    bodies = [
        headers
        for headers, (method, path) in zip(watched.headers, watched.proxy.asked, strict=True)
        if method == "PUT" or path.endswith("?delete")
    ]

    assert len(bodies) == 6
    assert all("content-md5" in headers for headers in bodies)
    puts = [headers for headers in bodies if headers is not bodies[-1]]
    assert not [name for headers in puts for name in headers if "checksum" in name or "trailer" in name]


def test_what_objects_are_written_with(shared_s3_bucket: S3Bucket, proxy: FaultProxy) -> None:
    """Storage class, encryption and ACL go with each object, small or large, and not with its pieces."""
    watched = Watched(
        shared_s3_bucket,
        proxy,
        storage_class="STANDARD_IA",
        server_side_encryption="aws:kms",
        kms_key_id="key-1",
        acl="bucket-owner-full-control",
    )
    watched.answer(
        lambda asked: Reply(200, BEGUN if asked.path.endswith("?uploads") else b"", {"ETag": '"opaque"'})
    )
    with closing(watched.destination) as destination:
        destination.put("a", b"1")
        staged = finished(destination, part_name(), b"x" * 9 * MEBIBYTE)

    assert staged.checksum is None
    wanted = {
        "x-amz-storage-class": "STANDARD_IA",
        "x-amz-server-side-encryption": "aws:kms",
        "x-amz-server-side-encryption-aws-kms-key-id": "key-1",
        "x-amz-acl": "bucket-owner-full-control",
    }
    assert [wanted.items() <= headers.items() for headers in watched.headers] == [True, True, False, False]


def test_a_key_of_the_bucket_itself(watched: Watched) -> None:
    """Where the bucket encrypts by KMS on its own, an ETag that is no MD5 is no sign of damage."""
    headers = {"ETag": f'"{"0" * 32}"', "x-amz-server-side-encryption": "aws:kms"}
    watched.answer(lambda _: Reply(200, b"", headers))
    watched.destination.put("a", b"1")
    assert watched.methods == ["PUT"]

    size_bytes, etag = 9 * MEBIBYTE, f'"{"0" * 32}-2"'
    done = f"<CompleteMultipartUploadResult><ETag>{etag}</ETag></CompleteMultipartUploadResult>".encode()
    answers = {
        "PUT": Reply(200, b"", headers),
        "HEAD": Reply(200, b"", {**headers, "ETag": etag, "Content-Length": str(size_bytes)}),
    }
    watched.answer(lambda asked: answers.get(asked.method, Reply(200, done if "=" in asked.path else BEGUN)))
    staged = finished(watched.destination, part_name(), b"x" * size_bytes)
    watched.destination.publish([staged])

    assert watched.methods == ["POST", "PUT", "PUT", "POST", "HEAD"]


def test_delete_many_by_few_requests(watched: Watched) -> None:
    """Names are deleted a thousand by one request, those that its language cannot write by one each."""
    odd = ["day=1/\x01", "day=1/\x1f"]
    for name in [*odd, "day=1/\r\n", "day=1/a&b<c>"]:
        watched.bucket.put(watched.prefix + name, b"")
    watched.answer(lambda _: None)
    watched.destination.delete([*(f"day=1/{i}" for i in range(1998)), "day=1/\r\n", "day=1/a&b<c>", *odd])

    assert sorted(watched.methods) == ["DELETE", "DELETE", "POST", "POST"]
    assert names(watched.destination) == []


def test_delete_where_there_are_no_batches(watched: Watched) -> None:
    """A store without batches is asked for each object, and not for a batch again."""
    for i in range(5):
        watched.bucket.put(f"{watched.prefix}{i}", b"")
    refusal = s3_error(501, "NotImplemented")
    watched.answer(lambda asked: refusal if asked.method == "POST" else None)
    watched.destination.delete(["0", "1"])
    watched.destination.delete(["2", "3"])

    assert watched.methods == ["POST", *["DELETE"] * 4]
    assert names(watched.destination) == ["4"]


def test_delete_that_is_answered_with_nothing(watched: Watched) -> None:
    """What a batch is not answered for is deleted one by one."""
    for name in "abc":
        watched.bucket.put(watched.prefix + name, b"")
    one = f"<DeleteResult><Deleted><Key>{watched.prefix}c</Key></Deleted></DeleteResult>".encode()
    watched.answer(lambda asked: Reply(200, one) if asked.method == "POST" else None)
    watched.destination.delete(["a", "b", "c"])

    assert watched.methods == ["POST", "DELETE", "DELETE"]
    assert names(watched.destination) == ["c"]


def test_delete_that_fails_for_some(watched: Watched) -> None:
    """Of a batch that was done in part the rest is tried again, and what may not be deleted is an error."""
    key, other = watched.prefix + "b", watched.prefix + "a"
    failed = f"<Error><Key>{key}</Key><Code>SlowDown</Code></Error>"
    some = f"<DeleteResult><Deleted><Key>{other}</Key></Deleted>{failed}</DeleteResult>".encode()
    answers = iter([Reply(200, some)])
    watched.answer(lambda _: next(answers, None))
    watched.destination.delete(["a", "b"])
    assert watched.methods == ["POST", "POST"]
    assert int(watched.headers[1]["content-length"]) < int(watched.headers[0]["content-length"])

    nameless = some.replace(f"<Key>{key}</Key>".encode(), b"")
    answers = iter([Reply(200, nameless)])
    watched.answer(lambda _: next(answers, None))
    watched.destination.delete(["a", "b"])
    assert watched.methods == ["POST", "POST"]

    denied = some.replace(b"SlowDown", b"AccessDenied")
    watched.answer(lambda _: Reply(200, denied))
    with pytest.raises(DestinationDenied, match=r"'s3://.*b'"):
        watched.destination.delete(["a", "b"])


@pytest.mark.parametrize(
    ("status", "code"), [(403, "AccessDenied"), (501, "NotImplemented"), (404, "NoSuchKey")]
)
def test_sweep_without_the_right_to(watched: Watched, status: int, code: str) -> None:
    """Who may not list unfinished uploads gets one warning, which names the rule that removes them."""
    watched.answer(lambda _: s3_error(status, code))
    watched.destination.sweep([RUN])
    watched.destination.sweep([OTHER_RUN])

    assert len(watched.destination.warnings) == 1
    assert "AbortIncompleteMultipartUpload" in watched.destination.warnings[0]


def test_sweep_leaves_the_uploads_of_others(watched: Watched) -> None:
    """Uploads that bear no run id, another one, or this one in a folder's name alone, are left alone."""
    client, bucket = watched.bucket.server.client, watched.bucket.name
    elsewhere = f"elsewhere/{part_name(RUN)}"
    others = [f"{watched.prefix}{name}" for name in ("large", part_name(OTHER_RUN), f"{RUN}/large")]
    for key in [*others, watched.prefix + part_name(RUN), elsewhere]:
        client.create_multipart_upload(Bucket=bucket, Key=key)
    watched.destination.sweep([RUN])

    assert watched.uploads == sorted(others)
    assert elsewhere in watched.bucket.uploads()


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("auto", "http://store.example/lake?"),
        ("path", "http://store.example/lake?"),
        ("virtual", "http://lake.store.example/?"),
    ],
)
def test_addressing_style(
    elsewhere: FaultProxy, style: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bucket stands in the path of an endpoint's URL, and in its host name only where it shall."""
    monkeypatch.setenv("HTTP_PROXY", elsewhere.url)
    _list(_settings("http://store.example", addressing_style=style))

    assert [path[: len(expected)] for _, path in elsewhere.asked] == [expected]


@pytest.mark.parametrize("from_environment", [False, True])
def test_an_endpoint_and_nothing_else(
    shared_s3_bucket: S3Bucket,
    elsewhere: FaultProxy,
    monkeypatch: pytest.MonkeyPatch,
    *,
    from_environment: bool,
) -> None:
    """Where an endpoint is given, by the config or the SDK's variable, nothing is asked anywhere else."""
    monkeypatch.setenv("HTTP_PROXY", elsewhere.url)
    monkeypatch.setenv("HTTPS_PROXY", elsewhere.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    settings = shared_s3_bucket.settings("elsewhere/")
    if from_environment:
        assert settings.endpoint_url is not None
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", settings.endpoint_url)
        settings = shared_s3_bucket.settings("elsewhere/", endpoint_url=None)
    with closing(S3Destination(settings, PATIENCE)) as destination:
        destination.put("a", b"1")
        assert names(destination) == ["a"]
        destination.sweep([RUN])

    assert elsewhere.asked == []


@pytest.mark.parametrize(
    ("variables", "stated", "expected"),
    [({}, None, "us-east-1"), ({"AWS_DEFAULT_REGION": "eu-west-3"}, None, "eu-west-3"), ({}, "auto", "auto")],
)
def test_region(
    elsewhere: FaultProxy,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    stated: str | None,
    expected: str,
) -> None:
    """Requests are signed for the region of the config, else the SDK's, else one that every store knows."""
    seen: list[str] = []
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    def fault(asked: Asked, _: Forward) -> Reply:
        seen.append(asked.headers["Authorization"])
        return Reply(200, LISTING)

    elsewhere.choose = lambda *_: fault
    _list(_settings(elsewhere.url, region=stated))

    assert [f"/{expected}/s3/aws4_request" in text for text in seen] == [True]


def test_a_profile(shared_s3_bucket: S3Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A profile of the SDK's files gives the keys, and its endpoint does not count beside the config's."""
    key = shared_s3_bucket.server.account
    file = tmp_path / "credentials"
    file.write_text(
        f"[nightly]\naws_access_key_id = {key.access_key}\naws_secret_access_key = {key.secret_key}\n"
        f"endpoint_url = http://127.0.0.1:{free_port()}\n"
    )
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    settings = shared_s3_bucket.settings("profile/", profile="nightly", access_key=None, secret_key=None)
    with closing(S3Destination(settings, PATIENCE)) as destination:
        destination.put("a", b"1")

    assert shared_s3_bucket.keys("profile/") == ["profile/a"]


def test_a_session_token(elsewhere: FaultProxy) -> None:
    """The token of a session goes with each request."""
    seen: list[str | None] = []

    def fault(asked: Asked, _: Forward) -> Reply:
        seen.append(asked.headers.get("X-Amz-Security-Token"))
        return Reply(200, LISTING)

    elsewhere.choose = lambda *_: fault
    _list(_settings(elsewhere.url, session_token=Secret("t0ken==")))

    assert seen == ["t0ken=="]


@pytest.fixture(scope="module")
def one_elsewhere() -> Iterator[FaultProxy]:
    """Run a server that is no store of ours."""
    with run_fault_proxy(f"http://127.0.0.1:{free_port()}") as proxy:
        yield proxy


@pytest.fixture
def elsewhere(one_elsewhere: FaultProxy) -> FaultProxy:
    """Give a server that answers all with an empty listing."""
    one_elsewhere.spare()
    one_elsewhere.choose = lambda *_: unheard(Reply(200, LISTING))
    return one_elsewhere


def _settings(endpoint_url: str, **more: Any) -> S3DestinationSettings:
    stated = {"endpoint_url": endpoint_url, "access_key": Secret("key"), "secret_key": Secret("secret")}
    return S3DestinationSettings("lake", "", "{partition}", **{**stated, **more})


def _list(settings: S3DestinationSettings) -> None:
    with closing(S3Destination(settings, PATIENCE)) as destination:
        assert names(destination) == []


def _wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_an_sdk_without_the_names_that_its_sockets_are_watched_by(
    shared_s3_bucket: S3Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests are made as with any other; only cutting them is not possible."""

    class Later:
        """A client of the SDK that keeps its inner parts elsewhere."""

        def __init__(self, *arguments: Any) -> None:
            self._client = make_client(*arguments)

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            return getattr(self._client, name)

    monkeypatch.setattr("rivet.destination.s3.connection.make_client", Later)
    with closing(S3Destination(shared_s3_bucket.settings(f"requests/{next(_numbers)}/"), PATIENCE)) as it:
        it.put("manifest.json", b"data")
        assert (names(it), it.read("manifest.json")) == (["manifest.json"], b"data")
