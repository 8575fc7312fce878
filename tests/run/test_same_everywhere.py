"""One table of PostgreSQL gives the same bytes whatever server, role, machine and environment are set to."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.run.running import by_day, run_well
from tests.run.trees import NULL, manifests, rows_by_glob
from tests.servers.database import Database
from tests.servers.postgres import PostgresServer

# Every type whose text depends on a setting, and some whose text does not.
ROWS = 40
TABLE = f"""
CREATE SCHEMA other;
CREATE TYPE mood AS ENUM ('so "so"', 'a\\b');
CREATE TABLE public.events (
    id int PRIMARY KEY, created_at timestamptz, naive timestamp, day date, at time, at_zone timetz,
    span interval, cash money, small real, large double precision, exact numeric(20,6), bare numeric,
    bytes bytea, note text, feeling mood, feelings mood[], doc jsonb, mark xml, bits bit varying,
    days date[], moments timestamptz[], reals double precision[], blobs bytea[], spans interval[],
    range tstzrange
);
INSERT INTO public.events SELECT i,
    timestamptz '2024-03-30 22:30:00.123456+00' + i * interval '47 minutes',
    timestamp '2024-03-31 02:30' + i * interval '1 s', date '2024-03-31' - i, time '23:59:59.999999',
    timetz '12:00:00.5+05:30', interval '-1 year 2 mons -3 days 04:05:06.7', (i * 1234.56)::numeric::money,
    0.1::real * i, 0.1::float8 * i + 1e-300, i / 7.0, i * 1e-20, '\\x00ff27225c'::bytea,
    E'é"\\n\\t€ 中' || i, 'a\\b', ARRAY['a\\b', 'so "so"', NULL]::mood[], '{{"a": [1, "é"]}}', '<a>é</a>',
    B'1011', ARRAY[date '2024-03-31', NULL], ARRAY[timestamptz '2024-03-31 01:00+00'],
    ARRAY[0.1::float8, 'NaN', '-Infinity'], ARRAY['\\x0022'::bytea], ARRAY[interval '1 day -2 h'],
    tstzrange('2024-03-31 01:00+00', NULL)
FROM generate_series(1, {ROWS}) i;
INSERT INTO public.events (id) VALUES (0);
CREATE TABLE other.events (id int, created_at date);
INSERT INTO other.events VALUES (666, '2020-01-01');
CREATE FUNCTION other.encode(bytea, text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'ff' $$;
CREATE FUNCTION other.lower(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'x' $$;
"""
SETTINGS: dict[str, dict[str, str]] = {
    "zone": {"TimeZone": "Pacific/Apia"},
    "half an hour": {"TimeZone": "Asia/Kolkata", "timezone_abbreviations": "India"},
    "German": {"DateStyle": "German", "IntervalStyle": "sql_standard"},
    "day first": {"DateStyle": "SQL, DMY", "IntervalStyle": "postgres_verbose"},
    "year first": {"DateStyle": "Postgres, YMD", "IntervalStyle": "postgres"},
    "few digits": {"extra_float_digits": "-15"},
    "text forms": {"bytea_output": "escape", "xmlbinary": "hex", "xmloption": "document"},
    "encoding": {"client_encoding": "LATIN1"},
    "search path": {"search_path": "other, pg_catalog, public"},
    "no search path": {"search_path": ""},
    "strings": {"standard_conforming_strings": "off", "escape_string_warning": "on", "array_nulls": "off"},
    "identifiers": {"quote_all_identifiers": "on", "transform_null_equals": "on"},
    "isolation": {"default_transaction_isolation": "read committed", "default_transaction_read_only": "off"},
    "serializable": {"default_transaction_isolation": "serializable", "default_transaction_deferrable": "on"},
    "planner": {"enable_seqscan": "off", "enable_sort": "off", "force_parallel_mode": "on", "jit": "on"},
    "timeouts": {"lock_timeout": "1", "row_security": "off"},
    "locale": {"lc_monetary": "en_US.UTF-8", "lc_numeric": "de_DE.UTF-8", "lc_messages": "C"},
}
ENVIRONMENTS: dict[str, dict[str, str]] = {
    "machine": {"TZ": "America/Havana", "LC_ALL": "de_DE.UTF-8", "LANG": "tr_TR.UTF-8"},
    "zone and style": {"PGTZ": "Asia/Tokyo", "PGDATESTYLE": "German", "PGGEQO": "off"},
    "options": {"PGOPTIONS": "-c TimeZone=Asia/Tokyo -c extra_float_digits=-15 -c search_path=other"},
    "encoding": {"PGCLIENTENCODING": "LATIN1"},
    "another server": {"PGHOST": "nowhere", "PGHOSTADDR": "127.0.0.9", "PGPORT": "1"},
    "another login": {"PGUSER": "nobody", "PGPASSWORD": "wrong", "PGDATABASE": "nothing"},
    "service": {"PGSERVICE": "elsewhere"},
    "attributes": {"PGTARGETSESSIONATTRS": "standby", "PGAPPNAME": "x", "PGCONNECT_TIMEOUT": "2"},
    "tls": {"PGGSSENCMODE": "require", "PGSSLROOTCERT": "/nowhere"},
    "authentication": {"PGREQUIREPEER": "nobody", "PGCHANNELBINDING": "disable", "PGKRBSRVNAME": "x"},
}


Facts = dict[str, tuple[str, list[str]]]


def _export(database: Database, directory: Path) -> Facts:
    """Export the table and give each partition's schema and digests; equal rows make equal bytes."""
    run_well(directory, database.source, by_day(directory / "tree", table="public.events"))
    return {
        label: (m["schema_fingerprint"], [part["sha256"] for part in m["parts"]])
        for label, m in manifests(directory / "tree").items()
    }


@pytest.fixture(scope="module")
def made(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Database, Facts]]:
    """Make the table, and export it as the server's own settings have it."""
    with postgres.fresh_database() as database:
        database.execute(TABLE)
        directory = tmp_path_factory.mktemp("same")
        facts = _export(database, directory)
        assert len(rows_by_glob(directory / "tree")) == ROWS + 1
        assert set(facts) == {"2024-03-30", "2024-03-31", "2024-04-01", NULL}
        yield database, facts


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_settings_of_the_role_change_nothing(
    made: tuple[Database, Facts], settings: dict[str, str], tmp_path: Path
) -> None:
    """Zone, styles, digits, encodings, paths, strings, isolation, planner and timeouts change no byte."""
    database, facts = made
    server, name = database.server, database.name
    for setting, value in settings.items():
        if setting.startswith("lc_") and not _has_locale(database, setting, value):
            continue
        shown = "''" if not value else value if setting == "search_path" else f"'{value}'"
        server.execute(f"ALTER ROLE {server.user} IN DATABASE {name} SET {setting} = {shown}")
    try:
        assert _export(database, tmp_path) == facts
    finally:
        server.execute(f"ALTER ROLE {server.user} IN DATABASE {name} RESET ALL")


@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_the_environment_changes_nothing(
    made: tuple[Database, Facts], environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What the machine or libpq's variables and files say of other servers, zones and texts is not obeyed."""
    passwords, services = tmp_path / "pgpass", tmp_path / "services"
    passwords.write_text("*:*:*:*:wrong\n")
    passwords.chmod(0o600)
    services.write_text("[elsewhere]\nhost=nowhere\nport=1\noptions=-c TimeZone=Asia/Tokyo\n")
    files = {"PGPASSFILE": str(passwords), "PGSERVICEFILE": str(services)}
    for variable, value in (files | environment).items():
        monkeypatch.setenv(variable, value)
    time.tzset()
    try:
        assert _export(made[0], tmp_path) == made[1]
    finally:
        monkeypatch.undo()
        time.tzset()


def _has_locale(database: Database, setting: str, value: str) -> bool:
    try:
        database.fetch(f"SET {setting} = '{value}'")
    except Exception:  # noqa: BLE001  the machine has not got it, whatever the driver calls that
        return False
    return True
