"""Fixtures that every room shares: real servers, started on first use, and a fresh database for each test."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from rivet.ledger.keeper import Keeper
from tests.faults.planted import assert_no_secret, searched
from tests.servers.database import Database
from tests.servers.gcs import GcsBucket, GcsServer, run_gcs
from tests.servers.mariadb import MysqlServer, run_mariadb
from tests.servers.mysql import run_mysql
from tests.servers.postgres import PostgresServer, run_postgres
from tests.servers.s3 import S3Bucket, S3Server, run_s3
from tests.servers.sqlite import SqliteDatabase

# A loaded machine is no failure, and CI tries the same examples each time.
settings.register_profile("rivet", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("rivet")

# What the person who runs the tests has set for his own databases and buckets is not meant for ours.
for _name in list(os.environ):
    if _name.startswith(
        ("PG", "MYSQL_", "AWS_", "BOTO", "GOOGLE_", "GCLOUD_", "CLOUDSDK_", "STORAGE_", "GCSFS_")
    ):
        del os.environ[_name]
os.environ |= {
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
    "CLOUDSDK_CONFIG": os.devnull,
}


# A shell starts what it runs in the background with SIGINT ignored, and children inherit that: tests that
# interrupt themselves, or a command, would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test in whose output a secret of the servers stands."""
    report = yield
    try:
        assert_no_secret(*(text for name, text in report.sections if name.startswith("Captured")))
    except AssertionError as leak:
        report.outcome, report.longrepr = "failed", f"{report.nodeid}: in what was captured {leak}"
    return report


# What a test takes of its output by itself is searched when it does.
pytest.CaptureFixture.readouterr = searched(pytest.CaptureFixture.readouterr)  # type: ignore[method-assign]
subprocess.Popen.communicate = searched(subprocess.Popen.communicate)  # type: ignore[method-assign]


# A run that ends while the machine is busy elsewhere waits for its ledger, and gets no warning.
Keeper.__init__.__kwdefaults__ = {"source": None, "wait_seconds": 60.0, "close_seconds": 60.0}


@pytest.fixture(scope="session", autouse=True)
def state_home(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the history of the tests' runs out of the home of the person who runs them."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Run a PostgreSQL server without TLS."""
    with run_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_tls() -> Iterator[PostgresServer]:
    """Run a PostgreSQL server that offers TLS; `ca_file` is its authority, `localhost` its name."""
    with run_postgres(tls=True) as server:
        yield server


@pytest.fixture
def postgres_database(postgres: PostgresServer) -> Iterator[Database]:
    """Give an empty PostgreSQL database."""
    with postgres.fresh_database() as database:
        yield database


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MysqlServer]:
    """Run a MariaDB server without TLS."""
    with run_mariadb() as server:
        yield server


@pytest.fixture(scope="session")
def mariadb_tls() -> Iterator[MysqlServer]:
    """Run a MariaDB server that offers TLS; `ca_file` is its authority, `localhost` its name."""
    with run_mariadb(tls=True) as server:
        yield server


@pytest.fixture
def mariadb_database(mariadb: MysqlServer) -> Iterator[Database]:
    """Give an empty MariaDB database."""
    with mariadb.fresh_database() as database:
        yield database


@pytest.fixture(scope="session")
def mysql() -> Iterator[MysqlServer]:
    """Run a real MySQL server, where a `mysqld` or Docker is at hand."""
    with run_mysql() as server:
        yield server


@pytest.fixture
def mysql_database(mysql: MysqlServer) -> Iterator[Database]:
    """Give an empty MySQL database."""
    with mysql.fresh_database() as database:
        yield database


@pytest.fixture
def sqlite_database(tmp_path: Path) -> SqliteDatabase:
    """Give an empty SQLite file."""
    return SqliteDatabase(tmp_path / "source.db")


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """Run an S3 server without TLS."""
    with run_s3() as server:
        yield server


@pytest.fixture(scope="session")
def s3_tls() -> Iterator[S3Server]:
    """Run an S3 server with TLS; `ca_file` is its authority, `localhost` its name."""
    with run_s3(tls=True) as server:
        yield server


@pytest.fixture
def s3_bucket(s3: S3Server) -> Iterator[S3Bucket]:
    """Give an empty bucket of S3."""
    with s3.fresh_bucket() as bucket:
        yield bucket


@pytest.fixture(scope="session")
def gcs() -> Iterator[GcsServer]:
    """Run a server of Google Cloud Storage."""
    with run_gcs() as server:
        yield server


@pytest.fixture
def gcs_bucket(gcs: GcsServer) -> Iterator[GcsBucket]:
    """Give an empty bucket of Google Cloud Storage."""
    with gcs.fresh_bucket() as bucket:
        yield bucket
