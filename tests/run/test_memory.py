"""Memory grows neither with the table nor with the partition; a large row costs a multiple of itself."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.run.running import settings
from tests.servers.database import Database
from tests.servers.mariadb import MysqlServer

MB = 1000**2
# Rows that the server makes while it sends them, so that a test need not store them first.
QUERIES = {
    "postgres": "SELECT i, repeat(chr(97 + i % 26), {size}) AS note FROM generate_series(1, {rows}) AS i",
    "mariadb": "SELECT seq AS i, REPEAT(CHR(97 + seq % 26), {size}) AS note FROM seq_1_to_{rows}",
}

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the peak")


@pytest.fixture
def large_packets(engine: str, request: pytest.FixtureRequest) -> Iterator[None]:
    """Let MariaDB send rows of 64 MiB; PostgreSQL always does."""
    if engine != "mariadb":
        yield
        return
    server: MysqlServer = request.getfixturevalue("mariadb")
    ((before,),) = server.fetch("SELECT @@GLOBAL.max_allowed_packet")
    server.execute(f"SET GLOBAL max_allowed_packet = {64 * 1024**2}")
    try:
        yield
    finally:
        server.execute(f"SET GLOBAL max_allowed_packet = {before}")


@pytest.mark.usefixtures("large_packets")
@pytest.mark.parametrize(
    ("rows", "row_bytes", "most_bytes"),
    [(300_000, 1_000, 300 * MB), (24, 20 * MB, 450 * MB)],
    ids=["many-rows", "large-rows"],
)
@pytest.mark.parametrize("engine", ["postgres", "mariadb"])
def test_a_partition_is_never_held(
    tmp_path: Path, database: Database, engine: str, rows: int, row_bytes: int, most_bytes: int
) -> None:
    """A partition of 300 MB, or of 24 rows of 20 MB each, passes through a process that never holds it."""
    query = QUERIES[engine].format(rows=rows, size=row_bytes)

    assert peak_of_run(tmp_path, database, query, rows) < most_bytes


@pytest.mark.parametrize("engine", ["postgres"])
@pytest.mark.parametrize(
    ("items", "rows"),
    [
        ("ARRAY[repeat(chr(97 + i % 26), 20000000), NULL]", 24),
        ("(SELECT array_agg(n) FROM generate_series(i, i + 1500000) AS n)", 8),
    ],
    ids=["long-items", "many-items"],
)
def test_long_lists_cost_a_multiple_of_one(tmp_path: Path, database: Database, items: str, rows: int) -> None:
    """Lists of about 20 MB pass one by one, be it that their items are long or that they are many."""
    query = f"SELECT i, {items} AS note FROM generate_series(1, {rows}) AS i"

    assert peak_of_run(tmp_path, database, query, rows) < 550 * MB


@pytest.mark.parametrize("engine", ["mariadb"])
def test_a_sort_on_this_side_holds_a_part_of_the_rows(tmp_path: Path, database: Database) -> None:
    """200 MB in no order of days pass through temporary files; to hold them would take a multiple of that."""
    made = QUERIES["mariadb"].format(rows=200_000, size=1_000)
    query = f"SELECT q.*, DATE '2023-01-01' + INTERVAL i * 79 % 100 DAY AS day FROM ({made}) AS q"

    peak = peak_of_run(tmp_path, database, query, 200_000, partition_by="day", sort="rivet")

    assert peak < 400 * MB


def peak_of_run(tmp_path: Path, database: Database, query: str, rows: int, **more: str) -> int:
    """Export a query in a process of its own, and give the most memory that it held, in bytes."""
    root = tmp_path / "tree"
    path = f"{root}/{{partition}}/" if "partition_by" in more else str(root)
    export = {"name": "large", "query": query, "destination": {"type": "local", "path": path}} | more
    settings(tmp_path, database.source, export)

    command = [sys.executable, "-m", "tests.run.memory_driver", "run", "--quiet", "--config"]
    done = subprocess.run(
        [*command, str(tmp_path / "rivet.yaml")], capture_output=True, text=True, timeout=300, check=False
    )

    assert done.returncode == 0, done.stderr
    assert sum(pq.ParquetFile(path).metadata.num_rows for path in root.rglob("*.parquet")) == rows
    return int(done.stdout)
