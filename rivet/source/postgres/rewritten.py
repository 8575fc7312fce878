"""Refuses tables that seem empty to the snapshot, since they were written anew after it began.

Some DDL does so without regard to snapshots (PostgreSQL manual, "Concurrency Control", "Caveats"). A run that
waited for an ALTER TABLE would export no row of it, and every count would agree.
"""

from __future__ import annotations

from rivet.errors import SourceUnavailable
from rivet.source.postgres.catalogue import Fetch

# What the transaction reads stays locked to its end, so that nothing is written anew from here on. The tables
# of the catalogue are as the snapshot has them, and its functions tell of now. Indexes may be new: what
# is none has no `pg_get_indexdef`.
_REWRITTEN = """
SELECT l.relation::regclass::text
FROM pg_catalog.pg_locks l
JOIN pg_catalog.pg_database d ON d.oid = l.database AND d.datname = current_database()
LEFT JOIN pg_catalog.pg_class c ON c.oid = l.relation
WHERE l.pid = pg_catalog.pg_backend_pid() AND l.locktype = 'relation'
    AND CASE WHEN c.oid IS NULL THEN pg_catalog.pg_get_indexdef(l.relation) IS NULL
        ELSE c.relkind IN ('r', 'm') AND c.relfilenode NOT IN (0, pg_catalog.pg_relation_filenode(c.oid)) END
ORDER BY 1 LIMIT 1
"""


def refuse_rewritten(fetch: Fetch) -> None:
    """Refuse a table that this transaction has locked, and whose rows are newer than its snapshot.

    Raises:
        SourceUnavailable: There is one; a run that begins now would see it.
    """
    for (name,) in fetch(_REWRITTEN, {}):
        raise SourceUnavailable(
            f"table {name!r} was made or written anew after the run's snapshot began, so that it seems empty",
            hint="ALTER TABLE, TRUNCATE, VACUUM FULL and their like do so; run again when they have ended",
        )
