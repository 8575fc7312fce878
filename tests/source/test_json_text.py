"""What is JSON, told by columns: RFC 8259, no more and no less."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rivet.source.json_text import MAX_DEPTH, first_not_json, lists_of_text

DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def is_json(text: str) -> bool:
    """Ask another parser, without its liberties."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        return False
    return not text.startswith("\ufeff")


@given(DOCUMENTS, st.sampled_from([None, 1]), st.booleans())
def test_every_document_is_json(document: Any, indent: int | None, ascii_only: bool) -> None:
    """What another library writes is JSON, tight or with spaces, escaped or not."""
    text = json.dumps(document, indent=indent, ensure_ascii=ascii_only)
    assert first_not_json(pa.array([None, text, f" {text}\r\n"])) is None


@given(DOCUMENTS, st.data())
def test_a_damaged_document_is_told_as_another_parser_tells_it(document: Any, data: st.DataObject) -> None:
    """A sign taken out, doubled or put in makes JSON of another kind, or none: both parsers agree."""
    text = json.dumps(document)
    place = data.draw(st.integers(0, len(text)))
    sign = data.draw(
        st.sampled_from([*'[]{}",:\\0-.e \n\x00\x01\x02', "1,", "null", text[place : place + 1] * 2])
    )
    damaged = text[:place] + sign + text[place + data.draw(st.integers(0, 1)) :]

    assert (first_not_json(pa.array([damaged])) is None) == is_json(damaged)


@given(st.text(alphabet='[]{}",:\\u0012-.eE+truefalsn \x01\x02', max_size=12))
@example('"a[", 1, "]b"')
@example('["[",1,"]"]')
@example("[1]]")
@example('"\\ud800"')
def test_any_text_is_told_as_another_parser_tells_it(text: str) -> None:
    """Two parsers agree about any text."""
    assert (first_not_json(pa.array([text])) is None) == is_json(text)


def test_the_first_text_that_is_not_json_is_found() -> None:
    """Its place is told, past NULLs and what is JSON."""
    assert first_not_json(pa.array(["1", None, "{", "["])) == 2
    assert first_not_json(pa.array([None, None], pa.string())) is None
    assert first_not_json(pa.array([], pa.string())) is None


def test_depth_has_an_end() -> None:
    """What is nested deeper than readers go is refused, and does not end the process."""
    assert first_not_json(pa.array(["[" * MAX_DEPTH + "]" * MAX_DEPTH])) is None
    assert first_not_json(pa.array(["[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)])) == 0
    assert first_not_json(pa.array(["[" * 100_000])) == 0


@given(st.lists(st.none() | st.lists(st.none() | st.text()), max_size=6))
@example([[], None, [None], [""], ["null", 'a"b\\c\n\x01é😀', "2023-01-01", "1"]])
def test_lists_of_texts_arrive(lists: list[list[str | None] | None]) -> None:
    """Empty lists, NULL, lists of NULLs and any text in them are kept apart."""
    texts = pa.array([None if one is None else json.dumps(one) for one in lists], pa.string())
    arrived = lists_of_text(texts)
    arrived.validate(full=True)

    assert arrived.to_pylist() == lists


@pytest.mark.parametrize(
    "text", ['["a"', '["a"]]', "[1]", "{}", '[["a"]]', "", '"a"', '["a"]}\n{"v":["b"]', '[],"w":[]']
)
def test_what_is_no_list_of_texts_is_refused(text: str) -> None:
    """Another value than a list of strings and nulls is an error, and never two rows."""
    with pytest.raises(pa.ArrowInvalid):
        lists_of_text(pa.array(["[]", text]))
