"""Export the table `events` by day with DuckDB, durably.

    duckdb_copy.py ENGINE EXTENSION TREE OPTIONS

A process of its own. The libraries of the database find it by their variables (PGHOST, MYSQL_HOST, …), so no
password is among the arguments. DuckDB does not sync what it writes, as the other contestants do; here that
is done after its COPY, with several threads.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb

SYNCING_THREADS = 8


def main(engine: str, extension: str, tree: str, options: str) -> None:
    """Copy the table and sync the tree, its directories and its parent."""
    connection = duckdb.connect()
    connection.execute(f"LOAD '{extension}'")
    connection.execute(f"ATTACH '' AS source (TYPE {engine}, READ_ONLY)")
    connection.execute(
        f"COPY (SELECT *, created_at::date AS day FROM source.events) TO '{tree}'"
        f" (FORMAT parquet, PARTITION_BY (day), {options})"
    )
    connection.close()
    with ThreadPoolExecutor(SYNCING_THREADS) as threads:
        list(threads.map(_sync, [*Path(tree).rglob("*"), Path(tree), Path(tree).parent]))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


if __name__ == "__main__":
    main(*sys.argv[1:])
