"""Does what publishing a partition durably asks of the disk, for many partitions and without any data.

    file_probe.py TREE PARTITIONS BYTES

A process of its own, and the bench's own word for what the disk alone takes: for each partition a file of
BYTES and two small ones are written and synced; then, a wave of partitions at a time, all files are renamed
into place, in three steps after each of which every directory is synced. As many threads do it as Rivet has.
"""

import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MANIFEST_BYTES, MARKER_BYTES = 2500, 72
WRITING_THREADS, SYNCING_THREADS = 4, 8
WAVE = 256
_STAGED = "staged"
_PLACES = ("part.parquet", "manifest.json", "_SUCCESS")


def main(tree: str, partitions: str, size: str) -> None:
    """Write, sync and publish so many partitions under a new tree."""
    root, numbers = Path(tree), range(int(partitions))
    (root / _STAGED).mkdir(parents=True)
    contents = [os.urandom(max(1, int(size))), os.urandom(MANIFEST_BYTES), os.urandom(MARKER_BYTES)]
    with ThreadPoolExecutor(WRITING_THREADS) as writing, ThreadPoolExecutor(SYNCING_THREADS) as syncing:
        list(writing.map(lambda number: _stage(root, number, contents), numbers))
        for start in range(0, len(numbers), WAVE):
            _publish(root, numbers[start : start + WAVE], syncing)
    (root / _STAGED).rmdir()
    _sync(root)


def _stage(root: Path, number: int, contents: Sequence[bytes]) -> None:
    for place, content in zip(_PLACES, contents, strict=True):
        with (root / _STAGED / f"{number}-{place}").open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())


def _publish(root: Path, numbers: Sequence[int], syncing: ThreadPoolExecutor) -> None:
    directories = [root / f"day={number}" for number in numbers]
    for directory in directories:
        directory.mkdir()
    for place in _PLACES:
        for number, directory in zip(numbers, directories, strict=True):
            (root / _STAGED / f"{number}-{place}").rename(directory / place)
        list(syncing.map(_sync, directories))
    _sync(root)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


if __name__ == "__main__":
    main(*sys.argv[1:])
