"""MariaDB and MySQL: what both have in common, and how a MariaDB server is started."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pymysql
from pymysql.constants import CLIENT, ER

from tests.servers.certificates import Certificates
from tests.servers.database import ODD_PASSWORD, Account, Server
from tests.servers.process import Process, start_on_free_port, system_user, unavailable

_CONNECTED_TO = re.compile(r"\S+ on (\S*) using ")


@dataclass(frozen=True)
class MysqlServer(Server):
    """A MariaDB or MySQL server."""

    _own_threads: set[int] = field(default_factory=set, compare=False)

    scheme = "mysql"
    source_type = "mysql"

    @contextmanager
    def connect(
        self, database: str | None = None, *, account: Account | None = None, autocommit: bool = True
    ) -> Iterator[pymysql.Connection[pymysql.cursors.Cursor]]:
        """Open a PyMySQL connection that takes several statements at once."""
        login = account or self.admin
        connection = pymysql.connect(
            host=self.host,
            port=self.port,
            user=login.user,
            # PyMySQL encodes text as latin1 here, and servers compare bytes.
            password=login.password.encode(),
            database=database,
            charset="utf8mb4",
            autocommit=autocommit,
            client_flag=CLIENT.MULTI_STATEMENTS,
            ssl_ca=str(self.ca_file) if self.ca_file else None,
        )
        self._own_threads.add(connection.thread_id())  # type: ignore[no-untyped-call]  # bare in the stubs
        try:
            yield connection
        finally:
            connection.close()

    def create_database(self, name: str) -> None:
        """Make an empty database that the ordinary user has all rights in."""
        self.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4; GRANT ALL ON {name}.* TO {self.user}")

    def drop_database(self, name: str) -> None:
        """Remove a database, whoever is connected to it."""
        threads = self.fetch(f"SELECT id FROM information_schema.processlist WHERE db = '{name}'")
        for (thread,) in threads:
            try:
                self.execute(f"KILL {thread}")
            except pymysql.err.OperationalError as error:
                if error.args[0] != ER.NO_SUCH_THREAD:  # it went by itself
                    raise
        self.execute(f"REVOKE ALL ON {name}.* FROM {self.user}; DROP DATABASE {name}")

    @contextmanager
    def recording(self, database: str) -> Iterator[list[str]]:
        """Collect the statements that others than this harness send to a database, in order."""
        statements: list[str] = []
        self.execute(
            "SET GLOBAL log_output = 'TABLE'; TRUNCATE mysql.general_log; SET GLOBAL general_log = ON"
        )
        try:
            yield statements
        finally:
            self.execute("SET GLOBAL general_log = OFF")
        threads: set[int] = set()
        for thread, command, argument in self.fetch(
            "SELECT thread_id, command_type, CONVERT(argument USING utf8mb4) FROM mysql.general_log"
        ):
            if thread in self._own_threads:
                continue
            connected = _CONNECTED_TO.match(argument) if command == "Connect" else None
            if connected and connected[1] == database:
                threads.add(thread)
            elif thread in threads and command in ("Query", "Execute"):
                statements.append(argument)


@contextmanager
def run_mariadb(*, tls: bool = False, options: Sequence[str] = ()) -> Iterator[MysqlServer]:
    """Run a server for as long as the block lasts; skip the test where there is none to run.

    Options come after our own, so they win.
    """
    program = find_program("mariadbd")
    if program is None or find_program("mariadb-install-db") is None:
        unavailable("MariaDB is not installed: apt-get install mariadb-server")
    process, server = start_on_free_port(lambda port: _start(program, port, options, tls=tls))
    try:
        yield server
    finally:
        process.close()


def find_program(program: str) -> str | None:
    """Find a program of the server, on PATH or where servers lie."""
    return shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/local/sbin:/usr/libexec")


def _start(program: str, port: int, options: Sequence[str], *, tls: bool) -> tuple[Process, MysqlServer]:
    process = Process("mariadb", system_user("mysql"))
    try:
        prepare = [
            find_program("mariadb-install-db"), "--no-defaults", f"--datadir={process.directory / 'data'}",
            "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve",
        ]  # fmt: skip
        return process, start_server(process, prepare, [program], port, options, tls=tls)
    except BaseException:
        process.close()
        raise


def start_server(
    process: Process,
    prepare: Sequence[object],
    program: Sequence[str],
    port: int,
    options: Sequence[str] = (),
    *,
    tls: bool,
) -> MysqlServer:
    """Prepare a data folder whose root has no password, start it, and make both accounts."""
    directory = process.directory
    command = [
        *program,
        "--no-defaults",
        f"--datadir={directory / 'data'}",
        "--bind-address=127.0.0.1",
        f"--port={port}",
        f"--socket={directory / 'socket'}",
        f"--pid-file={directory / 'pid'}",
        f"--tmpdir={directory}",
        "--skip-log-bin",
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-doublewrite=0",
        "--innodb-buffer-pool-size=256M",
        "--secure-file-priv=",
    ]
    ca_file = None
    if tls:
        certificates = Certificates(directory)
        for file in (certificates.certificate_file, certificates.key_file):
            process.own(file)
        ca_file = certificates.ca_file
        command += [
            f"--ssl-ca={ca_file}",
            f"--ssl-cert={certificates.certificate_file}",
            f"--ssl-key={certificates.key_file}",
        ]
    else:
        command.append("--skip-ssl")
    command += options
    server = MysqlServer(
        host="localhost" if tls else "127.0.0.1",
        port=port,
        account=Account("rivet", ODD_PASSWORD),
        admin=Account("admin", ODD_PASSWORD),
        ca_file=ca_file,
    )
    accounts = "".join(
        f"CREATE USER {login.user} IDENTIFIED BY '{quoted(login.password)}';"
        for login in (server.account, server.admin)
    )

    def make_accounts() -> None:
        if not (directory / "socket").exists():
            raise FileNotFoundError("the server has not opened its socket")
        with (
            pymysql.connect(
                unix_socket=str(directory / "socket"),
                user="root",
                charset="utf8mb4",
                client_flag=CLIENT.MULTI_STATEMENTS,
            ) as root,
            root.cursor() as cursor,
        ):
            cursor.execute(f"{accounts} GRANT ALL ON *.* TO {server.admin.user} WITH GRANT OPTION")
            while cursor.nextset():
                pass

    process.start(prepare, command, stop_signals="SIGKILL", ready=make_accounts)
    return server


def quoted(text: str) -> str:
    """Escape a text for a single-quoted literal."""
    return text.replace("\\", "\\\\").replace("'", "\\'")
