"""Looks for planted secrets in whatever a run has said."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar
from urllib.parse import quote, quote_plus

from tests.servers.database import ODD_PASSWORD

Taken = ParamSpec("Taken")
Both = TypeVar("Both", bound=tuple[Any, Any])


@cache
def forms(secret: str) -> set[str]:
    """Give a secret as it may stand in a text: as it is, in URLs, in JSON, quoted by Python, in base 64."""
    encoded = base64.b64encode(secret.encode()).decode()
    return {
        secret,
        quote(secret, safe=""),
        quote(secret),
        quote_plus(secret),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        repr(secret)[1:-1],
        encoded.rstrip("=")[:-1],
    }


def searched(output: Callable[Taken, Both]) -> Callable[Taken, Both]:
    """Let what gives the two outputs of a process, or of this one, find the servers' secrets in them."""

    @wraps(output)
    def found(*args: Taken.args, **options: Taken.kwargs) -> Both:
        both = output(*args, **options)
        assert_no_secret(*(text for text in both if isinstance(text, str | bytes)))
        return both

    return found


def assert_no_secret(*texts: str | bytes, secrets: tuple[str, ...] = (ODD_PASSWORD,)) -> None:
    """Assert that no text has a secret in it, in any form; password and secret key of all servers are one."""
    for text in texts:
        told = text.decode(errors="replace") if isinstance(text, bytes) else text
        for secret in secrets:
            for form in forms(secret):
                assert form not in told, f"a secret is told as {form[:4]}…"
