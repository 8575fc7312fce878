"""Databases of every engine, by the engine's name; and one large table per engine for the whole session."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.run.buckets import Bucket
from tests.run.year import NULL_WORD, YEAR, Year
from tests.servers.database import Database
from tests.servers.mariadb import MysqlServer
from tests.servers.postgres import PostgresServer
from tests.servers.s3 import S3Bucket
from tests.servers.sqlite import SqliteDatabase

ENGINES = ("postgres", "mariadb", "sqlite")


AnyDatabase = Database | SqliteDatabase


@pytest.fixture
def database(engine: str, request: pytest.FixtureRequest) -> AnyDatabase:
    """Give an empty database of the engine that the test is parametrised with."""
    found: AnyDatabase = request.getfixturevalue(f"{engine}_database")
    return found


@pytest.fixture(scope="module")
def shared_database(
    engine: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AnyDatabase]:
    """Give a database for all examples of a test; the engine is parametrised with the module's scope."""
    if engine == "sqlite":
        yield SqliteDatabase(tmp_path_factory.mktemp("shared") / "shared.db")
        return
    with request.getfixturevalue(engine).fresh_database() as found:
        yield found


@pytest.fixture
def bucket(store: str, request: pytest.FixtureRequest) -> Bucket:
    """Give an empty bucket of the store that the test is parametrised with."""
    found: Bucket = request.getfixturevalue(f"{store}_bucket")
    return found


@pytest.fixture
def at_hand(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """Let the SDKs find the bucket's store and its keys by the environment alone."""
    if isinstance(bucket, S3Bucket):
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", bucket.server.endpoint_url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", bucket.server.account.access_key)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", bucket.server.account.secret_key)
    else:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", bucket.server.endpoint_url)
    return bucket


@dataclass(frozen=True)
class YearTable:
    """A table `events` of 300,000 rows over a leap year, which no test may change.

    Attributes:
        expected: Parquet file of its rows, as DuckDB made it of what the database rendered.
    """

    year: Year
    source: dict[str, Any]
    expected: Path


@pytest.fixture
def year_table(engine: str, request: pytest.FixtureRequest) -> YearTable:
    """Give the table of a year of the engine that the test is parametrised with."""
    found: YearTable = request.getfixturevalue(f"{engine}_year")
    return found


@pytest.fixture(scope="session")
def postgres_year(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[YearTable]:
    """Make the table of a year in PostgreSQL."""
    with postgres.fresh_database() as database:
        yield _make(YEAR["postgres"], database, tmp_path_factory.mktemp("year"))


@pytest.fixture(scope="session")
def mariadb_year(mariadb: MysqlServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[YearTable]:
    """Make the table of a year in MariaDB."""
    with mariadb.fresh_database() as database:
        yield _make(YEAR["mariadb"], database, tmp_path_factory.mktemp("year"))


@pytest.fixture(scope="session")
def sqlite_year(tmp_path_factory: pytest.TempPathFactory) -> YearTable:
    """Make the table of a year in SQLite."""
    directory = tmp_path_factory.mktemp("year")
    return _make(YEAR["sqlite"], SqliteDatabase(directory / "year.db"), directory)


def _make(year: Year, database: AnyDatabase, directory: Path) -> YearTable:
    database.execute(year.create)
    expected = directory / "expected.parquet"
    _write_expected(year, [line for (line,) in database.fetch(year.rendering)], expected)
    return YearTable(year, database.source, expected)


def _write_expected(year: Year, lines: list[str], path: Path) -> None:
    rendered = path.with_suffix(".csv")
    rendered.write_text("".join(f"{line}\n" for line in lines))
    columns = dict.fromkeys(year.columns, "VARCHAR")
    with duckdb.connect() as duck:
        duck.execute("SET TimeZone = 'UTC'")
        duck.execute(
            f"COPY (SELECT {year.values} FROM read_csv('{rendered}', auto_detect = false, header = false, "
            f"nullstr = '{NULL_WORD}', quote = '', escape = '', columns = {columns})) TO '{path}'"
        )
