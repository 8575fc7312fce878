"""Hostile and broken trees: whatever the bytes are, there is a verdict and never an exception."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rivet.destination.memory import MemoryDestination
from rivet.manifest.codec import digest, success_marker
from rivet.manifest.verdict import Verdict
from rivet.plan.names import EXPORT_FILE
from rivet.validate import Depth, validate
from tests.validate.build import FIRST, RUN_ID, SECOND, events
from tests.validate.looking import DEPTHS


@cache
def clean() -> dict[str, bytes]:
    """Give the files of a clean tree."""
    with tempfile.TemporaryDirectory() as directory:
        root = events(Path(directory)).finish()
        return {str(f.relative_to(root)): f.read_bytes() for f in root.rglob("*") if f.is_file()}


def look(files: dict[str, bytes], prefix: str = "", depth: Depth = "full") -> Verdict:
    """Validate files in memory."""
    destination = MemoryDestination()
    destination.objects = files
    return validate(destination, prefix, depth=depth)


PART = f"{FIRST}/events__2023-01-01_{RUN_ID}_00000.parquet"

_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(
        [FIRST, SECOND, "", "created_at", "2023-01-02", "live", "kept", "failed", "day", "month"]
    ),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("name", [PART, f"{FIRST}/manifest.json", f"{FIRST}/_SUCCESS", EXPORT_FILE])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_bytes(name: str, depth: Depth, data: st.DataObject) -> None:
    """Any file with bytes cut, doubled or overwritten gives a verdict; at full depth it fails."""
    good = clean()[name]
    # The ends of a file are where formats keep what leads to the rest.
    position = st.integers(0, len(good)) | st.integers(max(0, len(good) - 16), len(good))
    start, end = sorted(data.draw(st.tuples(position, position)))
    bad = good[:start] + data.draw(st.binary(max_size=8)) + good[end:]

    verdict = look({**clean(), name: bad}, depth=depth)

    # A word of the export file that nothing hangs on, such as the tool, may be any other.
    assert verdict.passed == (bad == good) or name == EXPORT_FILE or depth == "quick"


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_footer(data: st.DataObject) -> None:
    """A part whose footer is damaged at will gives a verdict at quick depth, where nothing else guards it."""
    good = clean()[PART]
    footer = len(good) - 8 - int.from_bytes(good[-8:-4], "little")
    bad = bytearray(good)
    for position in data.draw(st.lists(st.integers(footer, len(good) - 1), min_size=1, max_size=4)):
        bad[position] = data.draw(st.integers(0, 255))

    look({**clean(), PART: bytes(bad)}, depth="quick")


@pytest.mark.parametrize("name", [f"{FIRST}/manifest.json", EXPORT_FILE])
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_values(name: str, data: st.DataObject) -> None:
    """Any JSON value in any place of a manifest, marker agreeing, or of an export file gives a verdict."""
    document = json.loads(clean()[name])
    container, key = data.draw(st.sampled_from(list(_places(document))))
    container[key] = data.draw(_json)
    bad = json.dumps(document).encode()
    files = {**clean(), name: bad}
    if name != EXPORT_FILE:
        files[f"{FIRST}/_SUCCESS"] = success_marker(bad)
        files[EXPORT_FILE] = files[EXPORT_FILE].replace(digest(clean()[name]).encode(), digest(bad).encode())

    look(files)
    look(files, FIRST)


@given(
    st.dictionaries(
        st.sampled_from([EXPORT_FILE, "manifest.json", "_manifest.json", "_SUCCESS"]), st.binary()
    )
)
def test_anything(files: dict[str, bytes]) -> None:
    """Files that only have Rivet's names are never a valid tree."""
    assert not look(files).passed


def _places(value: Any) -> Any:
    """List every container of a document with each of its keys."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])
