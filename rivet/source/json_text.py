"""JSON texts in Arrow columns, without a Python object for each: telling what is JSON, and reading lists.

Pure. What is JSON is RFC 8259: a reader that takes NaN, comments or what follows a value would let pass what
others refuse.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pajson

MAX_DEPTH = 1000  # of JSON; the parsers of readers go no deeper

# What has been seen stands as a sign that no JSON holds: a string and any other value.
_STRING, _VALUE = "\x01", "\x02"
_SIGNS = r"[\x00-\x08\x0b\x0c\x0e-\x1f]"
_QUOTED = r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"'
_SPACE = r"[ \t\r\n]*"
_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_ANY = f"(?:[{_STRING}{_VALUE}]|{_NUMBER}|true|false|null){_SPACE}"
_MEMBER = f"{_STRING}{_SPACE}:{_SPACE}{_ANY}"


def _separated(item: str) -> str:
    return f"{_SPACE}(?:{item}(?:,{_SPACE}{item})*)?"


_INNERMOST = rf"\{{{_separated(_MEMBER)}\}}|\[{_separated(_ANY)}\]"
_ONE_VALUE = f"^{_SPACE}{_ANY}$"

_LISTS = pa.schema({"v": pa.list_(pa.field("element", pa.string()))})


def first_not_json(texts: pa.Array) -> int | None:
    """Give the place of the first text that is not one JSON value, or None; NULL is no text.

    Strings first, then again and again the innermost objects and arrays, are replaced by a sign, until
    nothing is left to replace: what was JSON is then one value.
    """
    left = pc.replace_substring_regex(texts, _QUOTED, _STRING)
    for _ in range(MAX_DEPTH):
        if not pc.any(pc.match_substring_regex(left, _INNERMOST)).as_py():
            break
        left = pc.replace_substring_regex(left, _INNERMOST, _VALUE)
    has_sign = pc.match_substring_regex(texts, _SIGNS)
    is_json = pc.and_not(pc.match_substring_regex(left, _ONE_VALUE), has_sign)
    place: int = pc.index(is_json, value=False).as_py()
    return None if place < 0 else place


def lists_of_text(texts: pa.Array) -> pa.ListArray:
    """Read JSON arrays of strings and nulls; NULL is no list.

    Raises:
        pa.ArrowInvalid: A text is something else.
    """
    if not len(texts):
        return pa.array([], _LISTS.field(0).type)
    lines = pc.binary_join_element_wise('{"v":', pc.fill_null(texts, "null"), "}\n", "").buffers()[2]
    table = pajson.read_json(
        pa.BufferReader(lines),
        # One block, above the input's length: a list may be of any size.
        read_options=pajson.ReadOptions(block_size=lines.size + 1, use_threads=False),
        parse_options=pajson.ParseOptions(explicit_schema=_LISTS, unexpected_field_behavior="error"),
    )
    if len(table) != len(texts):
        raise pa.ArrowInvalid("a text holds more than one JSON array")
    return table.column(0).combine_chunks()
