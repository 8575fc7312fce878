"""Tells which tables hide rows from the connected role, or from the owner of the view that reads them.

Row-level security leaves rows out without a word, and the account of an export would still add up.
"""

from __future__ import annotations

from typing import Any

from rivet.source.postgres.catalogue import Fetch, Table
from rivet.source.tokens import TokenKind, tokens_of

# What a statement of this transaction names stays locked to its end: these are relations, and no columns
# that bear the name of one. The planner has not added the partitions of a table where it has not run yet.
_NAMED_IN_QUERY = """
SELECT c.oid FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_class c ON c.oid = l.relation
WHERE l.pid = pg_catalog.pg_backend_pid() AND l.locktype = 'relation' AND c.relname = ANY (%(names)s)
"""
# A view reads as its owner, unless it was made to read as its user; the policies that hold are those of the
# tables it names, not of their partitions (PostgreSQL manual, CREATE VIEW and CREATE POLICY). The conditions
# are those of row_security_active(), which can be asked for the connected role alone. A permissive policy
# that lets every row through hides none, unless a restrictive one stands beside it.
_HIDING = """
WITH RECURSIVE reached (oid, reader) AS (
    SELECT named.oid, r.oid FROM unnest(%(oids)s::oid[]) AS named (oid), pg_catalog.pg_roles r
    WHERE r.rolname = current_user
    UNION
    SELECT d.refobjid, CASE WHEN EXISTS (
        SELECT FROM pg_catalog.pg_options_to_table(v.reloptions)
        WHERE option_name = 'security_invoker' AND option_value::boolean
    ) THEN r.reader ELSE v.relowner END
    FROM reached r
    JOIN pg_catalog.pg_class v ON v.oid = r.oid AND v.relkind = 'v'
    JOIN pg_catalog.pg_rewrite w ON w.ev_class = v.oid
    JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = w.oid
        AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid <> v.oid
), policies AS (
    SELECT r.oid, r.reader, coalesce((to_jsonb(p) ->> 'polpermissive')::boolean, true) AS is_permissive,
        pg_catalog.pg_get_expr(p.polqual, p.polrelid) IS NOT DISTINCT FROM 'true' AS is_open
    FROM reached r JOIN pg_catalog.pg_policy p ON p.polrelid = r.oid AND p.polcmd IN ('r', '*')
    WHERE EXISTS (
        SELECT FROM unnest(p.polroles) AS t (role)
        WHERE t.role = 0 OR pg_catalog.pg_has_role(r.reader, t.role, 'USAGE')
    )
)
SELECT DISTINCT n.nspname, c.relname, u.rolname, c.relforcerowsecurity
FROM reached r
JOIN pg_catalog.pg_class c ON c.oid = r.oid AND c.relrowsecurity
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_roles u ON u.oid = r.reader AND NOT u.rolsuper AND NOT u.rolbypassrls
WHERE (c.relforcerowsecurity OR NOT pg_catalog.pg_has_role(r.reader, c.relowner, 'USAGE'))
    AND (
        NOT EXISTS (
            SELECT FROM policies p
            WHERE (p.oid, p.reader) = (r.oid, r.reader) AND p.is_permissive AND p.is_open
        ) OR EXISTS (
            SELECT FROM policies p
            WHERE (p.oid, p.reader) = (r.oid, r.reader) AND NOT p.is_permissive AND NOT p.is_open
        )
    )
ORDER BY 1, 2, 3
"""


def hiding_in_table(fetch: Fetch, table: Table) -> tuple[str, ...]:
    """Warn of each table, the given one or one behind the view that it is, that hides rows."""
    return _warnings(fetch, [table.oid])


def hiding_in_query(fetch: Fetch, query: str) -> tuple[str, ...]:
    """Warn of each table that hides rows, after the server has prepared the query in this transaction."""
    tokens = [t for t in tokens_of(query, "postgres") if t.kind in (TokenKind.WORD, TokenKind.NAME)]
    names = {t.name.lower() if t.kind is TokenKind.WORD else t.name for t in tokens}
    named: list[Any] = [oid for (oid,) in fetch(_NAMED_IN_QUERY, {"names": sorted(names)})]
    return _warnings(fetch, named) if named else ()


def _warnings(fetch: Fetch, oids: list[Any]) -> tuple[str, ...]:
    return tuple(
        _warning(f"{schema}.{name}", reader, "" if is_forced else " or as the owner of the table")
        for schema, name, reader, is_forced in fetch(_HIDING, {"oids": oids})
    )


def _warning(table: str, reader: str, or_owner: str) -> str:
    return (
        f"rows that the row-level security of table {table!r} hides from {reader!r} are left out; "
        f"to export them, read as a role with BYPASSRLS{or_owner}"
    )
