"""Re-runs into buckets where parts cross the size from which they go up in pieces, and where all rows go."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.run.buckets import PREFIX, STORES, Bucket, copied, export
from tests.run.nights import assert_equal
from tests.run.running import run_well
from tests.servers.s3 import S3Bucket
from tests.servers.sqlite import SqliteDatabase

LARGE_BYTES = 9 * 1024**2
FOREIGN = {
    f"{PREFIX}created_at=2023-01-01/events__2023-01-01_20200101T000000Z-00000000_00000.txt": b"mine",
    f"{PREFIX}created_at=2023-01-03/sub/manifest.json": b"{}",
    f"{PREFIX}notes": b"",
}
NIGHTS = (
    f"""
    CREATE TABLE events (id INTEGER PRIMARY KEY, created_at DATETIME, body BLOB);
    INSERT INTO events VALUES (1, '2023-01-01 00:00:00', randomblob({LARGE_BYTES})),
        (2, '2023-01-02 00:00:00', x'02'), (3, '2023-01-03 00:00:00', x'03'), (4, NULL, x'04'),
        (5, '2023-01-04 00:00:00', x'05');
    """,
    f"""
    UPDATE events SET body = x'01' WHERE id = 1;
    UPDATE events SET body = randomblob({LARGE_BYTES}) WHERE id = 2;
    UPDATE events SET created_at = '2023-01-02 00:00:01' WHERE id IN (3, 4);
    """,
    "DELETE FROM events",
)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("publish", ["proved", "eager"])
def test_parts_grow_shrink_and_go(
    tmp_path: Path, sqlite_database: SqliteDatabase, bucket: Bucket, publish: str
) -> None:
    """Large becomes small, small large, and in the end all is gone but the account and what is foreign."""
    for key, data in FOREIGN.items():
        bucket.put(key, data)
    for number, night in enumerate(NIGHTS):
        sqlite_database.execute(night)
        run_well(
            tmp_path,
            sqlite_database.source,
            export(bucket, publish=publish, vanished="remove"),
            validate=True,
            environ=bucket.environment,
        )

        assert {key: bucket.read(key) for key in FOREIGN} == FOREIGN
        assert not isinstance(bucket, S3Bucket) or bucket.uploads() == []
        tree = copied(bucket, tmp_path / f"{number}")
        (tree / "created_at=2023-01-03" / "sub" / "manifest.json").unlink()
        assert_equal(tree, sqlite_database)
    assert sorted(bucket.keys()) == sorted([f"{PREFIX}_rivet_export.json", *FOREIGN])
