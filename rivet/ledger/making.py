"""Makes the ledger, and brings an earlier Rivet's forward, whoever else does so meanwhile."""

from __future__ import annotations

from rivet.errors import LedgerError
from rivet.ledger.connecting import Database
from rivet.ledger.schema import STEPS, bring_forward, version_of


def make(database: Database) -> None:
    """Have a ledger of the version that this Rivet knows.

    Raises:
        LedgerError: It cannot be made, or is a later Rivet's.
    """
    database.make_room()
    with database.reading() as connection:
        if version_of(connection) == len(STEPS):
            return
    try:
        _bring_forward(database)
    except LedgerError:
        # Another run may be making the tables at this moment, which is an error for one of the two.
        _bring_forward(database)


def _bring_forward(database: Database) -> None:
    with database.writing() as connection:
        bring_forward(connection, version_of(connection))
