"""Tells from its text whether a query may give other rows each time it is run, all data being the same.

Pure. Such a query is read by one scan, whose own end is the proof: several scans would be pieces of several
results, and a probe tells of another one. A doubt counts as a yes, since it costs only the comparison.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from rivet.source.query import words_of
from rivet.source.tokens import Dialect, Token, TokenKind, UnclosedError, tokens_of

# Where rows are alike to the ORDER BY, these number and compare them as they come.
_BY_PLACE = frozenset({"ROW_NUMBER", "NTILE", "LAG", "LEAD", "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE"})
# Functions without brackets.
_PRESENT = frozenset({"CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"})
_UTC_PRESENT = frozenset({"UTC_DATE", "UTC_TIME", "UTC_TIMESTAMP"})
# Texts that mean the present where a date is wanted.
_PRESENT_TEXTS = {
    "postgres": frozenset({"'now'", "'today'", "'tomorrow'", "'yesterday'"}),
    "mysql": frozenset[str](),
    "sqlite": frozenset({"'now'"}),
}
# They keep their value throughout a statement or a transaction, and a probe and a scan are two of each.
_STEADY_WITHIN = {
    "postgres": frozenset({"NOW", "TRANSACTION_TIMESTAMP", "STATEMENT_TIMESTAMP", "PG_BACKEND_PID"}),
    "mysql": frozenset({"NOW", "CURDATE", "CURTIME", "FOUND_ROWS", "ROW_COUNT"}),
    "sqlite": frozenset[str](),
}
# The same for these, if nothing is in their brackets, or nothing but the format of `strftime`.
_STEADY_WITHIN_IF_EMPTY = {
    "postgres": frozenset[str](),
    "mysql": frozenset({"UNIX_TIMESTAMP"}),
    "sqlite": frozenset({"DATE", "TIME", "DATETIME", "JULIANDAY", "UNIXEPOCH", "STRFTIME"}),
}
# Of these not even two looks at one value agree. PostgreSQL knows its own, and makes each value once.
_NEVER_STEADY = {
    "postgres": frozenset[str](),
    "mysql": frozenset({"RAND", "RANDOM_BYTES", "UUID", "UUID_V4", "UUID_V7", "UUID_SHORT", "SYS_GUID"})
    | {"SYSDATE", "SLEEP", "ROWNUM", "NEXTVAL", "LASTVAL", "SETVAL", "LAST_INSERT_ID"}
    | {"GET_LOCK", "RELEASE_LOCK", "RELEASE_ALL_LOCKS", "IS_FREE_LOCK", "IS_USED_LOCK"},
    "sqlite": frozenset({"RANDOM", "RANDOMBLOB"}),
}


@dataclass(frozen=True, slots=True)
class Unsteadiness:
    """What makes a query give other rows each time.

    Attributes:
        reason: For people.
        is_per_look: A value may change each time that it is looked at, so the rows must be made once, before
            anything looks at them.
    """

    reason: str
    is_per_look: bool = False


def unsteadiness(text: str, dialect: Dialect, what: str, sql_mode: str = "") -> Unsteadiness | None:
    """Find what makes a query, a view or an expression unsteady; None where nothing does.

    Args:
        what: The query, for people.
        sql_mode: Of a MySQL or MariaDB session.

    >>> unsteadiness("SELECT * FROM t LIMIT 5", "postgres", "the query").reason
    'the query has LIMIT, and so may give other rows each time it is run'
    """
    tokens = _tokens(text, dialect, sql_mode)
    found = list(_Search(tokens, dialect).run())
    return Unsteadiness(reason(what, found[0][0]), any(f[1] for f in found)) if found else None


def reason(what: str, does: str) -> str:
    """Say of a query what it does that makes it unsteady."""
    return f"{what} {does}, and so may give other rows each time it is run"


def called_functions(text: str, dialect: Dialect) -> set[str]:
    """Give the names before all brackets, as PostgreSQL's catalogue spells them; not all are functions.

    >>> sorted(called_functions('lower("My fn"(a), (b))', "postgres"))
    ['My fn', 'lower']
    """
    tokens = _tokens(text, dialect, "")
    return {
        t.text.lower() if t.kind is TokenKind.WORD else t.name
        for t, following in pairwise(tokens)
        if following.word == "(" and t.kind in (TokenKind.WORD, TokenKind.NAME)
    }


def _tokens(text: str, dialect: Dialect, sql_mode: str) -> list[Token]:
    try:
        return [t for t in tokens_of(text, dialect, sql_mode) if t.kind is not TokenKind.COMMENT]
    except UnclosedError:  # which the server itself will tell
        return []


class _Search:
    def __init__(self, tokens: list[Token], dialect: Dialect) -> None:
        self._dialect = dialect
        self._texts = [*(t.text for t in tokens), "", "", ""]  # so that one may look ahead
        self._words = [*words_of(tokens), "", "", ""]

    def run(self) -> Iterator[tuple[str, bool]]:
        """Give what the text does, and whether it does so at each look."""
        before = [""]  # the words before the brackets that are open
        for i, word in enumerate(self._words[:-3]):
            if word == "(":
                before.append(self._words[i - 1] if i else "")
            elif word == ")" and len(before) > 1:
                before.pop()
            # In EXISTS it does not matter which rows there are.
            elif self._takes_some(i) and before[-1] != "EXISTS":
                yield f"has {self._texts[i]}", False
            elif self._is_steady_within(i):
                yield self._told(i), False
            elif self._is_never_steady(i):
                yield self._told(i), True

    def _told(self, i: int) -> str:
        if self._words[i] == ":":
            return "sets a variable"
        return f"calls {self._texts[i]}()" if self._words[i + 1] == "(" else f"has {self._texts[i]}"

    def _takes_some(self, i: int) -> bool:
        word, following = self._words[i : i + 2]
        is_postgres = self._dialect == "postgres"
        if word == "LIMIT":
            return following not in ("ALL", "NULL")
        if word == "OFFSET":  # 0 is PostgreSQL's way to keep the planner from looking into a query
            return (is_postgres and self._texts[i + 1] != "0") or self._words[i + 2] in ("ROW", "ROWS")
        if word == "FETCH":
            return following in ("FIRST", "NEXT")
        return is_postgres and (word == "TABLESAMPLE" or (word, following) == ("DISTINCT", "ON"))

    def _is_steady_within(self, i: int) -> bool:
        word, is_call = self._words[i], self._words[i + 1] == "("
        if is_call and word in _BY_PLACE | _STEADY_WITHIN[self._dialect]:
            return True
        if is_call and word in _STEADY_WITHIN_IF_EMPTY[self._dialect]:
            return self._words[i + 2] == ")" or (word == "STRFTIME" and self._words[i + 3] == ")")
        if word in _PRESENT or (self._dialect == "mysql" and word in _UTC_PRESENT):
            return True
        return self._texts[i].lower() in _PRESENT_TEXTS[self._dialect]

    def _is_never_steady(self, i: int) -> bool:
        word, following = self._words[i : i + 2]
        if following == "(":
            return word in _NEVER_STEADY[self._dialect]
        if self._dialect != "mysql":
            return False
        is_sequence = word in ("NEXT", "PREVIOUS") and self._words[i + 1 : i + 3] == ["VALUE", "FOR"]
        return is_sequence or (word, following) == (":", "=")
