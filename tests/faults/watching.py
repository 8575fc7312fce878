"""Readers that trust manifests and markers, while a run is at work and afterwards."""

from __future__ import annotations

import hashlib
import io
import json
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import pyarrow.parquet as pq

from tests.faults.places import Place, content
from tests.run.trees import NULL, Rows

EXPORT_FILE = "_rivet_export.json"
MOST_LOOKS = 200
Tree = Mapping[str, Rows]
"""Rows by the label of their partition."""


class Reader:
    """Reads partitions by manifest and marker; `old` and `new` are what they may hold."""

    def __init__(self, place: Place, old: Tree, new: Tree) -> None:
        self._place = place
        self._old, self._new = old, new
        self._known: dict[bytes, Rows] = {}

    def look(self) -> None:
        """Read every partition once, and assert that it is the old one or the new one, whole."""
        for label in {*self._old, *self._new}:
            either = self._old.get(label), self._new.get(label)
            directory = f"created_at={label}"
            marker = self._place.read(f"{directory}/_SUCCESS")
            manifest, rows = self._settled(directory)
            assert rows in either, f"{label} is neither old nor new: {len(rows or ())} rows"
            if marker is not None and manifest is not None and marker == marker_of(manifest):
                assert rows is not None, label

    def assert_new(self, foreign: Mapping[str, bytes], *, of_kept_chunks: bool = False) -> None:
        """Assert that the tree is the new one, with nothing left over, and foreign files as they were.

        Args:
            of_kept_chunks: Rows may be of several moments though the source was counted at one.
        """
        objects = content(self._place)
        seen: dict[str, Rows] = {}
        listed = {EXPORT_FILE, *foreign}
        for name in (name for name in objects if name.endswith("/manifest.json")):
            directory = name.rpartition("/")[0]
            rows = self._rows(directory, objects[name])
            assert rows is not None, name
            seen[directory.partition("=")[2]] = rows
            assert objects[f"{directory}/_SUCCESS"] == marker_of(objects[name]), name
            parts = json.loads(objects[name])["parts"]
            listed |= {name, f"{directory}/_SUCCESS", *(f"{directory}/{part['path']}" for part in parts)}
        assert seen == self._new, f"rows of {counts(seen)}, expected {counts(self._new)}"
        assert set(objects) == listed, set(objects) ^ listed
        assert {name: objects[name] for name in foreign} == foreign
        export: dict[str, Any] = json.loads(objects[EXPORT_FILE])
        rows_in_all = sum(map(len, self._new.values()))
        assert (export["status"], export["row_count"]) == ("complete", rows_in_all)
        # Of a tree of several runs no one count of the source is known.
        told = {None, rows_in_all} if of_kept_chunks else {None}
        assert export["source_rows"] in (told if export["source"]["consistency"] == "none" else {rows_in_all})
        assert {e["value"]: e["row_count"] for e in export["partitions"]} == counts(self._new)
        assert "pending" not in export

    def _settled(self, directory: str) -> tuple[bytes | None, Rows | None]:
        """Read a partition by its manifest; where a part is missing the manifest must have changed."""
        manifest = self._place.read(f"{directory}/manifest.json")
        for _ in range(MOST_LOOKS):
            rows = None if manifest is None else self._rows(directory, manifest)
            if manifest is None or rows is not None:
                return manifest, rows
            again = self._place.read(f"{directory}/manifest.json")
            assert again != manifest, f"{directory} has a manifest whose parts are not there"
            manifest = again
        raise AssertionError(f"{directory} does not come to rest")

    def _rows(self, directory: str, manifest: bytes) -> Rows | None:
        """Read the parts that a manifest lists; None where one is not there."""
        rows: Rows = []
        for part in json.loads(manifest)["parts"]:
            data = self._place.read(f"{directory}/{part['path']}")
            if data is None:
                return None
            assert (len(data), hashlib.sha256(data).hexdigest()) == (part["size_bytes"], part["sha256"])
            if data not in self._known:
                table = pq.ParquetFile(io.BytesIO(data)).read()
                self._known[data] = list(zip(*(c.to_pylist() for c in table.columns), strict=True))
            rows += self._known[data]
        return sorted(rows, key=repr)


class Watch:
    """Lets a reader loop for as long as the block lasts, and then fails as it has failed.

    Attributes:
        looks: How often it has seen the whole tree.
    """

    def __init__(self, reader: Reader) -> None:
        self.looks = 0
        self._reader = reader
        self._ended = threading.Event()
        self._failure: Exception | AssertionError | None = None
        self._thread = threading.Thread(target=self._loop, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _loop(self) -> None:
        try:
            while not self._ended.is_set():
                self._reader.look()
                self.looks += 1
                self._ended.wait(0.005)
        except (Exception, AssertionError) as error:  # noqa: BLE001 - raised where the block ends
            self._failure = error


def marker_of(manifest: bytes) -> bytes:
    """Give the marker that belongs to a manifest."""
    return f"sha256:{hashlib.sha256(manifest).hexdigest()}\n".encode()


def by_label(rows: Rows) -> dict[str, Rows]:
    """Group rows of a table by the day of their second value."""
    groups: dict[str, Rows] = {}
    for row in rows:
        label = NULL if row[1] is None else row[1].date().isoformat()
        groups.setdefault(label, []).append(row)
    return {label: sorted(group, key=repr) for label, group in groups.items()}


def counts(tree: Tree) -> dict[str, int]:
    """Count the rows of each partition."""
    return {label: len(rows) for label, rows in tree.items()}
