"""Reads the changes of a zone from the files of the zone database, which Python's own zones do not tell."""

from __future__ import annotations

import struct
import zoneinfo
from functools import cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple


class Change(NamedTuple):
    """The instant from which another offset holds, in seconds since 1970-01-01T00:00Z, and both offsets."""

    second: int
    before: int
    after: int


@cache
def changes(zone: str) -> list[Change]:
    """List, in order, the changes of offset that a zone's file holds (RFC 9636, "TZif", version 2 on)."""
    data = _file(zone)
    counts = struct.unpack(">6l", data[20:44])
    start = 44 + _block_bytes(counts, 4)
    counts = struct.unpack(">6l", data[start + 20 : start + 44])
    times, types = counts[3], counts[4]
    start += 44
    seconds = struct.unpack(f">{times}q", data[start : start + 8 * times])
    indices = data[start + 8 * times : start + 9 * times]
    start += 9 * times
    offsets = [struct.unpack(">l", data[start + 6 * i : start + 6 * i + 4])[0] for i in range(types)]
    found, before = [], offsets[0]
    for second, index in zip(seconds, indices, strict=True):
        if offsets[index] != before:
            found.append(Change(second, before, offsets[index]))
        before = offsets[index]
    return found


@cache
def distinct_zones() -> list[str]:
    """List the zones of this machine, each that is the same as another only once."""
    return list({_file(name): name for name in sorted(zoneinfo.available_timezones(), reverse=True)}.values())


def _file(zone: str) -> bytes:
    for folder in zoneinfo.TZPATH:
        path = Path(folder, zone)
        if path.is_file():
            return path.read_bytes()
    return resources.files("tzdata").joinpath("zoneinfo", *zone.split("/")).read_bytes()


def _block_bytes(counts: tuple[int, ...], time_bytes: int) -> int:
    universal, standard, leaps, times, types, characters = counts
    return times * (time_bytes + 1) + types * 6 + characters + leaps * (time_bytes + 4) + standard + universal
