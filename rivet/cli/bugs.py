"""Tracebacks of errors that nobody foresaw, without the config's secrets."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from traceback import TracebackException
from urllib.parse import quote, quote_plus

from rivet.config.hiding import MASK
from rivet.config.settings import Secret

WITHHELD = "message withheld, since the config's secrets were not known yet"


def secrets_of(settings: object) -> list[str]:
    """Collect every secret that frozen settings hold, at any depth."""
    if isinstance(settings, Secret):
        return [settings.reveal()]
    if isinstance(settings, tuple):
        return [secret for item in settings for secret in secrets_of(item)]
    if dataclasses.is_dataclass(settings):
        fields = dataclasses.fields(settings)
        return [secret for field in fields for secret in secrets_of(getattr(settings, field.name))]
    return []


def masked(text: str, secrets: Sequence[str]) -> str:
    """Replace every secret in a text, also where it stands quoted or percent-encoded."""
    forms = {form for secret in secrets if secret for form in (secret, *_quoted(secret))}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, MASK)
    return text


def _quoted(secret: str) -> tuple[str, ...]:
    return (
        quote(secret, safe=""),
        quote(secret),
        quote_plus(secret),
        repr(secret)[1:-1],
        json.dumps(secret)[1:-1],
    )


def traceback_lines(error: BaseException, secrets: Sequence[str] | None) -> list[str]:
    """Format a traceback with its causes: frames as they are, messages masked.

    Frames hold source lines and no values. With `secrets` None, before they are known, messages are
    withheld, but for those of a broken installation.
    """
    return "".join(_formatted(TracebackException.from_exception(error), secrets)).splitlines()


def message_of(error: BaseException, secrets: Sequence[str] | None) -> str:
    """Give an error's type and message in one text, masked or withheld."""
    return _message(TracebackException.from_exception(error), secrets).rstrip("\n")


def _formatted(error: TracebackException, secrets: Sequence[str] | None) -> Iterator[str]:
    if error.__cause__ is not None:
        yield from _formatted(error.__cause__, secrets)
        yield "\nwhich was the direct cause of:\n\n"
    elif error.__context__ is not None and not error.__suppress_context__:
        yield from _formatted(error.__context__, secrets)
        yield "\nwhile it was handled:\n\n"
    yield "Traceback (most recent call last):\n"
    yield from error.stack.format()
    yield _message(error, secrets)
    for part in error.exceptions or ():
        yield "\none of its parts:\n\n"
        yield from _formatted(part, secrets)


def _message(error: TracebackException, secrets: Sequence[str] | None) -> str:
    text = "".join(error.format_exception_only())
    if secrets is None and not (error.exc_type and issubclass(error.exc_type, ImportError)):
        return f"{text.partition(':')[0].rstrip()}: {WITHHELD}\n"
    return masked(text, secrets or ())
