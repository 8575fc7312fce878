"""Fixtures for tests of sources."""

from __future__ import annotations

import pytest

from tests.servers.database import Database


@pytest.fixture(params=["mariadb_database", "mysql_database"])
def mysql_family(request: pytest.FixtureRequest) -> Database:
    """Give an empty database of MariaDB, then one of MySQL where there is a server."""
    database: Database = request.getfixturevalue(request.param)
    return database
