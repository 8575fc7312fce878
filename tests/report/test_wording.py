"""Texts and quantities that people read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivet.report.table import cut, table
from rivet.report.wording import duration, one_line, size


@given(st.text())
def test_no_text_can_break_a_line_or_steer_a_terminal(text: str) -> None:
    """Whatever a name holds, it stays one line of printable characters."""
    shown = one_line(text)

    assert shown.isprintable()
    assert len(shown.splitlines()) <= 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("créé 日本", "créé 日本"),
        ("a\r\nError: b", r"a\r\nError: b"),
        ("\x1b[2Jx", r"\x1b[2Jx"),
        ("\x9b1m", r"\x9b1m"),
        ("a\u2028b", r"a\u2028b"),
        ("\u202etxt.exe", r"\u202etxt.exe"),
        ("\udcff", r"\udcff"),
        ("C:\\temp", "C:\\temp"),
    ],
)
def test_only_what_is_not_printable_is_escaped(text: str, shown: str) -> None:
    """Printable text of any script stays as it is; the rest is shown by its code."""
    assert one_line(text) == shown


@pytest.mark.parametrize(
    ("size_bytes", "shown"),
    [(0, "0 bytes"), (1, "1 byte"), (999_949, "999.9 kB"), (999_950, "1.0 MB"), (10**19, "10,000.0 PB")],
)
def test_sizes_have_decimal_units(size_bytes: int, shown: str) -> None:
    """A size takes the unit in which it is below a thousand after rounding."""
    assert size(size_bytes) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.0, "0.0 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 00 s"),
        (3599.6, "1 h 00 min"),
        (90_000.0, "25 h 00 min"),
    ],
)
def test_durations_roll_over_after_rounding(seconds: float, shown: str) -> None:
    """No duration is shown as 60 seconds or 60 minutes."""
    assert duration(seconds) == shown


def test_tables_align_wide_and_hostile_cells() -> None:
    """Columns stay aligned behind characters of two cells, and a line break in a cell is escaped."""
    lines = table(("name", "rows"), [("日本", "1"), ("a\nb", "20")], numbers={1})

    assert lines == ["name  rows", "日本     1", r"a\nb    20"]


@pytest.mark.parametrize("length", [0, 1, 9, 10])
def test_a_list_within_the_limit_is_shown_whole(length: int) -> None:
    """Nothing is left out of a list that fits."""
    lines = ["header", *map(str, range(length))]

    assert cut(lines, 10, "line", header=1) == lines


def test_a_long_list_loses_its_middle_and_says_how_much() -> None:
    """Header, first and last lines stay, and every line is either shown or counted."""
    lines = ["header", *map(str, range(100))]

    shown = cut(lines, 5, "partition", header=1)

    assert shown == [
        "header",
        "0",
        "1",
        "2",
        "... 95 partitions left out, --json lists all ...",
        "98",
        "99",
    ]
