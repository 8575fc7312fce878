"""Print the Debian packages of the servers that tests need and that are missing, on one line."""

from tests.servers.mariadb import find_program
from tests.servers.postgres import find_binaries

missing = {
    "postgresql": find_binaries() is None,
    "mariadb-server": find_program("mariadbd") is None or find_program("mariadb-install-db") is None,
}
print(*(package for package, is_missing in missing.items() if is_missing))  # noqa: T201  # for the Makefile
