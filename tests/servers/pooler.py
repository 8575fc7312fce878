"""PgBouncer in transaction mode before a PostgreSQL server: each transaction may have another connection."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from tests.servers.database import Database
from tests.servers.process import Process, start_on_free_port, system_user

_SETTINGS = """
[databases]
{name} = host={host} port={server_port} user={user} password='{password}' pool_size=2
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
auth_type = any
pool_mode = transaction
unix_socket_dir =
"""


@contextmanager
def run_pooler(database: Database) -> Iterator[Database]:
    """Give a database behind a pooler for as long as the block lasts; skip the test where there is none."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("PgBouncer is not installed: apt-get install pgbouncer")
    process, behind = start_on_free_port(lambda port: _start(program, database, port))
    try:
        yield behind
    finally:
        process.close()


def _start(program: str, database: Database, port: int) -> tuple[Process, Database]:
    process = Process("pooler", system_user("postgres"))
    try:
        server = database.server
        settings = process.directory / "pgbouncer.ini"
        settings.write_text(
            _SETTINGS.format(
                name=database.name,
                host=server.host,
                server_port=server.port,
                user=server.user,
                password=server.password.replace("'", "''"),
                port=port,
            ),
            encoding="utf-8",
        )
        process.own(settings)
        behind = replace(database, server=replace(server, port=port))
        process.start(
            [program, settings], stop_signals="SIGINT,SIGKILL", ready=lambda: behind.fetch("SELECT 1")
        )
        return process, behind
    except BaseException:
        process.close()
        raise
