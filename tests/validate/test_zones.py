"""Trees that were cut by another zone database than this machine's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rivet.manifest.verdict import Code
from tests.validate.build import Builder, instant, reseal
from tests.validate.looking import check, found
from tests.zone_law import PLACE, Law, zone_law

DAY = "created_at=2023-07-01"


@pytest.fixture
def law(tmp_path: Path) -> Iterator[Law]:
    """Give what changes the law of a place."""
    with zone_law(tmp_path / "zones") as follow:
        yield follow


def tree(root: Path) -> Path:
    """Write a summer's day of the place, to its last microseconds, and the one after."""
    builder = Builder(root, zone=PLACE)
    builder.partition("2023-07-01", [instant("2023-06-30T22:00"), instant("2023-07-01T21:59:59.999999")])
    builder.partition("2023-07-02", [instant("2023-07-01T22:00")])
    return builder.finish()


def test_a_tree_in_a_zone_is_valid(tmp_path: Path, law: Law) -> None:
    """Where the zone database is the same, nothing is to be said."""
    law("Europe/Berlin")
    assert found(check(tree(tmp_path / "tree"))) == []


@pytest.mark.parametrize("later", ["Europe/London", "Asia/Tokyo", None])
def test_bounds_of_another_law_are_taken_as_they_are(tmp_path: Path, law: Law, later: str | None) -> None:
    """Rows are held to the manifest's bounds, and another zone database is a note; the tree stays valid."""
    law("Europe/Berlin")
    root = tree(tmp_path / "tree")
    law(later)

    verdict = check(root)

    days = (DAY, "created_at=2023-07-02")
    assert found(verdict) == [("note", Code.ZONE_DIFFERS, f"{day}/manifest.json") for day in days]
    assert all(PLACE in finding.message for finding in verdict.findings)
    assert verdict.passed


@pytest.mark.parametrize("later", ["Europe/Berlin", "Asia/Tokyo", None])
@pytest.mark.parametrize(
    "bounds",
    [
        {"start": "2023-06-29T22:00:00.000000Z"},
        {"end": "2023-07-03T22:00:00.000000Z"},
        {"start": "2023-07-01T23:00:00.000000Z", "end": "2023-07-01T22:00:00.000000Z"},
        {"start": None},
        {"end": "some time"},
        {"value": "2023-07"},
    ],
)
def test_bounds_that_no_zone_has_are_an_error(
    tmp_path: Path, law: Law, later: str | None, bounds: dict[str, Any]
) -> None:
    """A window a day or more away from its label is wrong by any law."""
    law("Europe/Berlin")
    root = tree(tmp_path / "tree")
    reseal(root, DAY, lambda manifest: manifest["partition"].update(bounds))
    law(later)

    assert ("error", Code.MANIFEST_INCONSISTENT, f"{DAY}/manifest.json") in found(check(root))


@pytest.mark.parametrize("later", ["Europe/Berlin", "Asia/Tokyo", None])
def test_rows_outside_the_claimed_window_are_found(tmp_path: Path, law: Law, later: str | None) -> None:
    """A window that some zone could have, but not with these rows in it, is an error by any law."""
    law("Europe/Berlin")
    root = tree(tmp_path / "tree")
    change = {"start": "2023-06-30T23:00:00.000000Z", "end": "2023-07-01T23:00:00.000000Z"}
    reseal(root, DAY, lambda manifest: manifest["partition"].update(change))
    law(later)

    codes = [code for level, code, _ in found(check(root)) if level == "error"]
    assert codes == [Code.PART_OUTSIDE_WINDOW]
