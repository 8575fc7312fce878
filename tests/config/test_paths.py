"""Names and paths that a config gives to what lands."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivet.config.paths import escaped_bytes, export_name_fault, key_fault, overlaps, split_path
from rivet.plan.names import escape, part_name, partition_directory
from rivet.plan.windows import NULL_VALUE

_RUN_ID = "20230102T030405Z-0123abcd"


@pytest.mark.parametrize("character", [chr(i) for i in range(256)] + ["€", "😀"])
def test_lengths_are_those_of_the_escaped_name(character: str) -> None:
    """The length that a config is checked for is the one that lands."""
    assert escaped_bytes(character) == len(escape(character).encode())


@pytest.mark.parametrize(("letter", "count"), [("n", 180), ("é", 90), ("%", 60)])
def test_the_longest_names_fit_a_file_system(letter: str, count: int) -> None:
    """A name at the limit makes parts that a file system takes, and one more character is refused."""
    name = letter * count

    assert export_name_fault(name) is None
    assert len(part_name(name, NULL_VALUE, _RUN_ID, 9_999_999_999).encode()) <= 255
    assert export_name_fault(name + letter) is not None


def test_the_longest_keys_fit_a_file_system() -> None:
    """A key at the limit makes directories that a file system takes."""
    key = "k" * 228

    assert key_fault(key) is None
    assert len(partition_directory(key, NULL_VALUE).encode()) <= 255
    assert key_fault(key + "k") is not None


_SEGMENT = st.sampled_from(["a", "b", "ab", "a.b"])


@given(st.lists(st.lists(_SEGMENT, min_size=1, max_size=4), max_size=8))
def test_overlaps_are_found_as_by_comparing_each_pair(segments: list[list[str]]) -> None:
    """Some pair overlaps if and only if one is told, and each pair that is told does."""
    roots = [Path("/nowhere", *each) for each in segments]
    found = overlaps([root.parts for root in roots])

    for outer, inner in found:
        assert roots[inner].is_relative_to(roots[outer])
    told = {inner for _, inner in found}
    rest = [root for i, root in enumerate(roots) if i not in told]
    assert not any(a.is_relative_to(b) for i, a in enumerate(rest) for j, b in enumerate(rest) if i != j)


def test_a_root_is_told_without_steps_back_unless_a_link_gives_them_a_meaning(tmp_path: Path) -> None:
    """`../out` is the directory beside the config's; behind a link it is what the system says it is."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "away")

    assert split_path("../out/./events/{partition}/", tmp_path / "conf")[0] == tmp_path / "out" / "events"
    assert split_path("../all", tmp_path / "conf")[0] == tmp_path / "all"
    assert split_path("link/../out/{partition}", tmp_path)[0] == tmp_path / "link" / ".." / "out"
