"""Decides where and as whom to connect, from the settings alone.

The environment names no host, port, user, database or option here; only a password that the config leaves
out may come from PGPASSWORD or a password file, by the drivers' own rules.
"""

from __future__ import annotations

import getpass
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rivet.config.settings import SourceSettings, Tls
from rivet.errors import SourceDenied, SourceError

_DEFAULT_PORT = 5432
_SOCKET_DIRECTORIES = ("/run/postgresql", "/var/run/postgresql", "/tmp")  # noqa: S108  libpq's and Debian's


@dataclass(frozen=True, slots=True)
class Login:
    """Where and as whom to connect, every part decided.

    Attributes:
        host: A name, an address, or the directory of a Unix socket.
        password: Or None, which leaves it to the drivers' password files.
    """

    host: str
    port: int
    user: str
    database: str
    password: str | None
    tls: Tls | None
    connect_timeout_seconds: float
    statement_timeout_seconds: float

    def __repr__(self) -> str:
        return f"{self.database!r} at {self.host}:{self.port}"


def place_of(settings: SourceSettings) -> tuple[str, int]:
    """Give host and port; without a host, a local Unix socket where there is one, else localhost."""
    port = settings.port or _DEFAULT_PORT
    return settings.host or _local_host(port), port


def login_of(settings: SourceSettings) -> Login:
    """Decide every part that the settings leave open.

    Raises:
        SourceDenied: TLS is asked for where there can be none, or only by an environment variable.
        SourceError: No user is named, and the operating system knows none either.
    """
    host, port = place_of(settings)
    _check_tls(settings.tls, host)
    user = settings.user or _system_user()
    return Login(
        host=host,
        port=port,
        user=user,
        database=settings.database or user,
        password=settings.password.reveal() if settings.password is not None else None,
        tls=settings.tls,
        connect_timeout_seconds=settings.connect_timeout_seconds,
        statement_timeout_seconds=settings.statement_timeout_seconds,
    )


def _check_tls(tls: Tls | None, host: str) -> None:
    wanted = os.environ.get("PGSSLMODE", "")
    if tls is None and wanted in ("require", "verify-ca", "verify-full"):
        raise SourceDenied(
            f"PGSSLMODE is {wanted!r}, but the config says nothing of TLS",
            hint=f"write `tls: {{mode: {wanted}}}` under `source`",
        )
    if tls is not None and tls.mode != "disable" and host.startswith("/"):
        raise SourceDenied(
            f"tls mode {tls.mode!r} cannot be had over the Unix socket in {host!r}",
            hint="name a host, or take `tls` out",
        )


def _system_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError) as exc:  # a container may run as a number that has no name
        raise SourceError(
            "no user is named, and the operating system knows none", hint="write `user` under `source`"
        ) from exc


def _local_host(port: int) -> str:
    for directory in _SOCKET_DIRECTORIES:
        with suppress(OSError):  # one that this user may not look into
            if (Path(directory) / f".s.PGSQL.{port}").exists():
                return directory
    return "localhost"
