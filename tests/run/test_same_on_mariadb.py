"""A table and a query of MariaDB give the same rows, partitions and schema whatever is set around them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.run.running import by_day, run_well
from tests.run.trees import NULL, Rows, manifests, rows_by_manifest
from tests.servers.database import Database
from tests.servers.mariadb import run_mariadb
from tests.source.server_settings import global_settings

# Every type whose text depends on a setting, in a session that none of them has reached.
ROWS = 60
TABLE = f"""
SET SESSION sql_mode = '', time_zone = '+00:00', div_precision_increment = 4, NAMES utf8mb4;
CREATE TABLE events (id int PRIMARY KEY, created_at timestamp(6) NULL, wall datetime(6), day date, c char(9),
 l varchar(9) CHARACTER SET latin1, w varchar(40) CHARACTER SET utf8mb4, b varbinary(9), e enum('', 'x', 'ü'),
 s set('a', 'b'), u bigint unsigned, n decimal(20,6), f float, x double, bits bit(9), tm time(2), y year,
 note longtext) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
INSERT INTO events SELECT seq, TIMESTAMP '2024-03-30 20:30:00.123456' + INTERVAL seq * 47 MINUTE,
 TIMESTAMP '2024-03-31 02:30:00' + INTERVAL seq SECOND, DATE '2024-03-31' - INTERVAL seq % 7 DAY, 'a ', 'é€',
 CONCAT('中😀 "so" ''q'' \\\\ ', seq), X'00ff27225c', ELT(seq % 3 + 1, '', 'x', 'ü'), 'a,b',
 18446744073709551615,
 seq / 7, seq / 10, seq / 10 + 1e-300, seq, '-00:30:00.5', 1901, REPEAT(CONCAT('l\\n"', seq), 500)
FROM seq_1_to_{ROWS};
INSERT INTO events (id) VALUES (0);
"""
QUERY = (
    "SELECT COUNT(*) AS n, AVG(t.id) / 3 AS third, GROUP_CONCAT(t.w ORDER BY t.id) AS ids,"
    " WEEK(t.day) AS week,"
    " DATE_FORMAT(t.day, '%W %M') AS named, MAX(t.c) AS c, MIN(t.created_at) AS first, t.day FROM events AS t"
    " GROUP BY t.day, WEEK(t.day), DATE_FORMAT(t.day, '%W %M')"
)
MODES = (
    *("", "ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "ORACLE,EMPTY_STRING_IS_NULL", "MSSQL"),
    "PIPES_AS_CONCAT,IGNORE_SPACE,REAL_AS_FLOAT,HIGH_NOT_PRECEDENCE,ANSI_QUOTES,NO_BACKSLASH_ESCAPES",
    "TRADITIONAL,PAD_CHAR_TO_FULL_LENGTH,NO_UNSIGNED_SUBTRACTION,TIME_ROUND_FRACTIONAL",
)
SESSION = (
    "SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES,NO_BACKSLASH_ESCAPES'), time_zone = '+05:45',"
    " sql_select_limit = 1, lc_time_names = 'tr_TR', group_concat_max_len = 4, div_precision_increment = 0,"
    " NAMES latin1 COLLATE latin1_bin"
)
SETTINGS: dict[str, dict[str, Any]] = {
    **{f"mode {mode}": {"sql_mode": mode} for mode in MODES},
    "limits": {"sql_select_limit": 1, "max_join_size": 1, "sql_big_selects": 0, "sql_safe_updates": 1},
    "east": {"time_zone": "+11:00", "lc_time_names": "de_DE"},
    "west": {"time_zone": "-05:30", "lc_time_names": "tr_TR"},
    "texts": {
        "character_set_client": "cp1251",
        "character_set_results": "cp1251",
        "character_set_connection": "latin1",
        "collation_connection": "latin1_bin",
        "character_set_server": "utf8mb3",
        "collation_server": "utf8mb3_bin",
    },
    "numbers": {"div_precision_increment": 0, "default_week_format": 3},
    "many digits": {"div_precision_increment": 30},
    "lengths": {"group_concat_max_len": 4, "max_sort_length": 64, "max_error_count": 0},
    "uncommitted": {"tx_isolation": "READ-UNCOMMITTED"},
    "committed": {"tx_isolation": "READ-COMMITTED", "autocommit": 0},
    "serializable": {"tx_isolation": "SERIALIZABLE", "tx_read_only": 1, "completion_type": 1},
    "init_connect": {"init_connect": SESSION},
    "others": {
        "optimizer_switch": "derived_merge=off,mrr=on,mrr_sort_keys=on",
        "big_tables": 1,
        "old_mode": "UTF8_IS_UTF8MB3,ZERO_DATE_TIME_CAST",
        "sql_auto_is_null": 1,
        "net_write_timeout": 1,
    },
}
STARTED_WITH = (
    "--sql-mode=ANSI_QUOTES,PIPES_AS_CONCAT",  # accounts are made with backslashes
    "--character-set-server=latin1",
    "--collation-server=latin1_german1_ci",
    "--skip-character-set-client-handshake",
    "--default-time-zone=+11:00",
    "--transaction-isolation=READ-COMMITTED",
    "--lc-time-names=de_DE",
    "--div-precision-increment=0",
    "--group-concat-max-len=4",
    f"--init-connect={SESSION}",
)
ENVIRONMENTS: dict[str, dict[str, str]] = {
    "machine": {"TZ": "America/Havana", "LC_ALL": "de_DE.UTF-8", "LANG": "tr_TR.UTF-8"},
    "elsewhere": {
        "MYSQL_HOST": "nowhere",
        "MYSQL_TCP_PORT": "1",
        "MYSQL_UNIX_PORT": "/no",
        "MYSQL_PWD": "no",
    },
}

Facts = dict[str, dict[str, tuple[str, Rows]]]


def _export(database: Database, directory: Path) -> Facts:
    """Export the table and the query, and give each partition's schema and rows, in an order of their own."""
    exports = {
        "table": by_day(directory / "table", partition_timezone="Europe/Berlin", partition_key="at"),
        "query": by_day(directory / "query", partition_by="day", table=None, query=QUERY),
    }
    found = {}
    for name, export in exports.items():
        given = {key: value for key, value in export.items() if value is not None}
        run_well(directory, database.source, given)
        rows = rows_by_manifest(directory / name)
        told = manifests(directory / name)
        found[name] = {label: (told[label]["schema_fingerprint"], rows[label]) for label in rows}
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Database, Facts]]:
    """Make the table in a server of our own, and export it as that server's own settings have it."""
    with run_mariadb() as server, server.fresh_database() as database:
        database.execute(TABLE)
        facts = _export(database, tmp_path_factory.mktemp("same"))
        assert sum(len(rows) for _, rows in facts["table"].values()) == ROWS + 1
        assert set(facts["table"]) == {"2024-03-30", "2024-03-31", "2024-04-01", NULL}
        assert len(facts["query"]) == 8
        yield database, facts


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_settings_of_the_server_change_nothing(
    made: tuple[Database, Facts], settings: dict[str, Any], tmp_path: Path
) -> None:
    """Modes, character sets, zones, limits, lengths and isolation that are set for everyone change no row."""
    database, facts = made
    with global_settings(database, **settings):
        assert _export(database, tmp_path) == facts


@pytest.mark.parametrize("options", [STARTED_WITH], ids=["all at once"])
def test_what_a_server_was_started_with_changes_nothing(
    made: tuple[Database, Facts], options: Sequence[str], tmp_path: Path
) -> None:
    """Another server, with all of it from its start, gives the same of the same table."""
    with run_mariadb(options=options) as server, server.fresh_database() as database:
        database.execute(TABLE)
        assert _export(database, tmp_path) == made[1]


@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_the_environment_changes_nothing(
    made: tuple[Database, Facts], environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What the machine or MariaDB's variables and files say of other servers and zones is not obeyed."""
    (tmp_path / ".my.cnf").write_text("[client]\nhost=nowhere\nport=1\ndefault-character-set=latin1\n")
    for variable, value in ({"HOME": str(tmp_path)} | environment).items():
        monkeypatch.setenv(variable, value)
    time.tzset()
    try:
        assert _export(made[0], tmp_path) == made[1]
    finally:
        monkeypatch.undo()
        time.tzset()
