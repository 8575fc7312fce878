"""Checks the text of a user's query: exactly one statement, and one that only reads.

Pure. The text is never rewritten, only cut at its ends by the positions of its tokens. The server's own
parser and a read-only transaction stand behind this check; what it adds is a clear refusal before both.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

from sqlglot import Token, TokenType, tokenize
from sqlglot.errors import TokenError

from rivet.errors import SourceError

Dialect = Literal["postgres", "mysql", "sqlite"]

_QUERY_STARTS = frozenset({TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.TABLE})
_WRITES = frozenset(
    {TokenType.INSERT, TokenType.UPDATE, TokenType.DELETE, TokenType.MERGE, TokenType.REPLACE}
)
_LOCKABLE = _QUERY_STARTS | {TokenType.L_PAREN}
_QUOTED = frozenset({TokenType.STRING, TokenType.IDENTIFIER})
_LOCK_STRENGTHS = frozenset({"UPDATE", "SHARE", "NO", "KEY"})
# The server runs what stands in these (MySQL manual, 11.7 "Comments"; MariaDB's own are `M!`).
_EXECUTABLE = ("!", "M!")


def checked_query(text: str, dialect: Dialect) -> str:
    r"""Give the text without a final `;` and without the comments around it, ready to stand in brackets.

    Put a newline before the closing bracket, or a comment at the end of a line would eat it.

    Raises:
        SourceError: The text is not exactly one statement that only reads.

    >>> checked_query("SELECT 1 -- one\n;", "postgres")
    'SELECT 1'
    """
    if "\0" in text:
        raise SourceError("the query holds a zero byte")
    try:
        tokens = tokenize(text, read=dialect)
    except TokenError as exc:
        raise SourceError(
            "the query cannot be read: a quote, a dollar quote or a comment in it is not closed",
            hint="run the query in the database's own client first",
        ) from exc
    if dialect == "mysql":
        _refuse_executable_comments(tokens)
    statement = _only_statement(tokens)
    _refuse_writes(statement)
    return text[statement[0].start : statement[-1].end + 1]


def query_sha256(text: str) -> str:
    """Digest a query as manifests hold it: bare hex, of the text as the user wrote it."""
    return hashlib.sha256(text.encode()).hexdigest()


def _only_statement(tokens: list[Token]) -> list[Token]:
    statement = [t for t in tokens if t.token_type is not TokenType.SEMICOLON]
    if not statement:
        raise SourceError("the query is empty")
    for token in tokens[tokens.index(statement[0]) :]:
        if token.token_type is TokenType.SEMICOLON:
            following = [t for t in statement if t.start > token.start]
            if following:
                raise SourceError(
                    f"the query holds a second statement, which begins with {following[0].text!r} "
                    f"in line {following[0].line}",
                    hint="write one SELECT for each export",
                )
    return statement


def _refuse_executable_comments(tokens: list[Token]) -> None:
    for token in tokens:
        for comment in token.comments:
            if comment.startswith(_EXECUTABLE):
                raise SourceError(
                    f"the query holds a comment that the server executes: {'/*' + comment[:40] + '*/'!r}",
                    hint="write its text without the comment signs, or take it out",
                )


@dataclass(slots=True)
class _Bracket:
    """What is known of the text since an opening bracket, or since the start.

    Attributes:
        is_query: It must hold a query: the whole text, or brackets around it.
        is_body: It may be the body of a common table expression, which must not write.
    """

    is_query: bool
    is_body: bool = False
    first: TokenType | None = None
    main_seen: bool = False


def _refuse_writes(statement: list[Token]) -> None:
    brackets = [_Bracket(is_query=True)]
    # What is quoted is no word of the language.
    words = ["" if t.token_type in _QUOTED else t.text.upper() for t in statement]
    for i, token in enumerate(statement):
        kind = token.token_type
        bracket = brackets[-1]
        if kind is TokenType.L_PAREN:
            brackets.append(
                _Bracket(
                    is_query=bracket.is_query and bracket.first is None,
                    is_body=words[i - 1] in ("AS", "MATERIALIZED"),
                )
            )
        elif kind is TokenType.R_PAREN:
            brackets.pop()
            if not brackets:
                raise SourceError(f"the query closes a bracket in line {token.line} that it does not open")
        else:
            _refuse_write(bracket, token, after_bracket=words[i - 1] == ")")
            if bracket.first in _LOCKABLE:  # and not in the brackets of a function, as substring(a for b)
                _refuse_lock(words[i : i + 3], token.line)
        bracket.first = bracket.first or kind
    if len(brackets) > 1:
        raise SourceError("the query does not close a bracket that it opens")


def _refuse_write(bracket: _Bracket, token: Token, *, after_bracket: bool) -> None:
    kind = token.token_type
    with_list = bracket.first is TokenType.WITH and not bracket.main_seen
    bracket.main_seen |= with_list and kind in _QUERY_STARTS
    if bracket.first is None:
        refused = (bracket.is_query and kind not in _QUERY_STARTS) or (bracket.is_body and kind in _WRITES)
    else:
        refused = with_list and after_bracket and kind in _WRITES
    if refused:
        raise SourceError(
            f"the query has {token.text!r} in line {token.line}, expected SELECT, WITH, VALUES or TABLE",
            hint="write one SELECT that only reads",
        )
    if kind is TokenType.INTO:
        raise SourceError(
            f"the query writes: {token.text!r} in line {token.line}",
            hint="take INTO and its target out; Rivet writes the rows itself",
        )


def _refuse_lock(words: list[str], line: int) -> None:
    if words == ["LOCK", "IN", "SHARE"] or (words[0] == "FOR" and words[1:2] and words[1] in _LOCK_STRENGTHS):
        raise SourceError(
            f"the query locks rows: {' '.join(words)!r} in line {line}",
            hint="take the locking clause out; all queries of an export see one snapshot",
        )
