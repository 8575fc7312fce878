"""The three files that describe a tree: written to the letter, and read as they were written."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from rivet.manifest.codec import (
    decode_export,
    decode_manifest,
    digest,
    encode_export,
    encode_manifest,
    success_marker,
)
from rivet.manifest.model import (
    ExportFile,
    ExportPartitionFacts,
    Manifest,
    Part,
    PartitionEntry,
    PartitionFacts,
    Pending,
    PendingPartition,
    SourceFacts,
)
from tests.manifest.samples import EXPORT, MANIFEST


class TestFormat:
    """What is written."""

    def test_manifest_text(self) -> None:
        """A manifest is written to the letter: order of keys, indent, no escapes, final newline."""
        assert encode_manifest(MANIFEST).decode() == (
            """{
  "manifest_version": 1,
  "tool": "rivet 0.1.0",
  "run_id": "20230102T030405Z-0123abcd",
  "export_name": "événements",
  "mode": "full",
  "status": "complete",
  "started_at": "2023-01-02T03:04:05.000000Z",
  "finished_at": "2023-01-02T03:04:06.000000Z",
  "source": {
    "engine": "postgres",
    "table": "public.events",
    "consistency": "snapshot"
  },
  "partition": {
    "column": "created_at",
    "key": "created_at",
    "value": "2023-01-01",
    "granularity": "day",
    "timezone": "UTC",
    "start": "2023-01-01T00:00:00.000000Z",
    "end": "2023-01-02T00:00:00.000000Z",
    "is_null": false,
    "value_format": "YYYY-MM-DD",
    "reader_type": "date",
    "calendar": "proleptic-gregorian"
  },
  "destination": {
    "kind": "local",
    "uri": "file:///data/events/"
  },
  "format": "parquet",
  "compression": "zstd",
  "schema": [
    {
      "name": "id",
      "type": "int64",
      "nullable": true,
      "source_type": "bigint"
    },
    {
      "name": "created_at",
      "type": "timestamp[us, UTC]",
      "nullable": true,
      "source_type": "timestamptz"
    }
  ],
  "schema_fingerprint": "sha256:0000000000000000000000000000000000000000000000000000000000000000",
  "row_count": 2,
  "part_count": 1,
  "size_bytes": 1234,
  "parts": [
    {
      "part_id": 0,
      "path": "events__2023-01-01_20230102T030405Z-0123abcd_00000.parquet",
      "row_count": 2,
      "size_bytes": 1234,
      "sha256": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
      "minimum": "2023-01-01T00:00:00.000000Z",
      "maximum": "2023-01-01T23:59:59.999999Z"
    }
  ],
  "unrepresentable_rows": {}
}
"""
        )

    def test_export_text(self) -> None:
        """An export file is written in the order of the format, additions at the end of their object."""
        document = json.loads(encode_export(EXPORT))

        assert list(document) == [
            *(
                "export_version",
                "tool",
                "export_name",
                "run_id",
                "status",
                "started_at",
                "finished_at",
                "mode",
            ),
            *("source", "partition", "span", "schema", "schema_fingerprint", "source_rows"),
            *("source_null_rows", "unrepresentable_rows", "row_count", "partitions", "pending"),
            "manifest_name",
        ]
        assert list(document["source"]) == ["engine", "query_sha256", "consistency"]
        assert list(document["partition"]) == ["column", "key", "granularity", "timezone", "template"]
        assert list(document["partitions"][0]) == [
            *("value", "path", "state", "run_id", "consistency", "row_count", "size_bytes", "manifest_sha256")
        ]
        assert list(document["pending"]) == ["run_id", "partitions"]
        assert list(document["pending"]["partitions"][0]) == ["value", "old_sha256", "new_sha256", "path"]

    def test_pending_absent(self) -> None:
        """An export file has no key `pending` unless a run has begun."""
        assert "pending" not in json.loads(encode_export(replace(EXPORT, pending=None)))

    def test_marker(self) -> None:
        """The marker holds the digest of the manifest's bytes and a newline."""
        assert success_marker(b"{}\n") == (
            b"sha256:ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356\n"
        )

    def test_digest(self) -> None:
        """A digest is the word sha256, a colon and lower-case hex."""
        assert digest(b"abc") == "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


_text = st.text(max_size=12)
_nullable_text = st.none() | _text
_count = st.integers(0, 2**63 - 1)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_text, inner, max_size=3),
    max_leaves=6,
)
_extra = st.dictionaries(st.text(max_size=8).map(lambda key: f"x{key}"), _json, max_size=2)
_segment = st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1, max_size=8).filter(
    lambda s: s not in (".", "..")
)
_path = st.lists(_segment, min_size=1, max_size=3).map("/".join)
_directory = st.just("") | _path
_sources = st.builds(
    SourceFacts,
    engine=_text,
    consistency=_text,
    table=_nullable_text,
    query_sha256=_nullable_text,
    extra=_extra,
)
_columns = st.builds(
    lambda known, extra: {**known, **extra},
    st.fixed_dictionaries({"name": _text, "type": _text, "nullable": st.booleans(), "source_type": _text}),
    _extra,
)
_schemas = st.lists(_columns, max_size=3).map(tuple)
_counts = st.dictionaries(_text, _count, max_size=2)
_manifests = st.builds(
    Manifest,
    tool=_text,
    run_id=_text,
    export_name=_text,
    mode=_text,
    started_at=_text,
    finished_at=_text,
    source=_sources,
    partition=st.none()
    | st.builds(
        PartitionFacts,
        column=_text,
        key=_text,
        value=_text,
        granularity=_text,
        timezone=_nullable_text,
        start=_nullable_text,
        end=_nullable_text,
        is_null=st.booleans(),
        value_format=_text,
        reader_type=_text,
        calendar=_text,
        extra=_extra,
    ),
    destination=st.fixed_dictionaries({"kind": _text, "uri": _text}),
    format=_text,
    compression=_text,
    schema=_schemas,
    schema_fingerprint=_text,
    row_count=_count,
    size_bytes=_count,
    parts=st.lists(
        st.builds(
            Part,
            part_id=_count,
            path=_path,
            row_count=_count,
            size_bytes=_count,
            sha256=_text,
            minimum=_nullable_text,
            maximum=_nullable_text,
            extra=_extra,
        ),
        max_size=3,
    ).map(tuple),
    unrepresentable_rows=_counts,
    status=_text,
    extra=_extra,
)
_exports = st.builds(
    ExportFile,
    tool=_text,
    export_name=_text,
    run_id=_text,
    status=st.sampled_from(["publishing", "complete", "partial"]),
    started_at=_text,
    finished_at=_nullable_text,
    mode=_text,
    source=_sources,
    partition=st.none()
    | st.builds(
        ExportPartitionFacts,
        column=_text,
        key=_text,
        granularity=_text,
        timezone=_nullable_text,
        template=_path,
        extra=_extra,
    ),
    span=st.fixed_dictionaries({"minimum": _nullable_text, "maximum": _nullable_text}),
    schema=_schemas,
    schema_fingerprint=_text,
    source_rows=st.none() | _count,
    source_null_rows=st.none() | _count,
    unrepresentable_rows=_counts,
    row_count=_count,
    partitions=st.lists(
        st.builds(
            PartitionEntry,
            value=_nullable_text,
            path=_directory,
            state=st.sampled_from(["live", "kept", "failed"]),
            run_id=_text,
            consistency=_text,
            row_count=_count,
            size_bytes=_count,
            manifest_sha256=_text,
            extra=_extra,
        ),
        max_size=3,
    ).map(tuple),
    manifest_name=_path,
    pending=st.none()
    | st.builds(
        Pending,
        run_id=_text,
        partitions=st.lists(
            st.builds(
                PendingPartition,
                value=_nullable_text,
                path=_directory,
                old_sha256=_nullable_text,
                new_sha256=_nullable_text,
                extra=_extra,
            ),
            max_size=3,
        ).map(tuple),
        extra=_extra,
    ),
    extra=_extra,
)


class TestRoundTrip:
    """What is written is read again."""

    @given(_manifests)
    def test_manifest(self, manifest: Manifest) -> None:
        """Any manifest is read as it was written, unknown keys of every object included."""
        assert decode_manifest(encode_manifest(manifest)) == manifest

    @given(_exports)
    def test_export(self, export: ExportFile) -> None:
        """Any export file is read as it was written, unknown keys of every object included."""
        assert decode_export(encode_export(export)) == export

    def test_unknown_keys(self) -> None:
        """Keys that this version does not know are kept, and written back after the known ones."""
        document = json.loads(encode_manifest(MANIFEST))
        document["signature"] = {"by": ["someone"]}
        document["parts"][0]["rows_deleted"] = 0
        document["destination"]["replicas"] = 3

        again = json.loads(encode_manifest(decode_manifest(json.dumps(document).encode())))

        assert again == document
        assert list(again)[-1] == "signature"


def test_documented_examples() -> None:
    """The examples in the documentation are such files, to the byte, and belong together."""
    text = (Path(__file__).parents[2] / "docs" / "manifest.md").read_text(encoding="utf-8")
    manifest, export = (block.encode() for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL))

    assert encode_manifest(decode_manifest(manifest)) == manifest
    assert encode_export(decode_export(export)) == export
    assert decode_export(export).partitions[0].manifest_sha256 == digest(manifest)
    assert f"```\n{success_marker(manifest).decode()}```" in text
