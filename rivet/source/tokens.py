"""Cuts SQL into words, strings, names, comments and signs, by the lexical rules of each engine. Pure.

The rules are those of PostgreSQL's `scan.l`, MySQL's `sql_lex.cc` and SQLite's `tokenize.c`. A tokenizer for
all dialects at once would take `#!` for what MySQL executes, and know nothing of `sql_mode`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from typing import Literal

Dialect = Literal["postgres", "mysql", "sqlite"]


class TokenKind(Enum):
    """What a token is; blanks are none."""

    WORD = auto()
    NAME = auto()
    STRING = auto()
    COMMENT = auto()
    SIGN = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """One token; `text[start:end]` is its own text."""

    kind: TokenKind
    text: str
    start: int

    @property
    def end(self) -> int:
        """Give the position behind it."""
        return self.start + len(self.text)

    @property
    def word(self) -> str:
        """Give an unquoted word in upper case, a sign as it is, and nothing for anything else."""
        return self.text.upper() if self.kind in (TokenKind.WORD, TokenKind.SIGN) else ""

    @property
    def name(self) -> str:
        """Give what an unquoted word, a quoted name or a string says; nothing for anything else.

        >>> Token(TokenKind.NAME, '"a""b"', 0).name
        'a"b'
        """
        if self.kind is TokenKind.WORD:
            return self.text
        if self.kind not in (TokenKind.NAME, TokenKind.STRING):
            return ""
        closing = self.text[-1]
        return self.text[1:-1].replace(closing * 2, closing)


class UnclosedError(ValueError):
    """A quote, a dollar quote or a comment is not closed."""


_LETTER = r"A-Za-z_\x80-\U0010ffff"
# Quantifiers with a second + never try again, so that a text without an end costs no more than its length.
_DOUBLED = "{0}(?:[^{0}]|{0}{0})*+{0}"
_ESCAPED = r"{0}(?:[^{0}\\]|\\.|{0}{0})*+{0}"
_STRING, _NAME, _BACKTICKS = (_DOUBLED.format(quote) for quote in "'\"`")
_ESCAPED_STRING = _ESCAPED.format("'")
_TAG = rf"(?:[{_LETTER}][0-9{_LETTER}]*+)?+"
# A constant of PostgreSQL that goes on in another line goes on by the same rules.
_E_STRING = rf"[eE]{_ESCAPED_STRING}(?:[ \t\f\v]*[\n\r]\s*{_ESCAPED_STRING})*+"
_UNCLOSED = {
    "postgres": re.compile(rf"[eE]?'|\"|\${_TAG}\$"),
    "mysql": re.compile(r"['\"`]|/\*"),
    "sqlite": re.compile(r"['\"`\[]"),
}


def tokens_of(text: str, dialect: Dialect, sql_mode: str = "") -> Iterator[Token]:
    r"""Give the tokens of a text, comments among them.

    Args:
        sql_mode: Of a MySQL or MariaDB session, as the server writes it.

    Raises:
        UnclosedError: What is opened is not closed.

    >>> [t.text for t in tokens_of("SELECT 'it''s' -- x", "postgres")]
    ['SELECT', "'it''s'", '-- x']
    """
    modes = frozenset(sql_mode.split(","))
    pattern = _pattern(dialect, modes & {"ANSI_QUOTES", "NO_BACKSLASH_ESCAPES"})
    position = 0
    while position < len(text):
        match = pattern.match(text, position)
        if match is None:  # `.` and `\s` between them match everything
            raise AssertionError(text[position])
        start, position = position, match.end()
        if match.lastgroup is None:
            continue
        kind = TokenKind[match.lastgroup]
        if kind is TokenKind.SIGN:
            if dialect == "postgres" and text.startswith("/*", start):
                kind, position = TokenKind.COMMENT, _nested_end(text, start)
            elif _UNCLOSED[dialect].match(text, start):
                raise UnclosedError
        yield Token(kind, text[start:position], start)


@cache
def _pattern(dialect: Dialect, modes: frozenset[str]) -> re.Pattern[str]:
    first = f"[{_LETTER}]"
    if dialect == "postgres":
        first = rf"(?![eE]')[{_LETTER}]"
        comment = r"--[^\n\r]*+"
        string = rf"{_E_STRING}|(?:[bBxXnN]|[uU]&)?{_STRING}|(?P<tag>\${_TAG}\$).*?(?P=tag)"
        name = rf"(?:[uU]&)?{_NAME}"
    elif dialect == "sqlite":
        comment = r"--[^\n]*+|/\*.*?(?:\*/|\Z)"
        string = _STRING
        name = rf"{_NAME}|{_BACKTICKS}|\[[^\]]*+\]"
    else:
        first = f"[0-9{_LETTER}]"  # names may begin with a digit
        comment = r"\#[^\n]*+|--(?=[\x00-\x20\x7f]|\Z)[^\n]*+|/\*.*?\*/"
        form = _DOUBLED if "NO_BACKSLASH_ESCAPES" in modes else _ESCAPED
        string, name = form.format("'"), _BACKTICKS
        if "ANSI_QUOTES" in modes:
            name += f"|{_NAME}"
        else:
            string += f"|{form.format(chr(34))}"
    return re.compile(
        rf"\A\ufeff|[ \t\n\r\f\v]++|(?P<COMMENT>{comment})|(?P<STRING>{string})|(?P<NAME>{name})"
        rf"|(?P<WORD>{first}[0-9${_LETTER}]*+)|(?P<SIGN>.)",
        re.DOTALL,
    )


def _nested_end(text: str, start: int) -> int:
    depth = 0
    for mark in re.finditer(r"/\*|\*/", text[start:]):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return start + mark.end()
    raise UnclosedError
