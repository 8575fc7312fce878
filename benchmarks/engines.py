"""What each database brings to the bench: a tuned server of our own, the table, and the floor's statement."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from benchmarks.timing import BenchFailed
from tests.servers.database import Database, Server
from tests.servers.mariadb import find_program, run_mariadb
from tests.servers.postgres import SETTINGS, find_binaries, run_postgres
from tests.servers.process import unavailable

DAYS = 365  # of 2023; with the NULL rows, 366 partitions
LARGE_ROWS = 10_000_000
INDEX = "CREATE INDEX events_by_day ON events (created_at)"
_MICROSECONDS = DAYS * 86_400_000_000


@dataclass(frozen=True)
class Goal:
    """A ratio of medians that Rivet is to stay at or below.

    Attributes:
        large: The goal for 10,000,000 rows and more, where it is another.
        of: Which Rivet: by its name as a contestant.
    """

    against: str
    at_most: float
    large: float | None = None
    of: str = "rivet"

    def for_rows(self, rows: int) -> float:
        """Give the goal for a table of so many rows."""
        return self.large if self.large is not None and rows >= LARGE_ROWS else self.at_most


TO_S3 = Goal("rivet", 1.25, of="rivet-s3")


@dataclass(frozen=True)
class Engine:
    """A database and all that differs with it.

    Attributes:
        start: Run a server of our own with the settings of the bench.
        fill: Make and fill the table `events`, `{rows}` of them; one column of each common type, the dates in
            random order, every thousandth of them NULL, and no index on them. The same rows each time.
        settle: Statements of the superuser after which the server has nothing left to tidy up.
        days: Rows by day, as the directories of a tree are labelled; NULL for those without a date.
        settings: The version and each setting that matters, by name, as the server itself says it.
        floor: Give the client's command that reads the rows in order as CSV, and prints them; it may need to
            know the statements that Rivet sends.
        environment: Where the client and DuckDB's scanner find the database.
        scanner: DuckDB's extension, and its name for ATTACH.
        has_rivet_cli: Whether the public tool exports this table from it.
    """

    title: str
    start: Callable[[], AbstractContextManager[Server]]
    fill: str
    settle: tuple[str, ...]
    days: str
    settings: str
    floor: Callable[[Database, Sequence[str]], list[str]]
    environment: Callable[[Database], Mapping[str, str]]
    scanner: tuple[str, str]
    goals: tuple[Goal, ...]
    has_rivet_cli: bool = False


POSTGRES_SETTINGS = {
    "shared_buffers": "512MB",
    "work_mem": "512MB",
    "maintenance_work_mem": "512MB",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "autovacuum": "off",  # the table is vacuumed before it is measured, and never changes
    "timezone": "UTC",
}

_POSTGRES_FILL = f"""
CREATE TABLE events (
    id bigint PRIMARY KEY,
    created_at timestamp,
    customer text NOT NULL,
    status text NOT NULL,
    amount numeric(12,2) NOT NULL,
    quantity integer NOT NULL,
    price double precision NOT NULL,
    is_paid boolean NOT NULL,
    country char(2) NOT NULL,
    note text,
    payload uuid NOT NULL,
    updated_at timestamptz NOT NULL
);
SELECT setseed(0.5);
INSERT INTO events SELECT
    i,
    CASE WHEN i % 1000 > 0
        THEN timestamp '2023-01-01' + floor(random() * {_MICROSECONDS}) * interval '1 microsecond' END,
    'customer ' || floor(random() * 100000),
    (ARRAY['new', 'paid', 'packed', 'shipped', 'delivered', 'returned'])[1 + floor(random() * 6)::int],
    random() * 10000,
    1 + floor(random() * 20),
    random() * 1000,
    random() < 0.8,
    (ARRAY['DE', 'FR', 'IT', 'ES', 'PL', 'NL', 'US', 'BR'])[1 + floor(random() * 8)::int],
    CASE floor(random() * 16)
        WHEN 0 THEN NULL
        WHEN 1 THEN ''
        WHEN 2 THEN 'asked for "gift wrap", twice'
        ELSE 'left at door ' || floor(random() * 1000) || ', signed by ' || floor(random() * 100000)
    END,
    md5('payload ' || i)::uuid,
    timestamptz '2024-01-01 00:00+00' + floor(random() * 1e13) * interval '1 microsecond'
FROM generate_series(1, {{rows}}) AS i
"""


def _postgres_floor(_database: Database, _statements: Sequence[str]) -> list[str]:
    binaries = find_binaries()
    psql = binaries / "psql" if binaries and (binaries / "psql").exists() else shutil.which("psql")
    if psql is None:
        unavailable("psql is not installed: apt-get install postgresql-client")
    return [
        str(psql), "-X", "-q",
        "-c", "COPY (SELECT * FROM events ORDER BY created_at) TO STDOUT (FORMAT csv)",
    ]  # fmt: skip


def _postgres_environment(database: Database) -> Mapping[str, str]:
    server = database.server
    return {
        "PGHOST": server.host,
        "PGPORT": str(server.port),
        "PGUSER": server.user,
        "PGPASSWORD": server.password,
        "PGDATABASE": database.name,
    }


MARIADB_OPTIONS = (
    "--max-allowed-packet=64M",  # some rows of shapes are large
    "--innodb-buffer-pool-size=1G",
    "--sort-buffer-size=64M",
    "--innodb-flush-log-at-trx-commit=1",
    "--innodb-doublewrite=1",
    "--innodb-log-file-size=512M",
    "--default-time-zone=+00:00",
    "--character-set-server=utf8mb4",
)

_MARIADB_FILL = f"""
CREATE TABLE events (
    id bigint PRIMARY KEY,
    created_at datetime(6),
    customer varchar(100) NOT NULL,
    status varchar(20) NOT NULL,
    amount decimal(12,2) NOT NULL,
    quantity integer NOT NULL,
    price double NOT NULL,
    is_paid boolean NOT NULL,
    country char(2) NOT NULL,
    note text,
    payload char(36) NOT NULL,
    updated_at timestamp(6) NOT NULL
) ENGINE = InnoDB;
SET unique_checks = 0, foreign_key_checks = 0;
INSERT INTO events SELECT
    seq,
    IF(seq % 1000 > 0, '2023-01-01' + INTERVAL FLOOR(RAND(11) * {_MICROSECONDS}) MICROSECOND, NULL),
    CONCAT('customer ', FLOOR(RAND(101) * 100000)),
    ELT(1 + FLOOR(RAND(1009) * 6), 'new', 'paid', 'packed', 'shipped', 'delivered', 'returned'),
    RAND(10007) * 10000,
    1 + FLOOR(RAND(20011) * 20),
    RAND(30011) * 1000,
    RAND(40009) < 0.8,
    ELT(1 + FLOOR(RAND(50021) * 8), 'DE', 'FR', 'IT', 'ES', 'PL', 'NL', 'US', 'BR'),
    CASE FLOOR(RAND(60013) * 16)
        WHEN 0 THEN NULL
        WHEN 1 THEN ''
        WHEN 2 THEN 'asked for "gift wrap", twice'
        ELSE CONCAT('left at door ', FLOOR(RAND(70001) * 1000), ', signed by ', FLOOR(RAND(80021) * 100000))
    END,
    INSERT(INSERT(INSERT(INSERT(
        MD5(CONCAT('payload ', seq)), 21, 0, '-'), 17, 0, '-'), 13, 0, '-'), 9, 0, '-'),
    '2024-01-01' + INTERVAL FLOOR(RAND(90001) * 10000000000000) MICROSECOND
FROM seq_1_to_{{rows}}
"""


def _mariadb_floor(database: Database, statements: Sequence[str]) -> list[str]:
    client = find_program("mariadb")
    if client is None:
        unavailable("the mariadb client is not installed: apt-get install mariadb-client")
    # The server has no COPY: the bare query is the one with which Rivet reads rows, here as text.
    scans = [text for text in statements if text.startswith("SELECT rivet.`id`, ")]
    if len(scans) != 1:
        raise BenchFailed(f"rivet read the table in {len(scans)} scans, expected 1")
    return [
        client, "--no-defaults", "--protocol=tcp", f"--user={database.server.user}",
        "--default-character-set=utf8mb4", "--quick", "--batch", "--raw", "--skip-column-names",
        f"--execute={scans[0]}", database.name,
    ]  # fmt: skip


def _mariadb_environment(database: Database) -> Mapping[str, str]:
    server = database.server
    return {
        "MYSQL_HOST": server.host,
        "MYSQL_TCP_PORT": str(server.port),
        "MYSQL_USER": server.user,
        "MYSQL_PWD": server.password,
        "MYSQL_DATABASE": database.name,
    }


ENGINES = {
    "postgres": Engine(
        title="PostgreSQL",
        start=lambda: run_postgres(settings=SETTINGS | POSTGRES_SETTINGS),
        fill=_POSTGRES_FILL,
        settle=("VACUUM (ANALYZE) events", "CHECKPOINT"),
        days="SELECT created_at::date::text, count(*) FROM events GROUP BY 1",
        settings="SELECT name, current_setting(name) FROM pg_settings WHERE name IN ('server_version',"
        " 'shared_buffers', 'work_mem', 'fsync', 'max_parallel_workers_per_gather', 'jit') ORDER BY"
        " name <> 'server_version', name",
        floor=_postgres_floor,
        environment=_postgres_environment,
        scanner=("postgres_scanner", "postgres"),
        goals=(Goal("floor", 1.2, 1.1), Goal("duckdb", 0.7, 0.65), Goal("rivet-cli", 0.12), TO_S3),
        has_rivet_cli=True,
    ),
    "mariadb": Engine(
        title="MariaDB",
        start=lambda: run_mariadb(options=MARIADB_OPTIONS),
        fill=_MARIADB_FILL,
        # The second waits until every changed page of the table is on disk.
        settle=("ANALYZE TABLE events", "FLUSH TABLES events FOR EXPORT", "UNLOCK TABLES"),
        days="SELECT CAST(CAST(created_at AS date) AS char), count(*) FROM events GROUP BY 1",
        settings="SELECT variable_name, variable_value FROM information_schema.global_variables WHERE"
        " variable_name IN ('VERSION', 'INNODB_BUFFER_POOL_SIZE', 'SORT_BUFFER_SIZE',"
        " 'INNODB_FLUSH_LOG_AT_TRX_COMMIT', 'INNODB_DOUBLEWRITE') ORDER BY variable_name <> 'VERSION',"
        " variable_name",
        floor=_mariadb_floor,
        environment=_mariadb_environment,
        scanner=("mysql_scanner", "mysql"),
        goals=(Goal("floor", 1.2), Goal("duckdb", 0.45), TO_S3),
    ),
}
