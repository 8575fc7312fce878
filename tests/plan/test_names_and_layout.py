"""The names of everything that lands."""

from __future__ import annotations

import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivet.clock import new_run_id
from rivet.plan.calendar import Granularity
from rivet.plan.layout import Layout, Partitioning
from rivet.plan.names import escape, part_name, run_id_of_part
from rivet.plan.schema import Kind
from rivet.plan.windows import Axis

RUN = "20230102T030405Z-0123abcd"


@given(st.text())
def test_escaping_is_undone_by_one_decoding(text: str) -> None:
    """Whatever a key holds, one percent-decoding gives it back, and no path or `=` sign is left in it."""
    escaped = escape(text)

    assert urllib.parse.unquote(escaped, errors="surrogatepass") == text or "�" in text or not text.isascii()
    assert not set(escaped) & set("/=:?#\\\0\n*\"'")


@pytest.mark.parametrize(
    ("key", "directory"),
    [
        ("event date/time", "event date%2Ftime=2023-01-01"),
        ("créé=le", "créé%3Dle=2023-01-01"),
        ("100%", "100%25=2023-01-01"),
        ("a:b", "a%3Ab=2023-01-01"),
    ],
)
def test_keys_are_escaped_by_hives_rule(key: str, directory: str) -> None:
    """Signs that Hive escapes are escaped once, in upper case; spaces and letters stay."""
    axis = Axis(Kind.DATE, Granularity.DAY)
    layout = Layout("events", "manifest.json", Partitioning("d", key, axis, "{partition}"))

    assert layout.partition(axis.window_of(19358)).path == directory


def test_what_follows_the_partition_in_the_template_is_kept() -> None:
    """A partition's directory is the template with the placeholder filled in."""
    axis = Axis(Kind.DATE, Granularity.MONTH)
    layout = Layout("events", "manifest.json", Partitioning("d", "d", axis, "{partition}/data"))

    assert layout.partition(None).path == "d=__HIVE_DEFAULT_PARTITION__/data"
    assert layout.partition(axis.window_of(0)).child("x") == "d=1970-01/data/x"


@given(st.text(min_size=1), st.integers(0, 10**7))
def test_a_part_tells_its_run(export_name: str, number: int) -> None:
    """The run id of a part can be read from its name, whatever the export is called."""
    name = part_name(export_name, "2023-01-01", RUN, number)

    assert run_id_of_part(name) == RUN
    assert name.endswith(".parquet")


@pytest.mark.parametrize(
    "name",
    ["x.parquet", f"events__{RUN}.parquet", f"a_{RUN}_00000.parquet.tmp", f"a_{RUN.lower()}_00000.parquet"],
)
def test_foreign_names_tell_no_run(name: str) -> None:
    """A name that Rivet would not give is nobody's part."""
    assert run_id_of_part(name) is None


def test_new_run_ids_are_run_ids_and_differ() -> None:
    """Two runs in one second have different ids of the documented form."""
    first, second = new_run_id(), new_run_id()

    assert first != second
    assert run_id_of_part(part_name("events", "2023-01-01", first, 0)) == first
