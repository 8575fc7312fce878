"""How PostgreSQL can refuse or break off, what each becomes, and that no secret shows."""

from __future__ import annotations

import re
import socket
import traceback
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import asyncpg
import psycopg
import pytest
import sqlalchemy.exc

from rivet.config.settings import Secret, SourceSettings, Tls
from rivet.errors import SourceDenied, SourceError, SourceStopped, SourceUnavailable
from rivet.source.opening import open_source
from rivet.source.postgres.errors import DRIVER_ERRORS, translated
from rivet.source.relation import Request
from tests.servers.database import Database
from tests.servers.postgres import PostgresServer
from tests.servers.proxy import run_proxy
from tests.source.reading import in_session, read_all, read_scan, said_as, settings_of

WRONG = "wr@ng/pass word#1%"


def fail_to_open(settings: SourceSettings) -> SourceError:
    """Open a session that must fail, and give the error, searched for secrets with all its causes."""
    with pytest.raises(SourceError) as caught, open_source(settings).session():
        pass
    shown = "".join(traceback.format_exception(caught.value)) + str(caught.value.hint) + repr(settings)
    assert settings.password is not None
    for secret in (settings.password.reveal(), quote(settings.password.reveal(), safe="")):
        assert secret not in shown
    return caught.value


def test_wrong_credentials_are_denied(postgres_database: Database) -> None:
    """A wrong password, a wrong user and a wrong database are denied, with what the server said."""
    settings = settings_of(postgres_database)
    for changed, said in [
        (replace(settings, password=Secret(WRONG)), "password authentication failed"),
        (replace(settings, user="nobody else"), "password authentication failed"),
        (replace(settings, database="no such db"), '"no such db" does not exist'),
    ]:
        error = fail_to_open(changed)
        assert isinstance(error, SourceDenied)
        assert said in str(error)
        assert error.exit_code == 2


def test_an_unreachable_server_is_unavailable(postgres_database: Database, tmp_path: Path) -> None:
    """A closed port, an unknown host, a missing socket and a silent server may be tried again."""
    settings = settings_of(postgres_database, connect_timeout_seconds=1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for changed in (
            replace(settings, port=1),
            replace(settings, host="no-such-host.invalid"),
            replace(settings, host=str(tmp_path)),
            replace(settings, port=silent.getsockname()[1]),
        ):
            error = fail_to_open(changed)
            assert isinstance(error, SourceUnavailable), error
            assert error.exit_code == 3
            assert "check host and port" in (error.hint or ""), error


def test_a_full_server_is_unavailable(postgres_database: Database) -> None:
    """Too many connections is a state that passes."""
    name = postgres_database.name
    postgres_database.server.execute(f"ALTER DATABASE {name} CONNECTION LIMIT 0")
    assert isinstance(fail_to_open(settings_of(postgres_database)), SourceUnavailable)
    # One is enough for the first connection of a session, but not for its second.
    postgres_database.server.execute(f"ALTER DATABASE {name} CONNECTION LIMIT 1")
    assert isinstance(fail_to_open(settings_of(postgres_database)), SourceUnavailable)


def test_the_environment_leads_nowhere_else(
    postgres_database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Variables of libpq change neither host nor database nor options; a password file gives a password."""
    postgres_database.execute("CREATE TABLE t AS SELECT 1 AS i")
    postgres_database.server.execute("CREATE ROLE plain LOGIN PASSWORD 'word of a file'")
    for name, value in {
        "PGHOST": "no-such-host.invalid",
        "PGHOSTADDR": "127.0.0.9",
        "PGPORT": "1",
        "PGUSER": "nobody",
        "PGDATABASE": "nowhere",
        "PGOPTIONS": "-c search_path=nowhere -c default_transaction_isolation=serializable",
        "PGCLIENTENCODING": "LATIN1",
        "PGTZ": "Asia/Tokyo",
        "PGTARGETSESSIONATTRS": "standby",
        "PGSSLMODE": "disable",
    }.items():
        monkeypatch.setenv(name, value)
    assert read_all(postgres_database, table="t").to_pylist() == [{"i": 1}]

    file = tmp_path / "pgpass"
    file.write_text(f"127.0.0.1:*:{postgres_database.name}:plain:word of a file\n", encoding="utf-8")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    settings = settings_of(postgres_database, user="plain", password=None)
    with open_source(settings).session() as session:
        assert session.describe(Request(query="SELECT 1 AS i")).columns


def test_a_unix_socket_is_a_host(postgres_database: Database) -> None:
    """A directory as host is that of the server's Unix socket, for both connections."""
    server = postgres_database.server
    assert isinstance(server, PostgresServer)
    directory = server.log.parents[2]
    assert list(directory.glob(".s.PGSQL.*"))
    settings = settings_of(postgres_database, host=str(directory))
    with open_source(settings).session() as session:
        relation = session.describe(Request(query="SELECT inet_client_addr() IS NULL AS here"))
        assert read_scan(session, relation).to_pylist() == [{"here": True}]


def test_tls_by_environment_alone_is_refused(
    postgres_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PGSSLMODE that asks for more than the config is not dropped in silence."""
    monkeypatch.setenv("PGSSLMODE", "verify-full")
    error = fail_to_open(settings_of(postgres_database))
    assert isinstance(error, SourceDenied)
    assert "verify-full" in (error.hint or "")


def test_tls_is_never_given_up(postgres_database: Database, tmp_path: Path) -> None:
    """A server without TLS is refused by every mode that wants it, and so is a Unix socket."""
    ca_file = tmp_path / "ca.pem"
    for tls in (Tls("require"), Tls("verify-full")):
        error = fail_to_open(settings_of(postgres_database, tls=tls))
        assert isinstance(error, SourceDenied), error
    for tls in (Tls("verify-full", ca_file), Tls("verify-ca"), Tls("require", ca_file)):
        assert isinstance(fail_to_open(settings_of(postgres_database, tls=tls)), SourceDenied)
    error = fail_to_open(settings_of(postgres_database, tls=Tls("require"), host=str(tmp_path)))
    assert "Unix socket" in str(error)
    assert in_session(postgres_database, lambda s: s.engine, tls=Tls("disable")) == "postgres"


def test_tls_modes(postgres_tls: PostgresServer, tmp_path: Path) -> None:
    """Each mode checks what it says, on both connections."""
    assert postgres_tls.ca_file is not None
    with postgres_tls.fresh_database() as database:

        def encrypted(tls: Tls | None, host: str = "localhost") -> list[tuple[bool, int]]:
            settings = settings_of(database, tls=tls, host=host)
            with open_source(settings).session() as session:
                read_scan(session, session.describe(Request(query="SELECT 1 AS one")))
                return [
                    (bool(row[0]), row[1])
                    for row in database.fetch(
                        "SELECT ssl, count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)"
                        " WHERE application_name = 'rivet' GROUP BY 1"
                    )
                ]

        for tls, host in [
            (None, "localhost"),
            (Tls("require"), "localhost"),
            (Tls("require"), "127.0.0.1"),
            (Tls("verify-ca", postgres_tls.ca_file), "127.0.0.1"),
            (Tls("verify-full", postgres_tls.ca_file), "localhost"),
        ]:
            assert encrypted(tls, host) == [(True, 2)], tls
        assert encrypted(Tls("disable")) == [(False, 2)]

        other = tmp_path / "empty.pem"
        other.touch()
        for tls, host in [
            (Tls("verify-full", postgres_tls.ca_file), "127.0.0.1"),
            (Tls("verify-full"), "localhost"),
            (Tls("verify-ca", other), "localhost"),
        ]:
            error = fail_to_open(settings_of(database, tls=tls, host=host))
            assert isinstance(error, SourceDenied), error


def test_a_stream_cut_at_any_place_is_never_taken_for_whole(postgres_database: Database) -> None:
    """Whatever byte the line breaks after, the scan raises; only with the server's last word it is whole."""
    server = postgres_database.server
    request = Request(query="SELECT i, 'row ' || i AS s FROM generate_series(1, 5) i")

    def read(most: int | None) -> int:
        """Read over a line that breaks after so many bytes of the scan, and give how many had come."""
        with run_proxy(server.host, server.port) as proxy:
            source = open_source(settings_of(postgres_database, port=proxy.port))
            with source.session() as session:
                relation = session.describe(request)
                proxy.limit(most)
                assert read_scan(session, relation).num_rows == 5
                return proxy.passed

    whole = read(None)
    assert whole > 50
    for most in range(1, whole - 6, 3):  # its last six bytes only say that the server is ready
        with pytest.raises(SourceUnavailable):
            read(most)


def test_the_table_of_errors_is_total() -> None:
    """Every class that a driver can raise becomes a `SourceError` of the kind that its SQLSTATE asks for."""
    raised: list[BaseException] = [
        *(kind("said so") for kind in vars(asyncpg.exceptions).values() if is_error(kind)),
        *(kind("said so") for kind in vars(psycopg.errors).values() if is_error(kind)),
        *(kind("said so") for kind in (OSError, ConnectionResetError, TimeoutError, socket.gaierror)),
        sqlalchemy.exc.InvalidRequestError("said so"),
        sqlalchemy.exc.OperationalError("SELECT 1", {}, psycopg.errors.AdminShutdown("said so")),
    ]
    assert len(raised) > 400
    for error in raised:
        assert isinstance(error, DRIVER_ERRORS)
        assert re.fullmatch("reading: (said so|timed out).*", str(said_as(translated, error)))
    assert isinstance(said_as(translated, raised[-1]), SourceUnavailable)


def is_error(kind: object) -> bool:
    """Tell whether an attribute of a driver's module is an error that it raises."""
    if not isinstance(kind, type) or not issubclass(kind, Exception) or issubclass(kind, Warning):
        return False
    return kind.__module__.startswith(("asyncpg", "psycopg")) and issubclass(kind, DRIVER_ERRORS)


@pytest.mark.parametrize(
    ("sqlstate", "kind"),
    [
        ("08006", SourceUnavailable),
        ("22012", SourceError),
        ("25006", SourceError),
        ("28P01", SourceDenied),
        ("28000", SourceDenied),
        ("3D000", SourceDenied),
        ("40001", SourceUnavailable),
        ("40P01", SourceUnavailable),
        ("42501", SourceDenied),
        ("42P01", SourceError),
        ("42703", SourceError),
        ("25P03", SourceUnavailable),
        ("25P04", SourceStopped),
        ("53100", SourceStopped),
        ("53200", SourceUnavailable),
        ("53300", SourceUnavailable),
        ("53400", SourceStopped),
        ("55P03", SourceUnavailable),
        ("57014", SourceStopped),
        ("57P01", SourceUnavailable),
        ("57P02", SourceUnavailable),
        ("57P03", SourceUnavailable),
        ("72000", SourceUnavailable),
        ("58030", SourceUnavailable),
        ("XX000", SourceError),
    ],
)
def test_kinds_by_sqlstate(sqlstate: str, kind: type[SourceError]) -> None:
    """Both drivers' errors of one SQLSTATE become the same kind; what was stopped is not begun anew."""
    ours = psycopg.errors.lookup(sqlstate)("x")
    theirs = asyncpg.PostgresError.new({"C": sqlstate, "M": "x", "S": "ERROR"})
    assert type(said_as(translated, ours)) is kind
    assert type(said_as(translated, theirs)) is kind
