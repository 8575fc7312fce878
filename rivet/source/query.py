"""Checks the text of a user's query: exactly one statement, and one that only reads.

Pure. The text is never rewritten, only cut at its ends by the positions of its tokens. The server's own
parser and a read-only transaction stand behind this check; what it adds is a clear refusal before both.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from rivet.errors import SourceError
from rivet.source.tokens import Dialect, Token, TokenKind, UnclosedError, tokens_of

ALIAS = "rivet"
"""What a table or a query is called in every statement, so that no name of the user means anything else."""

_QUERY_STARTS = frozenset({"SELECT", "WITH", "VALUES", "TABLE"})
_WRITES = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE"})
_LOCKABLE = _QUERY_STARTS | {"("}
_LOCK_STRENGTHS = frozenset({"UPDATE", "SHARE", "NO", "KEY"})
# The server runs what stands in these (MySQL manual, 11.7 "Comments"; MariaDB's own are `M!`).
_EXECUTABLE = ("/*!", "/*M!")
_SHOWN_CHARACTERS = 40


def checked_query(text: str, dialect: Dialect, sql_mode: str = "") -> str:
    r"""Give the text without a final `;` and without the comments around it, ready to stand in brackets.

    Args:
        sql_mode: Of a MySQL or MariaDB session, which decides what a quote and a backslash are.

    Raises:
        SourceError: The text is not exactly one statement that only reads.

    >>> checked_query("SELECT 1 -- one\n;", "postgres")
    'SELECT 1'
    """
    if "\0" in text:
        raise SourceError("the query holds a zero byte")
    try:
        tokens = list(tokens_of(text, dialect, sql_mode))
    except UnclosedError as exc:
        raise SourceError(
            "the query cannot be read: a quote, a dollar quote or a comment in it is not closed",
            hint="run the query in the database's own client first",
        ) from exc
    if dialect == "mysql":
        _refuse_executable_comments(tokens)
    statement = _only_statement([t for t in tokens if t.kind is not TokenKind.COMMENT], text)
    _Check(text, dialect).run(statement)
    return text[statement[0].start : statement[-1].end]


def query_item(query: str) -> str:
    """Write a query as it stands after FROM; a comment in its last line ends with the line."""
    return f"(\n{query}\n) AS {ALIAS}"


def query_sha256(text: str) -> str:
    """Digest a query as manifests hold it: bare hex, of the text as the user wrote it."""
    return hashlib.sha256(text.encode()).hexdigest()


def words_of(tokens: list[Token]) -> list[str]:
    """Give the words of the language, in upper case, and the signs; what is a name by its place is none.

    >>> words_of(list(tokens_of('SELECT t.into, "into"', "postgres")))
    ['SELECT', 'T', '.', '', ',', '']
    """
    words = [t.word for t in tokens]
    for i, token in enumerate(tokens[1:], 1):
        if token.kind is TokenKind.WORD and words[i - 1] == ".":
            words[i] = ""
    return words


def _only_statement(tokens: list[Token], text: str) -> list[Token]:
    statement = [t for t in tokens if t.word != ";"]
    if not statement:
        raise SourceError("the query is empty")
    for token, following in zip(tokens[tokens.index(statement[0]) :], statement, strict=False):
        if token is not following:
            raise SourceError(
                f"the query holds a second statement, which begins with {following.text!r} "
                f"in line {_line(text, following)}",
                hint="write one SELECT for each export",
            )
    return statement


def _refuse_executable_comments(tokens: list[Token]) -> None:
    for token in tokens:
        if token.kind is TokenKind.COMMENT and token.text.startswith(_EXECUTABLE):
            raise SourceError(
                "the query holds a comment that the server executes: "
                f"{token.text[:_SHOWN_CHARACTERS].removesuffix('*/') + '*/'!r}",
                hint="write its text without the comment signs, or take it out",
            )


def _line(text: str, token: Token) -> int:
    return text.count("\n", 0, token.start) + 1


@dataclass(slots=True)
class _Bracket:
    """What is known of the text since an opening bracket, or since the start.

    Attributes:
        is_query: It must hold a query: the whole text, or brackets around it.
        is_body: It is the body of a common table expression, which must not write.
        first: Its first word or sign; empty for anything else.
    """

    is_query: bool
    is_body: bool = False
    has_begun: bool = False
    first: str = ""
    main_seen: bool = False

    @property
    def in_with_list(self) -> bool:
        return self.first == "WITH" and not self.main_seen


class _Check:
    """Refuses what writes, locks or is no query."""

    def __init__(self, text: str, dialect: Dialect) -> None:
        self._text = text
        # In PostgreSQL any word can be the name of a column after AS.
        self._named_by = ("AS",) if dialect == "postgres" else ()

    def run(self, statement: list[Token]) -> None:
        brackets = [_Bracket(is_query=True)]
        words = words_of(statement)
        for i, (token, word) in enumerate(zip(statement, words, strict=True)):
            bracket, before = brackets[-1], words[i - 1] if i else ""
            if word == "(":
                brackets.append(
                    _Bracket(
                        is_query=bracket.is_query and not bracket.has_begun,
                        is_body=bracket.in_with_list and before in ("AS", "MATERIALIZED"),
                    )
                )
            elif word == ")":
                brackets.pop()
                if not brackets:
                    line = _line(self._text, token)
                    raise SourceError(f"the query closes a bracket in line {line} that it does not open")
            elif before not in self._named_by:
                self._refuse_write(bracket, token, word, after_bracket=before == ")")
                if bracket.first in _LOCKABLE:  # not in the brackets of a function, as substring(a for b)
                    self._refuse_lock(words[i : i + 3], token)
            if not bracket.has_begun:
                bracket.has_begun, bracket.first = True, word
        if len(brackets) > 1:
            raise SourceError("the query does not close a bracket that it opens")

    def _refuse_write(self, bracket: _Bracket, token: Token, word: str, *, after_bracket: bool) -> None:
        in_with_list = bracket.in_with_list
        bracket.main_seen |= in_with_list and word in _QUERY_STARTS
        if bracket.has_begun:
            refused = in_with_list and after_bracket and word in _WRITES
        else:
            refused = (bracket.is_query and word not in _QUERY_STARTS) or (
                bracket.is_body and word in _WRITES
            )
        if refused:
            raise SourceError(
                f"the query has {token.text!r} in line {_line(self._text, token)}, "
                "expected SELECT, WITH, VALUES or TABLE",
                hint="write one SELECT that only reads",
            )
        if word == "INTO":
            raise SourceError(
                f"the query writes: {token.text!r} in line {_line(self._text, token)}",
                hint="take INTO and its target out; Rivet writes the rows itself",
            )

    def _refuse_lock(self, words: list[str], token: Token) -> None:
        if words == ["LOCK", "IN", "SHARE"] or (
            words[0] == "FOR" and words[1:2] and words[1] in _LOCK_STRENGTHS
        ):
            raise SourceError(
                f"the query locks rows: {' '.join(words).strip()!r} in line {_line(self._text, token)}",
                hint="take the locking clause out; all queries of an export see one snapshot",
            )
