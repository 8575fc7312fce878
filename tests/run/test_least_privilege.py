"""A login that may read one table, and nothing else, is enough for every command that asks the source."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.run.command import run_command, write_config
from tests.run.running import by_day
from tests.run.trees import rows_by_glob
from tests.servers.database import Account, Database

READER = Account("only_reads", "reads 'only' 1 table")
TABLE = """
    CREATE TABLE events (id INTEGER PRIMARY KEY, created_at TIMESTAMP NULL, note VARCHAR(9));
    INSERT INTO events VALUES (1, '2023-01-01 00:00:00', 'a'), (2, '2023-01-02 12:00:00', 'b'),
     (3, NULL, 'c');
    CREATE TABLE hidden (id INTEGER);
"""


def _grant(database: Database) -> None:
    """Make the login, and give it the least that reading `events` takes."""
    server, password = database.server, READER.password.replace("'", "''")
    if server.source_type == "postgres":
        server.execute(
            f"DROP ROLE IF EXISTS {READER.user}; CREATE ROLE {READER.user} LOGIN PASSWORD '{password}';"
            f'REVOKE ALL ON DATABASE "{database.name}" FROM PUBLIC;'
            f'GRANT CONNECT ON DATABASE "{database.name}" TO {READER.user}'
        )
        database.execute(f"GRANT SELECT ON events TO {READER.user}")
    else:
        server.execute(
            f"DROP USER IF EXISTS {READER.user}; CREATE USER {READER.user} IDENTIFIED BY '{password}';"
            f"GRANT SELECT ON {database.name}.events TO {READER.user}"
        )


@pytest.mark.parametrize("engine", ["postgres", "mariadb"])
@pytest.mark.parametrize("more", [{}, {"scan": "per_partition"}, {"sort": "rivet"}], ids=str)
def test_one_right_is_enough(
    database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: dict[str, str]
) -> None:
    """Check, plan, run, a run again over a change, and validation need no more than SELECT on the table."""
    database.execute(TABLE)
    _grant(database)
    url = database.server.url(database.name, account=READER)
    source = {"type": database.server.source_type, "url": url}
    config = write_config(tmp_path, source, by_day(tmp_path / "tree", **more))
    for command in (["check"], ["plan"], ["run", "--validate"]):
        told = run_command(capsys, *command, "--config", config, "--json")
        assert told.exit_code == 0, told
    database.execute("UPDATE events SET note = 'newer' WHERE id = 1")
    told = run_command(capsys, "run", "--config", config, "--json")
    assert told.exit_code == 0, told
    assert told.exports[0]["partitions_written"] == 1
    assert sorted((row[0], row[2]) for row in rows_by_glob(tmp_path / "tree")) == [
        (1, "newer"),
        (2, "b"),
        (3, "c"),
    ]

    refused = write_config(tmp_path, source, by_day(tmp_path / "hidden", table="hidden", partition_by="id"))
    assert run_command(capsys, "check", "--config", refused).exit_code == 2
