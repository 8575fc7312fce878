"""Runs into a store whose listings leave things out: no row stands twice, and no hint leads astray."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.run.buckets import STORES, Bucket
from tests.run.faulty_store import FaultyStore
from tests.servers.faults import Asked, Fault, Forward, Reply, run_fault_proxy
from tests.servers.gcs import GcsBucket
from tests.servers.s3 import S3Bucket

SMALL_BYTES = 1000


@pytest.fixture
def faulty(store: str, s3_bucket: S3Bucket, gcs_bucket: GcsBucket, tmp_path: Path) -> Iterator[FaultyStore]:
    """Give a store with a proxy before it."""
    bucket: Bucket = s3_bucket if store == "s3" else gcs_bucket
    with run_fault_proxy(bucket.server.endpoint_url) as proxy:
        yield FaultyStore(tmp_path, bucket, proxy, SMALL_BYTES)


def _leaves_out(is_left_out: Callable[[str], bool]) -> Callable[[int, Asked], Fault | None]:
    """Give what makes listings of keys leave some out."""

    def shorten(_: Asked, forward: Forward) -> Reply:
        answer = forward()
        return replace(answer, body=_shortened(answer.body, is_left_out))

    return lambda _, asked: shorten if asked.method == "GET" and "prefix=" in asked.path else None


def _shortened(page: bytes, is_left_out: Callable[[str], bool]) -> bytes:
    if page.startswith(b"{"):
        told = json.loads(page)
        told["items"] = [item for item in told.get("items", []) if not is_left_out(item["name"])]
        return json.dumps(told).encode()

    def kept(found: re.Match[str]) -> str:
        return "" if is_left_out(found[1]) else found[0]

    return re.sub(r"(?s)<Contents>.*?<Key>(.*?)</Key>.*?</Contents>", kept, page.decode()).encode()


@pytest.mark.parametrize("store", STORES)
def test_parts_that_a_listing_leaves_out(faulty: FaultyStore) -> None:
    """The parts of partitions that are replaced or vanish go all the same, with that very run."""
    prefix = faulty.tree()
    faulty.proxy.choose = _leaves_out(lambda key: key.endswith(".parquet"))
    outcome = faulty.run(prefix)

    assert (outcome.exit_code, outcome.error) == (0, None)
    faulty.assert_new(prefix)
