"""Make a shop of 240,000 orders in SQLite, export it by day, validate it, and read it with DuckDB."""

from __future__ import annotations

import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import duckdb

HERE = Path(__file__).resolve().parent
HOME = HERE.parent
SHOP = HOME / ".demo" / "shop.db"
ROOT = HOME / ".demo" / "out" / "orders"
ORDERS, DAYS, FIRST_DAY = 240_000, 60, datetime(2024, 1, 15)  # noqa: DTZ001  # the shop keeps local time


def orders() -> Iterator[tuple[int, str, int, float, bool, str | None]]:
    """Give the rows: microseconds and all, and one order in a hundred that was never dated."""
    chance = random.Random(240_000)
    for number in range(1, ORDERS + 1):
        moment = FIRST_DAY + timedelta(microseconds=chance.randrange(DAYS * 86_400_000_000))
        yield (
            number,
            f"customer {chance.randrange(5_000)}",
            chance.randrange(100, 50_000),
            round(chance.random() * 30, 3),
            chance.random() < 0.9,
            None if number % 100 == 0 else moment.isoformat(sep=" ", timespec="microseconds"),
        )


def make_shop() -> None:
    """Write the SQLite file."""
    SHOP.parent.mkdir()
    shop = sqlite3.connect(SHOP)
    shop.execute(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, amount_cents INTEGER NOT NULL,"
        " weight_kg REAL, paid BOOLEAN NOT NULL, created_at DATETIME)"
    )
    shop.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)", orders())
    shop.commit()
    shop.close()


def rivet(*words: str) -> None:
    """Show a command and run it from the top folder, as a user would."""
    show(f"rivet {' '.join(words)}")
    done = subprocess.run([sys.executable, "-m", "rivet", *words], cwd=HOME, check=False)
    if done.returncode:
        sys.exit(done.returncode)


def show(command: str) -> None:
    """Print a command as it would be typed."""
    print(f"\n$ {command}", flush=True)


def print_tree() -> None:
    """Print the first and the last partitions with the sizes of their files."""
    show(f"ls {ROOT.relative_to(HOME)}")
    partitions = sorted(path for path in ROOT.iterdir() if path.is_dir())
    shown = [*partitions[:2], None, *partitions[-2:]]
    print("_rivet_export.json")
    for partition in shown:
        if partition is None:
            print(f"… {len(partitions) - 4} more")
            continue
        print(f"{partition.name}/")
        for file in sorted(partition.iterdir()):
            print(f"    {file.name:<72} {file.stat().st_size:>9,} bytes")


def compare_totals() -> None:
    """Count on both sides, and fail where they differ."""
    ask = "count(*), count(*) - count(created_at), sum(amount_cents), min(created_at), max(created_at)"
    shop = sqlite3.connect(SHOP)
    source = shop.execute(f"SELECT {ask} FROM orders").fetchone()
    shop.close()
    tree = duckdb.sql(f"SELECT {ask} FROM read_parquet('{ROOT}/*/*.parquet')").fetchone()
    assert tree is not None
    print(f"\n{'':14}{'orders':>10}{'undated':>9}{'cents':>16}   first and last")
    for name, (rows, nulls, cents, first, last) in (("in SQLite", source), ("in the tree", tree)):
        print(f"{name:<14}{rows:>10,}{nulls:>9,}{cents:>16,}   {first} … {last}")
    assert list(map(str, source)) == list(map(str, tree)), "the tree and the database differ"


def query_with_duckdb() -> None:
    """Let another program read the tree, with full timestamps and the day from the path."""
    glob = f"{ROOT.relative_to(HOME)}/*/*.parquet"
    query = (
        "SELECT created_date, count(*) AS orders, min(created_at) AS first, max(created_at) AS last\n"
        "FROM read_parquet('{}', hive_partitioning = true)\n"
        "WHERE created_date IS NULL OR created_date <= DATE '2024-01-17'\n"
        "GROUP BY ALL ORDER BY ALL NULLS LAST"
    )
    show(f'duckdb -c "{query.format(glob)}"')
    print(duckdb.sql(query.format(HOME / glob)))


def main() -> None:
    """Run the demo from nothing."""
    shutil.rmtree(SHOP.parent, ignore_errors=True)
    print(f"Making {SHOP.relative_to(HOME)}: {ORDERS:,} orders over {DAYS} days, some without a date …")
    make_shop()
    rivet("run", "--config", "demo/rivet.yaml")
    rivet("validate", "--prefix", str(ROOT.relative_to(HOME)))
    print_tree()
    compare_totals()
    query_with_duckdb()
    print(f"Every row is accounted for. The files are in {SHOP.parent.relative_to(HOME)}/.")


if __name__ == "__main__":
    main()
