"""What no Rivet wrote is refused by name, never by a traceback."""

from __future__ import annotations

import contextlib
import json
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
    encode_export,
    encode_manifest,
)
from tests.manifest.samples import EXPORT, MANIFEST

# Of every document that the tests below damage: a way to read it, and good bytes.
READERS = [
    pytest.param(decode_manifest, encode_manifest(MANIFEST), id="manifest"),
    pytest.param(decode_export, encode_export(EXPORT), id="export"),
]


_text = st.text(max_size=12)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_text, inner, max_size=3),
    max_leaves=6,
)


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
