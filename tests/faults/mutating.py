"""Damages good files as strangers do: bytes here and there, or values that no Rivet wrote."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

ESCAPES = "\x1b[31m\x1b]0;title\x07\x9b2J\u202e\x7f\r\x08"
"""What a terminal obeys: colours, titles, a clear screen in eight bits, another direction of text."""
NASTY: tuple[Any, ...] = (
    None, True, 0, -1, 2**63, 1e308, "", ".", "..", "/", "../../outside", "/etc/passwd", "a/../../outside",
    "outside\0", ESCAPES, f"created_at={ESCAPES}", "\u0000", "x" * 5000, "%s%n{0}{}",
    "'; DROP TABLE events; --",
    "${env:HOME}", "9999999-99-99", "created_at=2023-01-01", "__HIVE_DEFAULT_PARTITION__", "_SUCCESS",
    "sha256:" + "0" * 64, [], {}, [[]] * 50, {"": ""}, ["../outside"], {"path": "../outside"},
)  # fmt: skip


def mutated_bytes(rng: random.Random, data: bytes) -> bytes:
    """Flip, cut, double or insert bytes at one to three places."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(out) + 1)
        action = rng.choice(("flip", "cut", "double", "insert", "truncate"))
        if action == "flip" and at < len(out):
            out[at] ^= 1 << rng.randrange(8)
        elif action == "cut":
            del out[at : at + rng.randint(1, 40)]
        elif action == "double":
            out[at:at] = out[at : at + rng.randint(1, 200)]
        elif action == "insert":
            out[at:at] = rng.choice((b"\0", b"\xff\xfe", ESCAPES.encode(), b"{" * 2000, b"\n", b" " * 100))
        elif rng.random() < 0.2:
            del out[at:]
    return bytes(out)


def mutated_value(rng: random.Random, document: Any) -> Any:
    """Replace, remove, double or rename something in a document of plain values, which is changed."""
    for _ in range(rng.randint(1, 3)):
        places = list(_places(document))
        if not places:
            break
        container, key = rng.choice(places)
        action = rng.choice(("replace", "replace", "replace", "remove", "rename", "swap"))
        if action == "replace":
            container[key] = json.loads(json.dumps(rng.choice(NASTY)))
        elif action == "remove":
            del container[key]
        elif action == "rename" and isinstance(container, dict):
            container[str(rng.choice(("x", ESCAPES, "", "path")))] = container.pop(key)
        else:
            other, its_key = rng.choice(places)
            container[key] = json.loads(json.dumps(other[its_key]))
    return document


def mutated_json(rng: random.Random, data: bytes) -> bytes:
    """Put values into a JSON file that were never meant to stand there."""
    return json.dumps(mutated_value(rng, json.loads(data)), ensure_ascii=rng.random() < 0.5).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])
