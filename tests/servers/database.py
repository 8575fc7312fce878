"""What tests get: a server with accounts, and fresh databases in it."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

# Every sign that has broken a URL, a YAML file, a shell or a log somewhere. A password is text, and no more.
ODD_PASSWORD = "p@ss/w?rd#1%: {x}'\"`\\&+$USER=é"


@dataclass(frozen=True)
class Account:
    """A login of a server."""

    user: str
    password: str


@dataclass(frozen=True)
class Server(ABC):
    """A running server of our own.

    Attributes:
        account: The ordinary user, who owns every fresh database and has no special rights.
        admin: The superuser.
        ca_file: The authority that signed the server's certificate, or None for a server without TLS. The
            certificate is for the name `localhost` only, not for 127.0.0.1.
    """

    host: str
    port: int
    account: Account
    admin: Account
    ca_file: Path | None = None

    scheme: ClassVar[str]
    source_type: ClassVar[str]

    @property
    def user(self) -> str:
        """Name the ordinary user."""
        return self.account.user

    @property
    def password(self) -> str:
        """Give the ordinary user's password, which is full of signs that need care."""
        return self.account.password

    def url(self, database: str, *, account: Account | None = None, host: str | None = None) -> str:
        """Write the URL of a database, for the ordinary user or another account."""
        login = account or self.account
        user, password = quote(login.user, safe=""), quote(login.password, safe="")
        return f"{self.scheme}://{user}:{password}@{host or self.host}:{self.port}/{quote(database, safe='')}"

    @abstractmethod
    def connect(
        self, database: str | None = None, *, account: Account | None = None, autocommit: bool = True
    ) -> AbstractContextManager[Any]:
        """Open the driver's own connection, closed on leaving; the superuser's unless an account is given."""

    def execute(self, sql: str) -> None:
        """Run statements as the superuser, in no database of a test."""
        with self.connect() as connection:
            run(connection, sql)

    def fetch(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a query as the superuser and give its rows."""
        with self.connect() as connection:
            return run(connection, sql)

    @abstractmethod
    def create_database(self, name: str) -> None:
        """Make an empty database that belongs to the ordinary user."""

    @abstractmethod
    def drop_database(self, name: str) -> None:
        """Remove a database, whoever is connected to it."""

    @abstractmethod
    def recording(self, database: str) -> AbstractContextManager[list[str]]:
        """Collect the statements that others than this harness send to a database, in order.

        The list is filled on leaving. Only connections that were opened inside the block count.
        """

    @contextmanager
    def fresh_database(self) -> Iterator[Database]:
        """Make an empty database for one test."""
        name = f"rivet_{next(_numbers)}"
        self.create_database(name)
        try:
            yield Database(self, name)
        finally:
            self.drop_database(name)


@dataclass(frozen=True)
class Database:
    """An empty database of a server, which belongs to the ordinary user."""

    server: Server
    name: str

    @property
    def url(self) -> str:
        """Write its URL, as a config's `source.url`."""
        return self.server.url(self.name)

    @property
    def source(self) -> dict[str, Any]:
        """Write the `source` section of a config that exports from it."""
        return {"type": self.server.source_type, "url": self.url}

    def at(self, host: str) -> Database:
        """Give the same database under another name of its host."""
        return replace(self, server=replace(self.server, host=host))

    def connect(self, *, autocommit: bool = True) -> AbstractContextManager[Any]:
        """Open the driver's own connection, closed on leaving."""
        return self.server.connect(self.name, account=self.server.account, autocommit=autocommit)

    def execute(self, sql: str) -> None:
        """Run statements, text as it is, without parameters."""
        with self.connect() as connection:
            run(connection, sql)

    def fetch(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a query, text as it is, and give its rows."""
        with self.connect() as connection:
            return run(connection, sql)

    def recording(self) -> AbstractContextManager[list[str]]:
        """Collect the statements that the code under test sends here; the list is filled on leaving."""
        return self.server.recording(self.name)


def run(connection: Any, sql: str) -> list[tuple[Any, ...]]:
    """Run all statements of a text on a driver's connection and give the rows of the last one."""
    rows: list[tuple[Any, ...]] = []
    with connection.cursor() as cursor:
        # psycopg wants bytes where the text is no literal; PyMySQL takes both.
        cursor.execute(sql.encode())
        while True:
            rows = [tuple(row) for row in cursor.fetchall()] if cursor.description else []
            if not cursor.nextset():
                return rows


_numbers = itertools.count(1)
