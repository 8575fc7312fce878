"""Names in every store: kept as they are, listed in order, refused where they escape."""

from __future__ import annotations

import pytest

from rivet.destination.names import STAGING_DIRECTORY
from rivet.destination.protocol import Destination
from tests.destination.stores import RUN, Place, finished, names, publish

ODD_NAMES = [
    "day=2023-01-01/a b.parquet",
    "day=50%25/%2F.parquet",
    "new\nline/tab\t",
    "créé=日本/ключ",
    "quote'\"`$(x)/;&|<>*?[a]{b}",
    "~/.hidden",
    "..dots/...",
    "a=b=c/#frag?query",
    "-rf",
]
ESCAPES = [
    "",
    "/etc/passwd",
    "../up",
    "a/../../up",
    "a//b",
    "a/",
    "./a",
    "a/.",
    "a\0b",
    f"{STAGING_DIRECTORY}/x",
]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_name_is_kept_as_it_is(destination: Destination, name: str) -> None:
    """A name with odd characters is put, listed, read, staged over and deleted under that very name."""
    destination.put(name, b"old")
    publish(destination, name, b"new")

    assert names(destination) == [name]
    assert names(destination, name) == [name]
    assert destination.read(name) == b"new"
    with destination.open(name) as file:
        assert file.read() == b"new"
    destination.settle([name.rpartition("/")[0]])
    destination.delete([name])
    assert names(destination) == []


@pytest.mark.parametrize("place", ["memory", "local", "gcs"], indirect=True)
def test_name_with_a_backslash(destination: Destination) -> None:
    """A backslash is a sign like others, but to SeaweedFS, which takes it for a slash."""
    test_name_is_kept_as_it_is(destination, "back\\slash")


@pytest.mark.parametrize("name", ESCAPES)
def test_escapes_are_refused(place: Place, name: str) -> None:
    """A name that is empty, leaves the root or reaches into staging is refused by every method."""
    destination = place.destination
    for call in (
        lambda: destination.put(name, b""),
        lambda: destination.read(name),
        lambda: destination.open(name),
        lambda: destination.stage(name, RUN),
        lambda: destination.delete([name]),
    ):
        with pytest.raises(ValueError, match="name"):
            call()
    if name:
        with pytest.raises(ValueError, match="name"):
            destination.settle([name])
    assert names(destination) == []
    assert place.staged() == []


@pytest.mark.parametrize("prefix", ["/", "/etc", "../", "a/../b", "a//", "./a"])
def test_prefixes_are_refused(destination: Destination, prefix: str) -> None:
    """A prefix whose directory leaves the root is refused at once, not at the first name."""
    with pytest.raises(ValueError, match="not a path below the root"):
        destination.list(prefix)


@pytest.mark.parametrize("run_id", ["", "..", "a/b", "/a", "a\0"])
def test_run_ids_are_one_segment(destination: Destination, run_id: str) -> None:
    """A run id that is no single segment of a path is refused."""
    with pytest.raises(ValueError, match=r"name|run id"):
        destination.stage("p", run_id)
    with pytest.raises(ValueError, match=r"name|run id"):
        destination.sweep([run_id])


def test_list_and_delete_many(destination: Destination) -> None:
    """More than a thousand names are listed once each, in the order of strings, and deleted by one call."""
    stored = sorted({f"day={i % 37:02d}/{'sub/' * (i % 2)}part-{i}.parquet" for i in range(1100)})
    destination.publish([finished(destination, name, b"x") for name in stored])

    assert names(destination) == stored
    destination.delete(name for i, name in enumerate(stored) if i % 60)
    assert names(destination) == stored[::60]


def test_list_order_is_of_whole_names(destination: Destination) -> None:
    """Signs below and above the slash, and directories that begin other names, sort as whole names do."""
    expected = [
        "a/b",
        "a b/c",
        "a-b",
        "a.b/c",
        "a0/b",
        "ab/c",
        "abc",
        "é/x",
        "z/x",
        "Z",
        "\uffee",
        "\U0001f600/x",
    ]
    for name in expected:
        destination.put(name, b"")

    assert names(destination) == sorted(expected)


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "day=1",
        "day=1/",
        "day=1/p",
        "day=1/sub",
        "day=1/sub/",
        "day=1/p.parquet",
        "day=3",
        "none/",
        "day=1/p/",
    ],
)
def test_list_prefix_is_of_the_name(destination: Destination, prefix: str) -> None:
    """A prefix may end within a segment or at a slash; where nothing begins so, nothing is listed."""
    stored = ["day=1/p.parquet", "day=1/sub/q", "day=10/p", "day=2/p", "day"]
    for name in stored:
        destination.put(name, b"")

    assert names(destination, prefix) == sorted(n for n in stored if n.startswith(prefix))


def test_list_nothing_there(destination: Destination) -> None:
    """A root that does not exist lists nothing, and listing does not make it."""
    assert names(destination) == []
    assert names(destination, "day=1/") == []


def test_list_changes_while_listing(destination: Destination) -> None:
    """Deleting while a listing is under way is no error, and what stays is listed."""
    for name in ("a/1", "b/2", "c/3"):
        destination.put(name, b"")
    listing = destination.list()
    first = next(listing)
    destination.delete(["b/2"])

    assert first.name == "a/1"
    assert [n for n in (listed.name for listed in listing) if n != "b/2"] == ["c/3"]
