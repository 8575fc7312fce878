"""The three files that describe a tree: written to the letter, read strictly, written back whole."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivet.errors import IntegrityError
from rivet.manifest.codec import (
    DecodeError,
    UnknownVersion,
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

MANIFEST = Manifest(
    tool="rivet 0.1.0",
    run_id="20230102T030405Z-0123abcd",
    export_name="événements",
    mode="full",
    started_at="2023-01-02T03:04:05.000000Z",
    finished_at="2023-01-02T03:04:06.000000Z",
    source=SourceFacts("postgres", "snapshot", table="public.events"),
    partition=PartitionFacts(
        column="created_at",
        key="created_at",
        value="2023-01-01",
        granularity="day",
        timezone="UTC",
        start="2023-01-01T00:00:00.000000Z",
        end="2023-01-02T00:00:00.000000Z",
        is_null=False,
        value_format="YYYY-MM-DD",
        reader_type="date",
    ),
    destination={"kind": "local", "uri": "file:///data/events/"},
    format="parquet",
    compression="zstd",
    schema=(
        {"name": "id", "type": "int64", "nullable": True, "source_type": "bigint"},
        {"name": "created_at", "type": "timestamp[us, UTC]", "nullable": True, "source_type": "timestamptz"},
    ),
    schema_fingerprint="sha256:" + "0" * 64,
    row_count=2,
    size_bytes=1234,
    parts=(
        Part(
            part_id=0,
            path="events__2023-01-01_20230102T030405Z-0123abcd_00000.parquet",
            row_count=2,
            size_bytes=1234,
            sha256="a" * 64,
            minimum="2023-01-01T00:00:00.000000Z",
            maximum="2023-01-01T23:59:59.999999Z",
        ),
    ),
    unrepresentable_rows={},
)

EXPORT = ExportFile(
    tool="rivet 0.1.0",
    export_name="events",
    run_id="20230102T030405Z-0123abcd",
    status="publishing",
    started_at="2023-01-02T03:04:05.000000Z",
    finished_at=None,
    mode="full",
    source=SourceFacts("sqlite", "statement", query_sha256="b" * 64),
    partition=ExportPartitionFacts("created_at", "created_at", "day", "UTC", "{partition}"),
    span={"minimum": "2023-01-01T00:00:00.000000Z", "maximum": None},
    schema=MANIFEST.schema,
    schema_fingerprint=MANIFEST.schema_fingerprint,
    source_rows=2,
    source_null_rows=0,
    unrepresentable_rows={"created_at": 1},
    row_count=2,
    partitions=(
        PartitionEntry(
            value="2023-01-01",
            path="created_at=2023-01-01",
            state="live",
            run_id="20230102T030405Z-0123abcd",
            consistency="snapshot",
            row_count=2,
            size_bytes=1234,
            manifest_sha256="sha256:" + "c" * 64,
        ),
    ),
    pending=Pending(
        "20230103T030405Z-0123abcd",
        (
            PendingPartition(
                "__HIVE_DEFAULT_PARTITION__",
                "created_at=__HIVE_DEFAULT_PARTITION__",
                None,
                "sha256:" + "d" * 64,
            ),
        ),
    ),
)

# Of every document that the tests below damage: a way to read it, and good bytes.
READERS = [
    pytest.param(decode_manifest, encode_manifest(MANIFEST), id="manifest"),
    pytest.param(decode_export, encode_export(EXPORT), id="export"),
]


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

        again = json.loads(encode_manifest(decode_manifest(_bytes(document))))

        assert again == document
        assert list(again)[-1] == "signature"


def _bytes(document: object) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode()


def _changed(good: bytes, place: str, value: object) -> bytes:
    """Give a document with the value at a place such as `parts.0.path` replaced."""
    document: Any = json.loads(good)
    *parents, last = [int(p) if p.isdigit() else p for p in place.split(".")]
    inner = document
    for step in parents:
        inner = inner[step]
    inner[last] = value
    return _bytes(document)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("row_count", "2", "$.row_count is '2', expected an integer from 0 to 2**63 - 1"),
        ("row_count", True, "$.row_count is true, expected an integer"),
        ("row_count", 2.0, "$.row_count is 2.0, expected an integer"),
        ("row_count", -1, "$.row_count is -1, expected an integer"),
        ("row_count", 2**63, "$.row_count is 9223372036854775808, expected an integer"),
        ("row_count", None, "$.row_count is null, expected an integer"),
        ("part_count", 2, "$.part_count is 2, expected 1, the length of $.parts"),
        ("tool", 1, "$.tool is 1, expected text"),
        ("tool", ["x"], "$.tool is a list, expected text"),
        ("source", "postgres", "$.source is 'postgres', expected an object"),
        ("source.engine", {}, "$.source.engine is an object, expected text"),
        ("partition.is_null", 0, "$.partition.is_null is 0, expected true or false"),
        ("parts", {}, "$.parts is an object, expected a list"),
        ("parts.0", None, "$.parts[0] is null, expected an object"),
        ("parts.0.size_bytes", 1e300, "$.parts[0].size_bytes is 1e+300, expected an integer"),
        ("parts.0.path", "/etc/passwd", "$.parts[0].path is '/etc/passwd', expected a relative path"),
        (
            "parts.0.path",
            "../other/x.parquet",
            "$.parts[0].path is '../other/x.parquet', expected a relative",
        ),
        ("parts.0.path", "a/../../x", "expected a relative path"),
        ("parts.0.path", "./x.parquet", "expected a relative path"),
        ("parts.0.path", "a//b", "expected a relative path"),
        ("parts.0.path", "", "$.parts[0].path is '', expected a relative path"),
        ("parts.0.path", "x\0.parquet", "expected a relative path"),
        ("parts.0.path", "a/", "expected a relative path"),
        ("schema.1.nullable", "yes", "$.schema[1].nullable is 'yes', expected true or false"),
        ("schema.1.name", None, "$.schema[1].name is null, expected text"),
        ("unrepresentable_rows", {"x": -1}, "$.unrepresentable_rows.x is -1, expected an integer"),
        ("unrepresentable_rows", [], "$.unrepresentable_rows is a list, expected an object"),
        ("manifest_version", "1", "$.manifest_version is '1', expected an integer"),
    ],
)
def test_refused_manifest(place: str, value: object, message: str) -> None:
    """A known key with a value of another kind is refused, naming the key, what was seen and expected."""
    with pytest.raises(DecodeError) as caught:
        decode_manifest(_changed(encode_manifest(MANIFEST), place, value))

    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("status", "done", "$.status is 'done', expected 'publishing' or 'complete' or 'partial'"),
        ("status", [], "$.status is a list, expected 'publishing'"),
        (
            "partitions.0.state",
            "dead",
            "$.partitions[0].state is 'dead', expected 'live' or 'kept' or 'failed'",
        ),
        ("partitions.0.path", "../x", "$.partitions[0].path is '../x', expected a relative path"),
        ("partitions.0.path", "/", "$.partitions[0].path is '/', expected a relative path"),
        (
            "pending.partitions.0.path",
            "a/./b",
            "$.pending.partitions[0].path is 'a/./b', expected a relative",
        ),
        ("pending", [], "$.pending is a list, expected an object"),
        ("span.minimum", 3, "$.span.minimum is 3, expected text"),
        ("source_rows", -5, "$.source_rows is -5, expected an integer"),
        ("manifest_name", "../manifest.json", "$.manifest_name is '../manifest.json', expected a relative"),
    ],
)
def test_refused_export(place: str, value: object, message: str) -> None:
    """An export file is read as strictly as a manifest."""
    with pytest.raises(DecodeError) as caught:
        decode_export(_changed(encode_export(EXPORT), place, value))

    assert message in str(caught.value)


class TestHostile:
    """What no Rivet wrote is refused."""

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b"", "line 1, column 1"),
            (b"\xff\xfe{}", "byte 0 is 0xff, expected UTF-8 text"),
            ('{"a": "é"}'.encode("latin-1"), "expected UTF-8 text"),
            (b"\xef\xbb\xbf{}", "expected JSON"),
            (b"[]", "$ is a list, expected an object"),
            (b"null", "$ is null, expected an object"),
            (b"{}", "has no key"),
            (b"{} {}", "expected JSON"),
            (b'{"a": NaN}', "NaN stands for a number"),
            (b'{"a": -Infinity}', "-Infinity stands for a number"),
            (b'{"a": 1e999}', "the number 1e999 is too large"),
            (b'{"a": ' + b"9" * 5000 + b"}", "a number is too long"),
            (b'{"a": 1, "b": 2, "a": 1}', "an object has the key 'a' twice"),
            (b'{"a": "\\ud800"}', "text without lone surrogates"),
            (b'{"\\udfff": 1}', "text without lone surrogates"),
            (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "the nesting is too deep"),
            (b'{"a": ' * 100_000, "the nesting is too deep"),
            (b'{"a": ' + b"[" * 70 + b"]" * 70 + b"}", "the nesting is too deep"),
        ],
    )
    @pytest.mark.parametrize("decode", [decode_manifest, decode_export])
    def test_no_document(self, decode: Any, data: bytes, message: str) -> None:
        """Bytes that are no document, or hold what JSON cannot, are refused and never a traceback."""
        with pytest.raises(DecodeError) as caught:
            decode(data)

        assert message in str(caught.value)

    @pytest.mark.parametrize(("decode", "good"), READERS)
    def test_other_version(self, decode: Any, good: bytes) -> None:
        """A version that this one does not know is said to be that, whatever else the file holds."""
        key = next(iter(json.loads(good)))
        with pytest.raises(UnknownVersion) as caught:
            decode(_bytes({key: 2, "everything": "else"}))

        assert str(caught.value) == f"$.{key} is 2, and this version of Rivet knows 1"
        assert isinstance(caught.value, IntegrityError)

    @pytest.mark.parametrize(("decode", "good"), READERS)
    def test_missing_keys(self, decode: Any, good: bytes) -> None:
        """Every key of the format must be there, but for those that have a default."""
        for key in json.loads(good):
            document = json.loads(good)
            del document[key]
            if key in ("pending", "manifest_name"):
                decode(_bytes(document))
                continue
            with pytest.raises(DecodeError) as caught:
                decode(_bytes(document))
            assert str(caught.value) == f"$ has no key {key!r}"

    @pytest.mark.parametrize(("decode", "good"), READERS)
    @given(data=st.data())
    def test_any_value_anywhere(self, decode: Any, good: bytes, data: st.DataObject) -> None:
        """Any JSON value in any place is either read or refused by name, never a traceback."""
        document = json.loads(good)
        places = list(_places(document))
        container, key = data.draw(st.sampled_from(places))
        container[key] = data.draw(_json)
        with contextlib.suppress(DecodeError):
            decode(_bytes(document))

    @pytest.mark.parametrize(("decode", "good"), READERS)
    @given(data=st.data())
    def test_any_bytes(self, decode: Any, good: bytes, data: st.DataObject) -> None:
        """Bytes cut, doubled or overwritten anywhere are either read or refused, never a traceback."""
        start, end = sorted(data.draw(st.tuples(st.integers(0, len(good)), st.integers(0, len(good)))))
        with contextlib.suppress(DecodeError):
            decode(good[:start] + data.draw(st.binary(max_size=6)) + good[end:])


def _places(value: Any) -> Any:
    """List every container of a document with each of its keys."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


def test_long_text_is_cut() -> None:
    """A message never repeats a hostile text at its full length."""
    with pytest.raises(DecodeError) as caught:
        decode_manifest(_changed(encode_manifest(MANIFEST), "row_count", "9" * 10_000))

    assert len(str(caught.value)) < 200
