"""The keys of `mode: chunked`: one way to cut, and a clear word where there is none, or more than one."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from rivet.config import model
from rivet.config.read_settings import ChunkSettings
from rivet.plan import cutting
from tests.config.conftest import ONE_EXPORT, SOURCE, Load, Refuse

EXPORT = "$.exports[0]"


def _export(*keys: str) -> str:
    return SOURCE + ONE_EXPORT + "".join(f"    {line}\n" for line in keys)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (("chunk_column: id", "chunk_size: 50000"), ChunkSettings("id", (), Decimal(50_000), None)),
        (("chunk_column: id", "chunk_size: 0.1"), ChunkSettings("id", (), Decimal("0.1"), None)),
        (("chunk_column: at", "chunk_size: 6 hours"), ChunkSettings("at", (), timedelta(hours=6), None)),
        (("chunk_column: at", "chunk_size: 1day"), ChunkSettings("at", (), timedelta(days=1), None)),
        (("chunk_column: id", "chunk_count: 10000"), ChunkSettings("id", (), None, 10_000)),
        (("chunk_by_key: [a, b]",), ChunkSettings(None, ("a", "b"), None, None)),
        (("chunk_by_key: [a]", "chunk_size: 5000"), ChunkSettings(None, ("a",), Decimal(5_000), None)),
    ],
)
def test_each_way_to_cut_is_taken(load: Load, keys: tuple[str, ...], expected: ChunkSettings) -> None:
    """Numbers are exactly what is written, and times are times."""
    (export,) = load(_export("mode: chunked", *keys)).exports

    assert (export.mode, export.chunks) == ("chunked", expected)


def test_another_mode_has_no_chunks(load: Load) -> None:
    """Nothing is cut unless the config says so."""
    assert load(_export()).exports[0].chunks is None


@pytest.mark.parametrize(
    ("keys", "path", "message", "hint"),
    [
        (("chunk_column: id",), "chunk_column", "without mode: chunked", "write mode: chunked"),
        (("mode: chunked",), "mode", "without a way to cut", "chunk_by_key"),
        (
            ("mode: chunked", "chunk_column: id", "chunk_count: 2", "chunk_by_key: [id]"),
            "chunk_by_key",
            "stands beside chunk_column",
            "remove one",
        ),
        (("mode: chunked", "chunk_column: id"), "chunk_column", "without chunk_size", "add chunk_size"),
        (
            ("mode: chunked", "chunk_column: id", "chunk_size: 5", "chunk_count: 2"),
            "chunk_count",
            "stands beside chunk_size",
            "remove one",
        ),
        (
            ("mode: chunked", "chunk_by_key: [id]", "chunk_count: 2"),
            "chunk_count",
            "stands beside chunk_by_key",
            "chunk_size: rows of a page",
        ),
        (("mode: chunked", "chunk_by_key: [id, ID]"), "chunk_by_key", "twice", "once"),
        (("mode: chunked", "chunk_by_key: []"), "chunk_by_key", "at least 1", ""),
        (
            ("mode: chunked", "chunk_by_key: [id]", "exclude: [id]"),
            "chunk_by_key",
            "exclude leaves out",
            "take it out of exclude",
        ),
        (
            ("mode: chunked", "chunk_by_key: [id]", "chunk_size: 6 hours"),
            "chunk_size",
            "counts rows",
            "rows of a page",
        ),
        (
            ("mode: chunked", "chunk_column: id", "chunk_count: 10001"),
            "chunk_count",
            "at most 10000 chunks of a partition",
            "chunk_by_key",
        ),
        (("mode: chunked", "chunk_column: id", "chunk_size: 0"), "chunk_size", "above zero", ""),
        (("mode: chunked", "chunk_column: id", "chunk_size: many"), "chunk_size", "'many'", ""),
        (("mode: chunked", "chunk_column: id", "chunk_size: true"), "chunk_size", "true", ""),
        (
            ("mode: chunked", "chunk_by_key: [id]", "scan: single"),
            "scan",
            "stands beside mode: chunked",
            "remove it",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(
    refuse: Refuse, keys: tuple[str, ...], path: str, message: str, hint: str
) -> None:
    """Each problem names its key and the mend."""
    problem = refuse(_export(*keys))[0]

    assert problem.path == f"{EXPORT}.{path}"
    assert message in problem.message
    assert hint in (problem.hint or "")


def test_a_key_needs_a_table(refuse: Refuse) -> None:
    """No index belongs to a query."""
    text = _export("mode: chunked", "chunk_by_key: [id]").replace("table: events", "query: SELECT 1 AS id")
    (problem,) = refuse(text)

    assert (problem.path, problem.message) == (
        f"{EXPORT}.chunk_by_key",
        "needs a table, whose index serves it",
    )
    assert "chunk_column" in (problem.hint or "")


def test_an_export_that_says_how_it_is_cut_takes_no_other_way_from_the_defaults(load: Load) -> None:
    """A key puts the defaults' column aside, and an export of another mode their chunks."""
    defaults = "defaults: {mode: chunked, chunk_column: id, chunk_count: 4}\n"
    ones = [
        load(SOURCE + defaults + ONE_EXPORT + keys).exports[0]
        for keys in (
            "",
            "    chunk_by_key: [a]\n",
            "    chunk_size: 5\n",
            "    mode: full\n",
        )
    ]

    assert [one.chunks for one in ones] == [
        ChunkSettings("id", (), None, 4),
        ChunkSettings(None, ("a",), None, None),
        ChunkSettings("id", (), Decimal(5), None),
        None,
    ]


def test_a_config_refuses_as_many_chunks_as_planning_does() -> None:
    """What `chunk_count` may be at most is what a plan takes: neither room knows the other."""
    assert model.MAX_CHUNKS == cutting.MAX_CHUNKS
