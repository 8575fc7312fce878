"""What validation finds in a root, one kind of damage at a time."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rivet.manifest.verdict import Code
from rivet.plan.names import EXPORT_FILE, SUCCESS_FILE
from rivet.plan.schema import Kind
from tests.validate.build import (
    FIRST,
    SECOND,
    Builder,
    edit,
    events,
    instant,
    parts,
    reseal,
)
from tests.validate.looking import check, found

Damage = Callable[[Path], object]


def _unlink(name: str) -> Damage:
    return lambda root: (root / name).unlink()


def _export(change: Callable[[Any], object]) -> Damage:
    return lambda root: edit(root / EXPORT_FILE, change)


def _manifest(change: Callable[[Any], object]) -> Damage:
    """Change the second day's manifest so that only the manifest itself can give the change away."""
    return lambda root: reseal(root, SECOND, change)


def _part(change: Callable[[Any], object]) -> Damage:
    """Change what the second day's manifest says of its part."""
    return _manifest(lambda m: change(m["parts"][0]))


def _rewrite(change: Callable[[pa.Table], pa.Table]) -> Damage:
    """Write the second day's part anew, and let the manifest agree but for what is to be found."""

    def damage(root: Path) -> None:
        file = parts(root / SECOND)[0]
        pq.write_table(change(pq.ParquetFile(file).read()), file)
        size_bytes, sha256 = file.stat().st_size, hashlib.sha256(file.read_bytes()).hexdigest()

        def agree(manifest: Any) -> None:
            manifest["size_bytes"] = size_bytes
            manifest["parts"][0].update(size_bytes=size_bytes, sha256=sha256)

        reseal(root, SECOND, agree)
        edit(root / EXPORT_FILE, lambda e: e["partitions"][1].update(size_bytes=size_bytes))

    return damage


def _moments(*texts: str | None) -> Callable[[pa.Table], pa.Table]:
    values = pa.array([None if t is None else instant(t) for t in texts], pa.timestamp("us", tz="UTC"))
    return lambda table: table.set_column(1, "created_at", values)


def _move(old: str, new: str) -> Damage:
    return lambda root: (root / old).rename(root / new)


def _foreign_marker(root: Path) -> None:
    shutil.copy(root / FIRST / SUCCESS_FILE, root / SECOND / SUCCESS_FILE)


def _swap_parts(root: Path) -> None:
    one, two = parts(root / FIRST)
    one.rename(root / "x")
    two.rename(one)
    (root / "x").rename(two)


OTHER = "created_at=2023-01-03"
# Stand for the path of the second day's part, where it belongs and in another partition.
PART, THERE = "the part", "the part there"

DAMAGES: dict[str, tuple[Damage, list[tuple[Code, str]]]] = {
    "part missing": (lambda root: parts(root / SECOND)[0].unlink(), [(Code.PART_MISSING, PART)]),
    "part truncated": (
        lambda root: os.truncate(parts(root / SECOND)[0], 100),
        [(Code.PART_SIZE, PART), (Code.PART_DIGEST, PART)],
    ),
    "part emptied": (
        lambda root: os.truncate(parts(root / SECOND)[0], 0),
        [(Code.PART_SIZE, PART), (Code.PART_DIGEST, PART)],
    ),
    "marker missing": (_unlink(f"{SECOND}/{SUCCESS_FILE}"), [(Code.MARKER_MISSING, f"{SECOND}/_SUCCESS")]),
    "marker empty": (
        lambda root: (root / SECOND / SUCCESS_FILE).write_bytes(b""),
        [(Code.MARKER_DIFFERS, f"{SECOND}/_SUCCESS")],
    ),
    "marker of another manifest": (_foreign_marker, [(Code.MARKER_DIFFERS, f"{SECOND}/_SUCCESS")]),
    "manifest missing": (_unlink(f"{SECOND}/manifest.json"), [(Code.MANIFEST_MISSING, SECOND)]),
    "manifest edited": (
        lambda root: edit(root / SECOND / "manifest.json", lambda m: m.update(finished_at="later")),
        [(Code.PARTITION_CHANGED, SECOND), (Code.MARKER_DIFFERS, f"{SECOND}/_SUCCESS")],
    ),
    "manifest and marker of another day": (
        lambda root: [
            shutil.copy(root / FIRST / n, root / SECOND / n) for n in ("manifest.json", "_SUCCESS")
        ],
        [
            (Code.PARTITION_CHANGED, SECOND),
            (Code.PARTITION_RENAMED, SECOND),
            (Code.PART_MISSING, "0 there"),
            (Code.PART_MISSING, "1 there"),
            (Code.UNLISTED_PARQUET, PART),
        ],
    ),
    "manifest no JSON": (
        lambda root: (root / SECOND / "manifest.json").write_text("{"),
        [(Code.MARKER_DIFFERS, f"{SECOND}/_SUCCESS"), (Code.MANIFEST_UNREADABLE, f"{SECOND}/manifest.json")],
    ),
    "manifest of another version": (
        _manifest(lambda m: m.update(manifest_version=2)),
        [(Code.MANIFEST_VERSION, f"{SECOND}/manifest.json")],
    ),
    "partition moved to another name": (
        _move(SECOND, OTHER),
        [
            (Code.PARTITION_MISSING, SECOND),
            (Code.UNLISTED_FILE, f"{OTHER}/_SUCCESS"),
            (Code.UNLISTED_PARQUET, THERE),
            (Code.PARTITION_UNLISTED, OTHER),
        ],
    ),
    "partition removed": (lambda root: shutil.rmtree(root / SECOND), [(Code.PARTITION_MISSING, SECOND)]),
    "partition added": (
        lambda root: shutil.copytree(root / SECOND, root / OTHER),
        [
            (Code.UNLISTED_FILE, f"{OTHER}/_SUCCESS"),
            (Code.UNLISTED_PARQUET, THERE),
            (Code.PARTITION_UNLISTED, OTHER),
        ],
    ),
    "status": (
        _manifest(lambda m: m.update(status="writing")),
        [(Code.MANIFEST_INCONSISTENT, f"{SECOND}/manifest.json")],
    ),
    "rows do not add up": (
        _part(lambda p: p.update(row_count=1)),
        [(Code.MANIFEST_INCONSISTENT, f"{SECOND}/manifest.json"), (Code.PART_ROWS, PART)],
    ),
    "sizes do not add up": (
        _part(lambda p: p.update(size_bytes=1)),
        [(Code.MANIFEST_INCONSISTENT, f"{SECOND}/manifest.json"), (Code.PART_SIZE, PART)],
    ),
    "part listed twice": (
        _manifest(lambda m: m.update(parts=m["parts"] * 2, part_count=2, row_count=4, size_bytes=0)),
        [
            (Code.EXPORT_INCONSISTENT, SECOND),
            (Code.EXPORT_INCONSISTENT, SECOND),
            (Code.MANIFEST_INCONSISTENT, f"{SECOND}/manifest.json"),
            (Code.MANIFEST_INCONSISTENT, f"{SECOND}/manifest.json"),
        ],
    ),
    "fingerprint": (
        _manifest(lambda m: m.update(schema_fingerprint="sha256:0")),
        [(Code.PARTITION_SCHEMA, SECOND), (Code.MANIFEST_INCONSISTENT, f"{SECOND}/manifest.json")],
    ),
    "window": (
        _manifest(lambda m: m["partition"].update(end="2023-01-04T00:00:00.000000Z")),
        [(Code.MANIFEST_INCONSISTENT, f"{SECOND}/manifest.json")],
    ),
    "label": (
        _manifest(lambda m: m["partition"].update(value="2023-01-32")),
        [
            (Code.EXPORT_INCONSISTENT, SECOND),
            (Code.PARTITION_RENAMED, SECOND),
            (Code.MANIFEST_INCONSISTENT, f"{SECOND}/manifest.json"),
        ],
    ),
    "label without end": (
        _manifest(lambda m: m["partition"].update(value="1" * 5000)),
        [
            (Code.EXPORT_INCONSISTENT, SECOND),
            (Code.PARTITION_RENAMED, SECOND),
            (Code.MANIFEST_INCONSISTENT, f"{SECOND}/manifest.json"),
        ],
    ),
    "null that is none": (
        _manifest(lambda m: m["partition"].update(is_null=True)),
        [(Code.MANIFEST_INCONSISTENT, f"{SECOND}/manifest.json")],
    ),
    "granularity of another export": (
        _manifest(lambda m: m["partition"].update(granularity="week")),
        [(Code.PARTITION_FOREIGN, SECOND), (Code.MANIFEST_INCONSISTENT, f"{SECOND}/manifest.json")],
    ),
    "timezone of another export": (
        _manifest(lambda m: m["partition"].update(timezone="Europe/Warsaw")),
        [(Code.PARTITION_FOREIGN, SECOND), (Code.ZONE_DIFFERS, f"{SECOND}/manifest.json")],
    ),
    "column of another export": (
        _manifest(lambda m: m["partition"].update(column="id")),
        [(Code.PARTITION_FOREIGN, SECOND), (Code.MANIFEST_INCONSISTENT, f"{SECOND}/manifest.json")],
    ),
    "name of another export": (
        _manifest(lambda m: m.update(export_name="others")),
        [(Code.PARTITION_FOREIGN, SECOND)],
    ),
    "another digest listed": (_part(lambda p: p.update(sha256="0" * 64)), [(Code.PART_DIGEST, PART)]),
    "other bounds listed": (_part(lambda p: p.update(minimum=None)), [(Code.PART_BOUNDS, PART)]),
    "parts swapped": (
        _swap_parts,
        [(Code.PART_SIZE, "0"), (Code.PART_DIGEST, "0"), (Code.PART_SIZE, "1"), (Code.PART_DIGEST, "1")],
    ),
    "row outside the window": (
        _rewrite(_moments("2023-01-02", "2023-01-03")),
        [(Code.PART_BOUNDS, PART), (Code.PART_OUTSIDE_WINDOW, PART)],
    ),
    "row just before the window": (
        _rewrite(_moments("2023-01-01T23:59:59.999999", "2023-01-02T01:00")),
        [(Code.PART_BOUNDS, PART), (Code.PART_OUTSIDE_WINDOW, PART)],
    ),
    "NULL row in a day": (
        _rewrite(_moments("2023-01-02", None)),
        [(Code.PART_BOUNDS, PART), (Code.PART_OUTSIDE_WINDOW, PART)],
    ),
    "row missing": (_rewrite(lambda t: t.slice(0, 1)), [(Code.PART_ROWS, PART), (Code.PART_BOUNDS, PART)]),
    "column missing": (_rewrite(lambda t: t.drop_columns(["ratio"])), [(Code.PART_SCHEMA, PART)]),
    "column added": (_rewrite(lambda t: t.append_column("x", t["id"])), [(Code.PART_SCHEMA, PART)]),
    "columns swapped": (
        _rewrite(lambda t: t.select([0, 1, 2, 4, 3, 5])),
        [(Code.PART_SCHEMA, PART)],
    ),
    "column of another type": (
        _rewrite(lambda t: t.set_column(0, "id", t["id"].cast(pa.int32()))),
        [(Code.PART_SCHEMA, PART)],
    ),
    "instants without a zone": (
        _rewrite(lambda t: t.set_column(1, "created_at", t["created_at"].cast(pa.timestamp("us")))),
        [(Code.PART_SCHEMA, PART)],
    ),
    "column that may not be NULL": (
        _rewrite(lambda t: t.cast(t.schema.set(0, pa.field("id", pa.int64(), nullable=False)))),
        [(Code.PART_SCHEMA, PART)],
    ),
    "export file missing": (_unlink(EXPORT_FILE), [(Code.NOTHING_FOUND, "")]),
    "export file no JSON": (
        lambda root: (root / EXPORT_FILE).write_text("[]"),
        [(Code.EXPORT_UNREADABLE, EXPORT_FILE)],
    ),
    "export file of another version": (
        _export(lambda e: e.update(export_version=7)),
        [(Code.EXPORT_VERSION, EXPORT_FILE)],
    ),
    "export partial": (_export(lambda e: e.update(status="partial")), [(Code.EXPORT_PARTIAL, EXPORT_FILE)]),
    "publishing without a run": (
        _export(lambda e: e.update(status="publishing")),
        [(Code.EXPORT_INCONSISTENT, EXPORT_FILE)],
    ),
    "export fingerprint": (
        _export(lambda e: e["schema"][0].update(type="int32")),
        [(Code.EXPORT_INCONSISTENT, EXPORT_FILE)],
    ),
    "total": (_export(lambda e: e.update(row_count=9)), [(Code.TOTALS_DIFFER, EXPORT_FILE)]),
    "rows at the source": (_export(lambda e: e.update(source_rows=9)), [(Code.TOTALS_DIFFER, EXPORT_FILE)]),
    "NULL rows at the source": (
        _export(lambda e: e.update(source_null_rows=2)),
        [(Code.TOTALS_DIFFER, EXPORT_FILE)],
    ),
    "unrepresentable values at the source": (
        _export(lambda e: e.update(unrepresentable_rows={"price": 1})),
        [(Code.TOTALS_DIFFER, EXPORT_FILE)],
    ),
    "unrepresentable values in a partition": (
        _manifest(lambda m: m.update(unrepresentable_rows={"price": 1})),
        [(Code.TOTALS_DIFFER, EXPORT_FILE)],
    ),
    "more unrepresentable values than rows": (
        _manifest(lambda m: m.update(unrepresentable_rows={"price": 99})),
        [(Code.MANIFEST_INCONSISTENT, f"{SECOND}/manifest.json"), (Code.TOTALS_DIFFER, EXPORT_FILE)],
    ),
    "unrepresentable dates in a day": (
        _manifest(lambda m: m.update(unrepresentable_rows={"created_at": 1})),
        [(Code.MANIFEST_INCONSISTENT, f"{SECOND}/manifest.json"), (Code.TOTALS_DIFFER, EXPORT_FILE)],
    ),
    "unrepresentable values of no column": (
        _manifest(lambda m: m.update(unrepresentable_rows={"x": 1})),
        [(Code.MANIFEST_INCONSISTENT, f"{SECOND}/manifest.json"), (Code.TOTALS_DIFFER, EXPORT_FILE)],
    ),
    "zone that is none": (
        _manifest(lambda m: m["partition"].update(timezone="../../etc/passwd")),
        [(Code.PARTITION_FOREIGN, SECOND), (Code.ZONE_DIFFERS, f"{SECOND}/manifest.json")],
    ),
    "entry listed twice": (
        _export(lambda e: e["partitions"].append(e["partitions"][1])),
        [
            (Code.EXPORT_INCONSISTENT, EXPORT_FILE),
            (Code.EXPORT_INCONSISTENT, EXPORT_FILE),
            (Code.TOTALS_DIFFER, EXPORT_FILE),
            (Code.TOTALS_DIFFER, EXPORT_FILE),
        ],
    ),
    "entry with other rows": (
        _export(lambda e: e["partitions"][1].update(row_count=0)),
        [
            (Code.TOTALS_DIFFER, EXPORT_FILE),
            (Code.TOTALS_DIFFER, EXPORT_FILE),
            (Code.EXPORT_INCONSISTENT, SECOND),
        ],
    ),
    "entry failed": (
        _export(lambda e: e["partitions"][1].update(state="failed") or e.update(source_rows=6)),
        [(Code.PARTITION_FAILED, SECOND)],
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage(tmp_path: Path, name: str) -> None:
    """Each kind of damage to a root is found, and nothing else is said of it."""
    root = events(tmp_path).finish()
    part = f"{SECOND}/{parts(root / SECOND)[0].name}"
    names = {PART: part, THERE: f"{OTHER}/{parts(root / SECOND)[0].name}"}
    for number, file in enumerate(parts(root / FIRST)):
        names[str(number)] = f"{FIRST}/{file.name}"
        names[f"{number} there"] = f"{SECOND}/{file.name}"
    damage, expected = DAMAGES[name]
    damage(root)

    verdict = check(root)

    assert [(code, path) for _, code, path in found(verdict)] == [
        (code.value, names.get(path, path)) for code, path in expected
    ]
    assert not verdict.passed


def test_documented_codes() -> None:
    """Every code that a finding can have is explained in the documentation, and no other."""
    text = (Path(__file__).parents[2] / "docs" / "manifest.md").read_text(encoding="utf-8")

    assert re.findall(r"^\| `([a-z_]+)` \| (?:error|note) \|", text, re.MULTILINE) == list(Code)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda m: m["parts"][0].update(minimum=None), Code.PART_BOUNDS),
        (lambda m: m["parts"][0].update(maximum="2023-01-03"), Code.PART_BOUNDS),
        (lambda m: m["partition"].update(granularity="month"), Code.MANIFEST_INCONSISTENT),
        (lambda m: m["partition"].update(timezone="UTC"), Code.MANIFEST_INCONSISTENT),
        (lambda m: m["partition"].update(value="2023-01-03"), Code.MANIFEST_INCONSISTENT),
    ],
)
def test_damage_without_the_partition_column(
    tmp_path: Path, change: Callable[[Any], object], code: Code
) -> None:
    """Of files that are without the column, the manifest must say what the path says."""
    builder = Builder(tmp_path, kind=Kind.DATE, is_dropped=True)
    builder.partition("2023-01-01", [date(2023, 1, 1)])
    builder.partition("2023-01-02", [date(2023, 1, 2)])
    root = builder.finish()
    _manifest(change)(root)

    assert code.value in [found_code for _, found_code, _ in found(check(root))]
