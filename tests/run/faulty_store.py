"""A small export into a bucket behind a proxy that fails requests, and what may stand in it afterwards."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import random
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from rivet.outcome import ExportOutcome
from tests.run.buckets import Bucket
from tests.run.running import by_day, run_one, settings
from tests.run.trees import NULL, Rows
from tests.servers.faults import FaultProxy
from tests.servers.s3 import S3Bucket
from tests.servers.sqlite import SqliteDatabase

EXPORT_FILE = "_rivet_export.json"
LOCK_FILE = "_rivet_lock.json"
FOREIGN = {"created_at=2023-01-01/notes.txt": b"foreign", "created_at=2023-01-03/sub/_SUCCESS": b"foreign"}

FIRST_NIGHT = """
CREATE TABLE events (id INTEGER PRIMARY KEY, created_at DATETIME, note TEXT, body BLOB);
INSERT INTO events VALUES (1, '2023-01-01 00:00:00', 'a', NULL), (2, '2023-01-01 23:59:59.999999', 'b', NULL),
 (3, '2023-01-02 12:00:00', 'large', x'{body}'), (4, '2023-01-03 01:00:00', 'empties', NULL),
 (5, '2023-01-04 01:00:00', 'stays', NULL),
 (6, NULL, 'filled in', NULL);
"""
SECOND_NIGHT = """
DELETE FROM events WHERE id = 4;
UPDATE events SET body = x'{body}' WHERE id = 3;
UPDATE events SET created_at = '2023-01-05 05:00:00' WHERE id = 6;
INSERT INTO events VALUES (8, '2023-01-01 10:00:00', 'late', NULL);
"""

Objects = Mapping[str, bytes]


class FaultyStore:
    """A bucket with one tree below each of many prefixes, all of the same table, on its second night.

    Attributes:
        proxy: What stands between the runs and the bucket.
        rows: What each partition may hold: its rows of the first night, and of the second.
    """

    def __init__(self, directory: Path, bucket: Bucket, proxy: FaultProxy, small_bytes: int) -> None:
        self.proxy = proxy
        self.bucket = bucket
        self._directory = directory
        self._database = SqliteDatabase(directory / "source.db")
        self._database.execute(FIRST_NIGHT.format(body=_noise(small_bytes)))
        prefix = next(_prefixes)
        first = _rows(self._database)
        assert self.run(prefix).partitions_written == len(first)
        self._before = {**self.objects(prefix), **FOREIGN}
        self._database.execute(SECOND_NIGHT.format(body=_noise(small_bytes)))
        self._new = _rows(self._database)
        self.rows = {label: (first.get(label), self._new.get(label)) for label in {*first, *self._new}}

    def tree(self) -> str:
        """Put the tree of the first night, with foreign objects in it, under a new prefix, and give that."""
        prefix = next(_prefixes)
        for name, data in self._before.items():
            self.bucket.put(prefix + name, data)
        self.proxy.spare()
        return prefix

    def run(self, prefix: str) -> ExportOutcome:
        """Run the export into the tree, in this process."""
        environ = self.bucket.environment
        return run_one(self._directory, self._database.source, self._export(prefix), environ=environ)

    def config(self, prefix: str) -> Path:
        """Write the config of that run."""
        environ = self.bucket.environment
        settings(self._directory, self._database.source, self._export(prefix), environ=environ)
        return self._directory / "rivet.yaml"

    def objects(self, prefix: str) -> dict[str, bytes]:
        """Give all that stands in a tree, past the proxy, but for the lock, which comes and goes."""
        keys = [key for key in self.bucket.keys(prefix) if key != prefix + LOCK_FILE]
        return {key.removeprefix(prefix): self.bucket.read(key) for key in keys}

    def assert_untouched(self, prefix: str) -> None:
        """Assert that a tree is, byte for byte, that of the first night, and that nothing is unfinished."""
        assert self.objects(prefix) == self._before
        assert self.uploads(prefix) == []

    def assert_old_or_new(self, prefix: str) -> None:
        """Assert that by its manifest each partition is old or new and whole, and no marker says more."""
        objects = self.objects(prefix)
        seen = {}
        for name in (name for name in objects if name.endswith("/manifest.json")):
            label = name.partition("=")[2].partition("/")[0]
            seen[label] = _read_partition(objects, name)
            marker = objects.get(name.replace("manifest.json", "_SUCCESS"))
            assert marker in {None, _marker(objects[name])}, name
        for label, either in self.rows.items():
            assert seen.get(label) in either, label
        assert set(seen) <= set(self.rows)
        own_markers = [n for n in objects if n.endswith("/_SUCCESS") and n not in FOREIGN]
        assert all(n.replace("_SUCCESS", "manifest.json") in objects for n in own_markers)
        assert {name: objects.get(name) for name in FOREIGN} == FOREIGN

    def assert_new(self, prefix: str) -> None:
        """Assert that a tree is the table of the second night, with exact counts, and nothing left."""
        objects = self.objects(prefix)
        seen, listed = {}, {EXPORT_FILE, *FOREIGN}
        for name in (name for name in objects if name.endswith("/manifest.json")):
            directory = name.rpartition("/")[0]
            seen[name.partition("=")[2].partition("/")[0]] = _read_partition(objects, name)
            assert objects[f"{directory}/_SUCCESS"] == _marker(objects[name])
            parts = json.loads(objects[name])["parts"]
            listed |= {name, f"{directory}/_SUCCESS", *(f"{directory}/{part['path']}" for part in parts)}
        assert seen == self._new
        assert set(objects) == listed
        assert self.bucket.keys(prefix + LOCK_FILE) == []
        assert self.uploads(prefix) == []
        export = json.loads(objects[EXPORT_FILE])
        rows = sum(map(len, self._new.values()))
        assert (export["status"], export["row_count"], export["source_rows"]) == ("complete", rows, rows)
        assert {e["value"]: e["row_count"] for e in export["partitions"]} == {
            label: len(group) for label, group in self._new.items()
        }
        assert "pending" not in export

    def uploads(self, prefix: str) -> list[str]:
        """Give the unfinished uploads into a tree, where the store can tell."""
        if not isinstance(self.bucket, S3Bucket):
            return []
        return [key for key in self.bucket.uploads() if key.startswith(prefix)]

    def _export(self, prefix: str) -> dict[str, Any]:
        section = self.bucket.at(self.proxy.url).section
        return by_day(Path(), destination={**section, "prefix": f"{prefix}{{partition}}"})


def _rows(database: SqliteDatabase) -> dict[str, Rows]:
    rows: dict[str, Rows] = {}
    for key, created_at, note, body in database.fetch("SELECT * FROM events"):
        moment = None if created_at is None else datetime.fromisoformat(created_at)
        rows.setdefault(NULL if moment is None else created_at[:10], []).append((key, moment, note, body))
    return {label: sorted(group) for label, group in rows.items()}


def _read_partition(objects: Objects, manifest: str) -> Rows:
    """Read what a manifest lists; each part must be there, as large as it says and with its digest."""
    rows: Rows = []
    for part in json.loads(objects[manifest])["parts"]:
        data = objects[f"{manifest.rpartition('/')[0]}/{part['path']}"]
        assert (len(data), hashlib.sha256(data).hexdigest()) == (part["size_bytes"], part["sha256"])
        table = pq.ParquetFile(io.BytesIO(data)).read()
        rows += zip(*(column.to_pylist() for column in table.columns), strict=True)
    return sorted(rows)


def _marker(manifest: bytes) -> bytes:
    return f"sha256:{hashlib.sha256(manifest).hexdigest()}\n".encode()


def _noise(size_bytes: int) -> str:
    """Give bytes that no codec makes fewer, as SQL has them, some more than make a small object."""
    return _random.randbytes(size_bytes + size_bytes // 8).hex()


_random = random.Random(4)
_prefixes = (f"trees/{number}/" for number in itertools.count())
