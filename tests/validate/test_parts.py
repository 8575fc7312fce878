"""What validation finds in parts whose bytes or statistics are not what they seem."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tests.validate.build import (
    SECOND,
    Builder,
    events,
    flip,
    instant,
    parts,
    reseal,
)
from tests.validate.looking import check, found


def test_damage_at_quick_depth(tmp_path: Path) -> None:
    """At quick depth a part that is no Parquet any more is unreadable, whatever its size."""
    root = events(tmp_path).finish()
    file = parts(root / SECOND)[0]
    file.write_bytes(b"\0" * file.stat().st_size)

    verdict = check(root, depth="quick")

    assert found(verdict) == [("error", "part_unreadable", f"{SECOND}/{file.name}")]


def test_every_byte(tmp_path: Path) -> None:
    """A byte flipped anywhere in a part is found at full depth."""
    builder = Builder(tmp_path)
    directory = builder.partition("2023-01-01", [instant("2023-01-01")])
    file = parts(directory)[0]
    size_bytes = file.stat().st_size

    for position in {*range(0, size_bytes, 17), size_bytes - 1}:
        flip(file, position, 1 << position % 8)
        assert found(check(builder.root, directory.name)) == [("error", "part_digest", f"{file.name}")]
        flip(file, position, 1 << position % 8)
    assert check(builder.root, directory.name).passed


def test_statistics_that_lie(tmp_path: Path) -> None:
    """Rows outside the window are found at full depth even where the statistics deny them."""
    builder = Builder(tmp_path)
    directory = builder.partition("2023-01-02", [instant("2023-01-02"), instant("2023-01-03")])
    file = parts(directory)[0]
    data = file.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    outside, inside = (
        int(instant(t).timestamp() * 1_000_000).to_bytes(8, "little") for t in ("2023-01-03", "2023-01-02")
    )
    lying = data[:footer] + data[footer:].replace(outside, inside)
    file.write_bytes(lying)
    claims = {"sha256": hashlib.sha256(lying).hexdigest(), "maximum": "2023-01-02T00:00:00.000000Z"}
    reseal(builder.root, directory.name, lambda m: m["parts"][0].update(claims))

    assert found(check(builder.root, directory.name, depth="quick")) == []
    assert found(check(builder.root, directory.name)) == [
        ("error", "part_bounds", file.name),
        ("error", "part_outside_window", file.name),
    ]
