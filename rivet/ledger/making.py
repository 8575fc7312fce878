"""Makes the ledger, and brings an earlier Rivet's forward, whoever else does so meanwhile."""

from __future__ import annotations

import sqlalchemy as sa

from rivet.errors import LedgerError
from rivet.ledger.connecting import Database
from rivet.ledger.schema import STEPS, bring_forward, version_of

_ATTEMPTS = 10


def make(database: Database) -> None:
    """Have a ledger of the version that this Rivet knows.

    Raises:
        LedgerError: It cannot be made, or is a later Rivet's.
    """
    database.make_room()
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with database.reading() as connection:
                if version_of(connection) == len(STEPS):
                    return
            with database.writing() as connection:
                if connection.dialect.name == "mysql":  # whose tables are made outside of transactions
                    connection.exec_driver_sql("SELECT GET_LOCK('rivet_ledger', 3)").all()
                bring_forward(connection, version_of(connection))
        except LedgerError as error:
            # Other runs may be making the tables at this moment, which is an error for those that look.
            if attempt == _ATTEMPTS or not _may_be_made_now(error):
                raise


def _may_be_made_now(error: LedgerError) -> bool:
    """Tell whether it was a statement that failed, and not the connecting."""
    cause = error.__cause__
    return isinstance(cause, sa.exc.DBAPIError) and cause.statement is not None
