"""What validation lets pass: trees as a run leaves them, copied, and with foreign files."""

from __future__ import annotations

import os
import shutil
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from rivet.destination.local import LocalDestination
from rivet.manifest.verdict import Verdict
from rivet.plan.calendar import Granularity
from rivet.plan.schema import Kind
from rivet.validate import Depth, validate
from tests.validate.build import (
    FIRST,
    NULLS,
    SECOND,
    Builder,
    events,
    instant,
    parts,
)
from tests.validate.looking import DEPTHS, check, found


class TestPasses:
    """Trees with nothing wrong."""

    @pytest.mark.parametrize("depth", DEPTHS)
    def test_clean(self, tmp_path: Path, depth: Depth) -> None:
        """A clean tree passes without a finding, and the verdict counts what was read."""
        root = events(tmp_path / "out").finish()
        size_bytes = sum(f.stat().st_size for f in root.rglob("*.parquet"))

        assert check(root, depth=depth) == Verdict(f"{root}/", depth, 3, 4, 8, size_bytes)

    @pytest.mark.parametrize("path", [FIRST, SECOND, NULLS])
    def test_partition(self, tmp_path: Path, path: str) -> None:
        """Each partition passes by itself, without an export file."""
        root = events(tmp_path).root

        assert check(root, path).findings == ()
        assert check(root, f"{path}/").findings == ()

    def test_copied(self, tmp_path: Path) -> None:
        """A tree that was copied elsewhere passes: where it was written is information only."""
        root = events(tmp_path / "out").finish()
        copy = shutil.copytree(root, tmp_path / "copy" / "of it")

        assert check(copy).findings == ()

    @pytest.mark.parametrize(
        ("kind", "granularity", "label", "moments"),
        [
            (Kind.DATE, Granularity.DAY, "2024-02-29", [date(2024, 2, 29)]),
            (Kind.DATE, Granularity.MONTH, "2023-02", [date(2023, 2, 1), date(2023, 2, 28)]),
            (Kind.DATE, Granularity.YEAR, "0001", [date(1, 1, 1), date(1, 12, 31)]),
            (Kind.DATE, Granularity.YEAR, "9999", [date(9999, 1, 1), date(9999, 12, 31)]),
            (Kind.TIMESTAMP, Granularity.DAY, "9999-12-31", [datetime(9999, 12, 31, 23, 59, 59, 999_999)]),
            (Kind.TIMESTAMP, Granularity.DAY, "0001-01-01", [datetime(1, 1, 1)]),
            (Kind.TIMESTAMP, Granularity.MONTH, "+10000-01", [253_402_300_800_000_000]),
            (Kind.INSTANT, Granularity.YEAR, "1969", [instant("1969-12-31T23:59:59.999999")]),
        ],
    )
    @pytest.mark.parametrize("depth", DEPTHS)
    def test_windows(
        self, tmp_path: Path, *, kind: Kind, granularity: Granularity, label: str, moments: Any, depth: Depth
    ) -> None:
        """Windows of every kind and width pass, to the ends of the calendar and beyond Python's."""
        builder = Builder(tmp_path, kind, granularity)
        builder.partition(label, moments)

        assert check(builder.finish(), depth=depth).findings == ()

    @pytest.mark.parametrize("manifest_name", ["manifest.json", "_manifest.json"])
    def test_without_partitions(self, tmp_path: Path, manifest_name: str) -> None:
        """An export without `partition_by` is manifest, parts and export file side by side at the root."""
        builder = Builder(tmp_path, template=None, manifest_name=manifest_name)
        builder.partition(None, [instant("2023-01-01"), None])

        assert check(builder.root).findings == ()
        assert check(builder.finish()).findings == ()

    def test_names(self, tmp_path: Path) -> None:
        """A key that needs escaping, segments after the partition and another manifest name pass."""
        root = tmp_path / "year=2020" / "out"
        builder = events(root, key="a/b=é", template="{partition}/v 1", manifest_name="_manifest.json")

        assert check(builder.finish()).findings == ()
        assert check(root, "a%2Fb%3Dé=2023-01-01/v 1").findings == ()

    def test_no_rows(self, tmp_path: Path) -> None:
        """Zero partitions and zero rows are a valid tree, and so is a partition without parts."""
        empty = Builder(tmp_path / "empty").finish()
        sparse = Builder(tmp_path / "sparse")
        sparse.partition("2023-01-01")

        assert check(empty).findings == ()
        assert check(sparse.finish()).findings == ()

    def test_empty_part(self, tmp_path: Path) -> None:
        """A part that holds only a schema passes."""
        builder = Builder(tmp_path)
        builder.partition("2023-01-01", [])

        for depth in DEPTHS:
            assert check(builder.finish(), depth=depth).findings == ()

    def test_kept(self, tmp_path: Path) -> None:
        """A partition that was kept though the source has its rows no more passes, and so do the totals."""
        builder = events(tmp_path)
        builder.partition("2022-01-01", [instant("2022-01-01")], state="kept")

        assert check(builder.finish()).findings == ()

    def test_unrepresentable(self, tmp_path: Path) -> None:
        """Rows that fit no calendar and were made NULL on request count among the NULL rows."""
        builder = Builder(tmp_path)
        builder.partition("2023-01-01", [instant("2023-01-01")], unrepresentable_rows={"price": 1})
        builder.partition(None, [None] * 3, unrepresentable_rows={"created_at": 2, "price": 3})
        counts = {"source_null_rows": 1, "unrepresentable_rows": {"created_at": 2, "price": 4}}

        for depth in DEPTHS:
            assert check(builder.finish(**counts), depth=depth).findings == ()

    def test_dropped(self, tmp_path: Path) -> None:
        """Files without the partition column pass, since the path tells the day of every row."""
        builder = Builder(tmp_path, kind=Kind.DATE, is_dropped=True)
        builder.partition("2023-01-01", [date(2023, 1, 1)] * 3, [date(2023, 1, 1)])
        builder.partition(None, [None, None])

        for depth in DEPTHS:
            assert check(builder.finish(), depth=depth).findings == ()

    def test_without_statistics(self, tmp_path: Path) -> None:
        """Where a part has no statistics its rows are read, at quick depth too."""
        root = events(tmp_path, parquet={"write_statistics": False}).finish()

        assert check(root, depth="quick").findings == ()

    def test_null_row_groups(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """NULL rows are counted over all row groups and batches."""
        monkeypatch.setattr("rivet.validate.footer._BATCH_ROWS", 2)
        builder = Builder(tmp_path, parquet={"row_group_size": 2})
        builder.partition(None, [None] * 5)

        for depth in DEPTHS:
            assert check(builder.finish(), depth=depth).findings == ()

    def test_row_groups(self, tmp_path: Path) -> None:
        """The span of a part is that of all its row groups, whether or not they are in order."""
        builder = Builder(tmp_path, parquet={"row_group_size": 2})
        builder.partition("2023-01-01", [instant(f"2023-01-01T{h:02}:00") for h in (5, 23, 0, 7, 9)])

        for depth in DEPTHS:
            assert check(builder.finish(), depth=depth).findings == ()

    def test_many_row_groups(self, tmp_path: Path) -> None:
        """A footer of many row groups is read to its end."""
        builder = Builder(tmp_path, parquet={"row_group_size": 1})
        builder.partition("2023-01-01", [instant(f"2023-01-01T{h:02}:30") for h in range(24)])

        assert check(builder.finish(), depth="quick").findings == ()

    def test_depth(self, tmp_path: Path) -> None:
        """Without a depth, local disk is read in full and stores quickly, and the verdict says so."""
        root = events(tmp_path).finish()

        class Store(LocalDestination):
            kind = "s3"

        assert validate(LocalDestination(root)).depth == "full"
        assert validate(Store(root)).depth == "quick"
        assert validate(Store(root), depth="full").depth == "full"


class TestForeignFiles:
    """Files that no manifest lists."""

    @pytest.mark.parametrize(
        "name",
        ["notes.txt", f"{FIRST}/.notes.crc", "other/deep/readme", f"{FIRST}/x.parquet.tmp", "_SUCCESS"],
    )
    def test_note(self, tmp_path: Path, name: str) -> None:
        """Any other file is a note, and an error when the user asks for strictness."""
        root = events(tmp_path).finish()
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("mine")

        verdict = check(root)
        strict = check(root, strict=True)

        assert (verdict.passed, found(verdict)) == (True, [("note", "unlisted_file", name)])
        assert (strict.passed, found(strict)) == (False, [("error", "unlisted_file", name)])

    @pytest.mark.parametrize(
        "name",
        ["x.parquet", f"{FIRST}/x.parquet", f"{FIRST}/sub/x.parquet", "other=1/x.parquet", "_x.parquet"],
    )
    def test_parquet(self, tmp_path: Path, name: str) -> None:
        """A Parquet file that no manifest lists is an error wherever it lies, since readers glob for it."""
        root = events(tmp_path).finish()
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(parts(root / SECOND)[0], root / name)

        assert found(check(root)) == [("error", "unlisted_parquet", name)]

    def test_name_that_is_no_text(self, tmp_path: Path) -> None:
        """A file whose name is no valid text is told in text that can be written anywhere."""
        root = events(tmp_path).finish()
        (root / os.fsdecode(b"caf\xe9.txt")).write_text("mine")

        assert found(check(root)) == [("note", "unlisted_file", "caf\\udce9.txt")]

    def test_many(self, tmp_path: Path) -> None:
        """Of very many findings of a kind some are told and the rest are counted."""
        root = events(tmp_path).finish()
        for number in range(1010):
            (root / f"{number}.txt").touch()

        verdict = check(root)

        assert len(verdict.findings) == 1001
        assert verdict.findings[-1].message == "10 more findings of this kind"
