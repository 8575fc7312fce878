"""The examples in `configs/` export what they say, by the commands at their heads, on real servers."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import REAL, REPOSITORY, environment, finish
from tests.run.nights import assert_valid
from tests.run.trees import NULL, rows_by_manifest, snapshot
from tests.servers.gcs import GcsBucket
from tests.servers.mariadb import MysqlServer
from tests.servers.postgres import PostgresServer
from tests.servers.s3 import S3Bucket
from tests.servers.sqlite import SqliteDatabase

SHOP = """
CREATE TABLE events (
    id int PRIMARY KEY, created_at {0}, ssn varchar(20), payload varchar(40), updated_at bigint
);
INSERT INTO events VALUES (1, '2024-02-29 10:00:00', 'secret', '{{}}', 1709200800123);
INSERT INTO events VALUES (2, NULL, 'secret', NULL, NULL);
CREATE TABLE customers (id int PRIMARY KEY, country varchar(20));
INSERT INTO customers VALUES (7, 'Åland');
CREATE TABLE orders (
    id int PRIMARY KEY, placed_at {0}, total decimal(8,2), customer_id int, note varchar(20)
);
INSERT INTO orders VALUES (1, '2024-01-31 10:00:00', 1.50, 7, '100%');
INSERT INTO orders VALUES (2, '2024-02-01 10:00:00', 2, 7, 'a test b');
CREATE TABLE returns (id int PRIMARY KEY, placed_at {0});
INSERT INTO returns VALUES (1, '2023-12-31 23:59:59'), (2, '2024-01-01 00:00:00');
CREATE TABLE countries (code varchar(2) PRIMARY KEY);
INSERT INTO countries VALUES ('AX'), ('FI');
"""


def _run(directory: Path, example: str, *more: str, **variables: str) -> None:
    """Run an example by the command at its head, then with more arguments if there are any."""
    text = (REPOSITORY / "configs" / example).read_text(encoding="utf-8")
    (command,) = re.findall(r"^#   (?:\w+=\S+ )*rivet (.*)$", text, re.MULTILINE)
    if not (directory / example).exists():
        (directory / example).write_text(text, encoding="utf-8")
    for words in (command.split(), [*command.split(), *more])[: 2 if more else 1]:
        ended = finish(*REAL, *words, cwd=directory, env=environment(**variables))
        assert ended.returncode == 0, ended.stderr.decode()


def _labels(root: Path) -> dict[str, int]:
    assert_valid(root)
    return {label: len(rows) for label, rows in rows_by_manifest(root).items()}


def test_the_example_for_sqlite(tmp_path: Path, sqlite_database: SqliteDatabase) -> None:
    """A table by day, and one that is a single partition."""
    sqlite_database.execute(SHOP.format("DATETIME"))
    shutil.copy(sqlite_database.path, tmp_path / "shop.db")

    _run(tmp_path, "sqlite.yaml")

    assert _labels(tmp_path / "out" / "events") == {"2024-02-29": 1, NULL: 1}
    assert _labels(tmp_path / "out" / "countries") == {"": 2}


def test_the_example_in_chunks(tmp_path: Path, postgres_tls: PostgresServer) -> None:
    """By a key inside months, by ranges of a query, and by a number of ranges."""
    with postgres_tls.fresh_database() as database:
        database.execute(SHOP.format("timestamptz"))
        url = postgres_tls.url(database.name, host="localhost")

        _run(tmp_path, "chunked.yaml", DATABASE_URL=url, SSL_CERT_FILE=str(postgres_tls.ca_file))

    assert _labels(tmp_path / "out" / "events") == {"2024-02": 1, NULL: 1}
    assert _labels(tmp_path / "out" / "orders") == {"": 2}
    assert _labels(tmp_path / "out" / "returns") == {"": 2}


def test_the_example_for_postgres(tmp_path: Path, postgres_tls: PostgresServer) -> None:
    """A verified connection, days of a zone, one column left out, one of another type."""
    with postgres_tls.fresh_database() as database:
        database.execute(SHOP.format("timestamptz"))
        url = postgres_tls.url(database.name, host="localhost")

        _run(tmp_path, "postgres.yaml", DATABASE_URL=url, SSL_CERT_FILE=str(postgres_tls.ca_file))

    root = tmp_path / "out" / "events"
    assert _labels(root) == {"2024-02-29": 1, NULL: 1}
    assert {len(row) for rows in rows_by_manifest(root).values() for row in rows} == {4}


def test_the_example_for_mysql(tmp_path: Path, mariadb_tls: MysqlServer) -> None:
    """An encrypted connection, a query with a join and a percent sign, by month, a zero date among them."""
    with mariadb_tls.fresh_database() as database:
        database.execute(SHOP.format("datetime"))
        database.execute("SET sql_mode = ''; INSERT INTO orders VALUES (3, '0000-00-00', 3, 7, 'c')")
        text = (REPOSITORY / "configs" / "mysql.yaml").read_text(encoding="utf-8")
        for shown, own in (
            ("host: db.example", f"host: {mariadb_tls.host}"),
            ("port: 3306", f"port: {mariadb_tls.port}"),
            ("user: exporter", f"user: {mariadb_tls.user}"),
            ("database: shop", f"database: {database.name}"),
        ):
            assert shown in text
            text = text.replace(shown, own)
        (tmp_path / "mysql.yaml").write_text(text, encoding="utf-8")

        _run(tmp_path, "mysql.yaml", DB_PASSWORD=mariadb_tls.password)

    assert _labels(tmp_path / "out" / "orders") == {"2024-01": 1, NULL: 1}


def test_the_example_of_several_exports(tmp_path: Path, postgres: PostgresServer) -> None:
    """One of the exports by its name, then all: shared defaults, anchors and variables."""
    with postgres.fresh_database() as database:
        database.execute(SHOP.format("timestamp"))
        variables = {"DATABASE_URL": database.url, "OUT": str(tmp_path / "lake")}

        _run(tmp_path, "several-exports.yaml", "--export", "events", "--export", "returns", **variables)

    labels = {
        name: sorted(path.name for path in (tmp_path / "lake" / name).glob("*=*"))
        for name in ("events", "orders", "returns")
    }
    assert labels == {
        "events": ["day=2024-02-29", f"day={NULL}"],
        "orders": ["month=2024-01", "month=2024-02"],
        "returns": ["year=2023", "year=2024"],
    }
    for name in labels:
        assert_valid(tmp_path / "lake" / name)
        assert (tmp_path / "lake" / name / labels[name][0] / "_manifest.json").is_file()


def _in_our_buckets(example: str, bucket: S3Bucket | GcsBucket) -> tuple[str, dict[str, str]]:
    """Put an example's exports into a test's bucket, leaving out what a test server has not got.

    Give the text, and the prefix of each export up to its partitions.
    """
    config = yaml.safe_load((REPOSITORY / "configs" / example).read_text(encoding="utf-8"))
    for export in config["exports"]:
        shown = export["destination"]
        assert shown["type"] == bucket.section["type"]
        kept = {"prefix": shown["prefix"], "addressing_style": shown.get("addressing_style")}
        export["destination"] = {k: v for k, v in (bucket.section | kept).items() if v is not None}
    roots = {e["name"]: e["destination"]["prefix"].partition("{partition}")[0] for e in config["exports"]}
    return yaml.safe_dump(config), roots


def _days_below(bucket: S3Bucket | GcsBucket, root: str) -> set[str]:
    keys = bucket.keys(root)
    return {key.removeprefix(root).split("/")[0] for key in keys if key.endswith(".parquet")}


def _run_in(directory: Path, example: str, text: str, bucket: S3Bucket | GcsBucket, url: str) -> None:
    (directory / example).write_text(text, encoding="utf-8")
    variables = bucket.environment | {"DATABASE_URL": url}
    for words in (["check", "--write"], ["run"], ["validate"]):
        ended = finish(*REAL, *words, "--config", example, cwd=directory, env=environment(**variables))
        assert ended.returncode == 0, ended.stderr.decode()


def test_the_example_for_s3(tmp_path: Path, postgres: PostgresServer, s3_bucket: S3Bucket) -> None:
    """A table by day and one by month, each below the prefix that the example names."""
    text, roots = _in_our_buckets("s3.yaml", s3_bucket)
    with postgres.fresh_database() as database:
        database.execute(SHOP.format("timestamp"))

        _run_in(tmp_path, "s3.yaml", text, s3_bucket, database.url)

    assert _days_below(s3_bucket, roots["events"]) == {"day=2024-02-29", f"day={NULL}"}
    assert _days_below(s3_bucket, roots["orders"]) == {"month=2024-01", "month=2024-02"}


def test_the_example_for_gcs(tmp_path: Path, mariadb: MysqlServer, gcs_bucket: GcsBucket) -> None:
    """A table by day, below the prefix that the example names."""
    text, roots = _in_our_buckets("gcs.yaml", gcs_bucket)
    with mariadb.fresh_database() as database:
        database.execute(SHOP.format("datetime"))

        _run_in(tmp_path, "gcs.yaml", text, gcs_bucket, database.url)

    assert _days_below(gcs_bucket, roots["events"]) == {"day=2024-02-29", f"day={NULL}"}


@pytest.mark.parametrize("example", sorted(path.name for path in (REPOSITORY / "configs").glob("*.yaml")))
def test_every_example_is_run_here(example: str) -> None:
    """An example that is added needs its test."""
    assert f'"{example}"' in Path(__file__).read_text(encoding="utf-8")


def test_the_example_for_what_has_changed(tmp_path: Path, postgres: PostgresServer) -> None:
    """The second run sees a changed row, a deleted one and a new day, and reads no other partition."""
    with postgres.fresh_database() as database:
        database.execute(
            "CREATE TABLE tickets (id int PRIMARY KEY, created_at timestamptz, updated_at timestamptz);"
            "INSERT INTO tickets SELECT n, timestamptz '2024-01-01 12:00+00' + n / 4 * interval '1 day',"
            " CASE WHEN n % 4 = 0 THEN timestamptz '2024-02-01 12:00+00' END FROM generate_series(0, 39) n"
        )
        _run(tmp_path, "incremental.yaml", DATABASE_URL=database.url)
        database.execute(
            "UPDATE tickets SET updated_at = '2024-02-02' WHERE id = 1; DELETE FROM tickets WHERE id = 9;"
            "INSERT INTO tickets VALUES (40, '2024-02-03', NULL)"
        )
        _run(tmp_path, "incremental.yaml", DATABASE_URL=database.url)
        rows = {n: str(day) for n, day in database.fetch("SELECT id, created_at::date FROM tickets")}
    root = tmp_path / "out" / "tickets"
    assert_valid(root)
    held = {row[0]: label for label, found in rows_by_manifest(root).items() for row in found}
    assert held == rows


def test_the_example_for_what_is_new(tmp_path: Path, postgres: PostgresServer) -> None:
    """The second run adds what was inserted, also late, and leaves every file as it was."""
    with postgres.fresh_database() as database:
        database.execute(
            "CREATE TABLE events (id int PRIMARY KEY, created_at timestamptz, inserted_at timestamptz);"
            "INSERT INTO events SELECT n, timestamptz '2024-01-01 12:00+00' + n / 4 * interval '1 day',"
            " timestamptz '2024-02-01 12:00+00' + n * interval '1 minute' FROM generate_series(0, 39) n"
        )
        _run(tmp_path, "append.yaml", DATABASE_URL=database.url)
        before = snapshot(tmp_path / "out")
        database.execute(
            "INSERT INTO events VALUES (40, '2024-01-01', '2024-02-01 12:30+00'), (41, '2024-02-03', now())"
        )
        _run(tmp_path, "append.yaml", DATABASE_URL=database.url)
        rows = {n: str(day) for n, day in database.fetch("SELECT id, created_at::date FROM events")}
    root = tmp_path / "out" / "events"
    assert_valid(root)
    held = [(row[0], label) for label, found in rows_by_manifest(root).items() for row in found]
    assert sorted(held) == sorted(rows.items())
    parts = {path: data for path, data in before.items() if path.endswith(".parquet")}
    assert parts.items() <= snapshot(tmp_path / "out").items()
