"""Read the table `events` of a SQLite file with ADBC into nothing, or encode rows that are in memory.

    sqlite_floor.py read FILE STATEMENT
    sqlite_floor.py encode TREE RESULT ROW_GROUP_ROWS LEVEL

Each a process of its own. The second reads every Parquet file of a tree first, then encodes each file's rows
again, on one thread and into nothing, and writes to RESULT the seconds that this alone took.
"""

import sys
import time
from pathlib import Path

import adbc_driver_sqlite.dbapi
import pyarrow as pa
import pyarrow.parquet as pq

BATCH_ROWS = 16_384
FEW_VALUES = ["status", "is_paid", "country"]  # dictionaries pay here


def read(file: str, statement: str) -> None:
    """Read all rows of the statement and print their number."""
    options = {"adbc.sqlite.query.batch_rows": str(BATCH_ROWS)}
    with (
        adbc_driver_sqlite.dbapi.connect(file) as connection,
        connection.cursor(adbc_stmt_kwargs=options) as cursor,
    ):
        cursor.execute(statement)
        print(sum(batch.num_rows for batch in cursor.fetch_record_batch()))


def encode(tree: str, result: str, row_group_rows: str, level: str) -> None:
    """Encode the rows of each file of the tree and write down the seconds."""
    tables = [pq.read_table(file, partitioning=None) for file in sorted(Path(tree).rglob("*.parquet"))]
    begin = time.perf_counter()
    for table in tables:
        with pq.ParquetWriter(
            pa.MockOutputStream(),
            table.schema,
            compression="zstd",
            compression_level=int(level),
            use_dictionary=[name for name in FEW_VALUES if name in table.column_names],
        ) as writer:
            writer.write_table(table, int(row_group_rows))
    Path(result).write_text(str(time.perf_counter() - begin), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "read":
        read(*sys.argv[2:])
    else:
        encode(*sys.argv[2:])
