"""Real MySQL: a `mysqld` of the machine that is not MariaDB's, else the official image where Docker runs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.servers.database import ODD_PASSWORD, Account
from tests.servers.mariadb import MysqlServer, quoted, start_server
from tests.servers.process import Process, start_on_free_port, system_user

IMAGE = "mysql:8.4"


@contextmanager
def run_mysql() -> Iterator[MysqlServer]:
    """Run a server for as long as the block lasts; skip the test where there is none to run."""
    if program := _find_mysqld():
        process, server = start_on_free_port(lambda port: _start(program, port))
    elif _docker_runs():
        process, server = start_on_free_port(_start_container)
    else:
        pytest.skip(
            "MySQL is not installed: apt-get install mysql-server where the system has it, else put the "
            "mysqld of https://dev.mysql.com/downloads/ on PATH, or start Docker"
        )
    try:
        yield server
    finally:
        process.close()


def _find_mysqld() -> str | None:
    for path in (None, "/usr/sbin:/usr/local/sbin:/usr/local/mysql/bin"):
        program = shutil.which("mysqld", path=path)
        # Debian's MariaDB installs a `mysqld` too.
        if program and "MariaDB" not in _output(program, "--version"):
            return program
    return None


def _docker_runs() -> bool:
    return bool(shutil.which("docker")) and bool(
        _output("docker", "version", "--format", "{{.Server.Version}}")
    )


def _output(*command: str) -> str:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def _start(program: str, port: int) -> tuple[Process, MysqlServer]:
    process = Process("mysql", system_user("mysql"))
    try:
        prepare = [
            program,
            "--no-defaults",
            "--initialize-insecure",
            f"--datadir={process.directory / 'data'}",
        ]
        return process, start_server(process, prepare, [program, "--mysqlx=OFF"], port, tls=False)
    except BaseException:
        process.close()
        raise


def _start_container(port: int) -> tuple[Process, MysqlServer]:
    process = Process("mysql", "")
    admin = Account("root", ODD_PASSWORD)
    server = MysqlServer(host="127.0.0.1", port=port, account=Account("rivet", ODD_PASSWORD), admin=admin)
    password_file = process.directory / "password"
    password_file.write_text(admin.password, encoding="utf-8")
    try:
        process.start(
            ["docker", "pull", "--quiet", IMAGE],
            [
                "docker", "run", "--rm", "--publish", f"127.0.0.1:{port}:3306", "--tmpfs", "/var/lib/mysql",
                "--volume", f"{password_file}:/run/password:ro",
                "--env", "MYSQL_ROOT_PASSWORD_FILE=/run/password",
                IMAGE, "--innodb-flush-log-at-trx-commit=0", "--skip-log-bin",
            ],
            stop_signals="SIGTERM,SIGKILL",
            ready=lambda: server.fetch("SELECT 1"),
            patience_seconds=600,
        )  # fmt: skip
        server.execute(f"CREATE USER {server.user} IDENTIFIED BY '{quoted(server.password)}'")
        return process, server
    except BaseException:
        process.close()
        raise
