"""A standby of a PostgreSQL server, which serves reads and keeps no old row for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tests.servers.postgres import SETTINGS, PostgresServer, find_binaries
from tests.servers.process import Process, start_on_free_port, system_user, unavailable

# What the primary must be started with.
PRIMARY = SETTINGS | {"wal_level": "replica", "max_wal_senders": "4"}
_STANDBY = PRIMARY | {"hot_standby": "on", "max_standby_streaming_delay": "0"}


@contextmanager
def run_standby(primary: PostgresServer) -> Iterator[PostgresServer]:
    """Run a standby for as long as the block lasts; skip the test where there is none to run."""
    binaries = find_binaries()
    if binaries is None or not (binaries / "pg_basebackup").exists():
        unavailable("pg_basebackup is not installed: apt-get install postgresql")
    process, server = start_on_free_port(lambda port: _start(binaries, primary, port))
    try:
        yield server
    finally:
        process.close()


def _start(binaries: Path, primary: PostgresServer, port: int) -> tuple[Process, PostgresServer]:
    process = Process("standby", system_user("postgres"))
    try:
        data = process.directory / "data"
        password = primary.admin.password.replace("\\", "\\\\").replace("'", "\\'")
        location = f"host={primary.host} port={primary.port} user={primary.admin.user} password='{password}'"
        settings = _STANDBY | {"port": str(port), "unix_socket_directories": str(process.directory)}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        server = replace(primary, port=port, log=data / "log" / "postgres.csv")
        process.start(
            [binaries / "pg_basebackup", "-D", data, "-R", "-X", "stream", "-c", "fast", "-d", location],
            [binaries / "postgres", "-D", data, *options],
            stop_signals="SIGQUIT,SIGKILL",
            ready=lambda: server.fetch("SELECT 1"),
        )
        return process, server
    except BaseException:
        process.close()
        raise
