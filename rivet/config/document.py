"""YAML text to plain values: mappings, lists, texts, numbers, booleans, null, and nothing else.

Pure. Scalars follow the core schema of YAML 1.2, so `yes`, `on` and `2023-01-01` are text and `0123` is 123.
PyYAML's own schema (1.1) would make them a boolean, a date and an octal number. What a scalar says is never
shown: it may be a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from rivet.config.place import below, is_unicode
from rivet.errors import Problem

_MAX_NODES = 500_000
_MAX_DIGITS = 40
_CORE = "tag:yaml.org,2002:"
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
# YAML 1.2, section 10.3.2; merge keys are those of 1.1, which people use with anchors.
_RESOLVERS = (
    ("null", re.compile(r"~|null|Null|NULL|"), "~nN"),
    ("bool", re.compile(r"true|True|TRUE|false|False|FALSE"), "tTfF"),
    ("int", _INTEGER, "-+0123456789"),
    (
        "float",
        re.compile(
            r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
            r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
        ),
        "-+.0123456789",
    ),
    ("merge", re.compile(r"<<"), "<"),
)
_QUOTE_HINT = "quote a text that holds `: ` or ` #`, or that begins with one of * & ! % @ ` [ { | >"
_FLOW_HINT = "inside { } and [ ], quote a text that holds one of these or a comma, such as {partition}"
# The parts of a parser's message that quote nothing but a token's kind or a single character.
_SHOWABLE = re.compile(r"""[^'"]*(?:'(?:<[a-z ]+>|\\?.)'[^'"]*)*""")


class _Composer(yaml.SafeLoader):
    """Composes nodes whose tags follow the core schema."""


_Composer.yaml_implicit_resolvers = {}
for _name, _pattern, _first in _RESOLVERS:
    for _character in [*_first, ""] if _name == "null" else _first:
        _Composer.yaml_implicit_resolvers.setdefault(_character, []).append(
            (_CORE + _name, re.compile(rf"(?:{_pattern.pattern})\Z"))
        )


def parse(text: str) -> tuple[Mapping[str, object] | None, list[Problem]]:
    """Read one YAML document, and list what is wrong with it; None where it is no mapping.

    Top-level keys that begin with `x-` are left out. Where a key stands twice, the last value is given.

    >>> parse("{x-day: &d {format: parquet}, defaults: *d, on_error: yes}")
    ({'defaults': {'format': 'parquet'}, 'on_error': 'yes'}, [])
    """
    try:
        root = yaml.compose(text, Loader=_Composer)
        if root is None:
            return None, [Problem("$", "the config is empty", "begin with `source:` and `exports:`")]
        if not isinstance(root, MappingNode):
            return None, [Problem("$", f"the config is {_kind(root)}, expected a mapping")]
        problem = _size_problem(root)
        if problem is None:
            reading = _Reading()
            return reading.mapping(root, "$", top=True), reading.problems
    except yaml.YAMLError as error:
        problem = Problem("$", _describe(error), _hint(error))
    except RecursionError:
        problem = Problem("$", "the config is nested too deeply")
    return None, [problem]


class _Reading:
    """Turns nodes into values, and gathers problems on the way."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def mapping(self, node: MappingNode, path: str, *, top: bool = False) -> dict[str, object]:
        values: dict[str, object] = {}
        lines: dict[str, int] = {}
        merged: list[Node] = []
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag == _CORE + "merge":
                key = "<<"
                merged = _merge_list(value_node)
            elif isinstance(key_node, ScalarNode) and key_node.tag == _CORE + "str":
                key = key_node.value
            else:
                what = _kind(key_node)
                self.problems.append(
                    Problem(path, f"a key in line {line} is {what}, expected text", "write it in quotes")
                )
                continue
            here = below(path, key)
            if key in lines:
                self.problems.append(Problem(here, f"the key stands twice, in lines {lines[key]} and {line}"))
            lines[key] = line
            if key_node.tag == _CORE + "merge" or (top and key.startswith("x-")):
                continue
            values[key] = self._value(value_node, here)
        for other in merged:
            if isinstance(other, MappingNode):
                values = self.mapping(other, path, top=top) | values
            else:
                self.problems.append(Problem(below(path, "<<"), f"cannot merge {_kind(other)}"))
        return values

    def _value(self, node: Node, path: str) -> object:
        if isinstance(node, MappingNode) and node.tag == _CORE + "map":
            return self.mapping(node, path)
        if isinstance(node, SequenceNode) and node.tag == _CORE + "seq":
            return [self._value(item, below(path, i)) for i, item in enumerate(node.value)]
        value, message = _scalar(node) if isinstance(node, ScalarNode) else (None, "a tag is not supported")
        if message is not None:
            line = node.start_mark.line + 1
            self.problems.append(Problem(path, f"{message}, in line {line}", _QUOTE_HINT))
        return value


def _scalar(node: ScalarNode) -> tuple[object, str | None]:
    """Give a scalar's value and None, or None and what is wrong with it."""
    text: str = node.value
    match node.tag.removeprefix(_CORE):
        case "null":
            return None, None
        case "bool" if text.lower() in ("true", "false"):
            return text.lower() == "true", None
        case "str":
            return (text, None) if is_unicode(text) else (None, "half of a surrogate pair is no character")
        case "int" | "float" | "bool" as kind:
            number = _number(text, kind)
            return number, None if number is not None else f"cannot be read as {kind}"
    return None, "a tag (!) is not supported"


def _number(text: str, kind: str) -> int | float | None:
    try:
        if kind == "int" and _INTEGER.fullmatch(text) and len(text) <= _MAX_DIGITS:
            return int(text, 10 if text.lstrip("+-").isdigit() else 0)
        return float(re.sub(r"\.(inf|nan)", r"\1", text.lower())) if kind == "float" else None
    except ValueError:
        return None


def _merge_list(node: Node) -> list[Node]:
    """List the mappings that a `<<` key merges, the strongest first."""
    return list(node.value) if isinstance(node, SequenceNode) else [node]


def _kind(node: Node) -> str:
    if isinstance(node, MappingNode):
        return "a mapping"
    if isinstance(node, SequenceNode):
        return "a list"
    names = {"int": "a number", "float": "a number", "bool": "a boolean", "null": "null", "str": "text"}
    return names.get(node.tag.removeprefix(_CORE), "a tagged value")


def _size_problem(root: Node) -> Problem | None:
    """Refuse a document that its aliases would blow up, or that contains itself."""
    sizes: dict[int, int] = {}
    open_nodes: set[int] = set()

    def size(node: Node) -> int:
        if id(node) not in sizes:
            if id(node) in open_nodes:
                return _MAX_NODES + 1
            open_nodes.add(id(node))
            sizes[id(node)] = 1 + sum(size(child) for child in _children(node))
        return sizes[id(node)]

    if size(root) <= _MAX_NODES:
        return None
    return Problem("$", f"aliases (*) make the config endless, or larger than {_MAX_NODES} values")


def _children(node: Node) -> Iterator[Node]:
    if isinstance(node, MappingNode):
        for key, value in node.value:
            yield key
            yield value
    elif isinstance(node, SequenceNode):
        yield from node.value


def _hint(error: yaml.YAMLError) -> str:
    """Guess what made the text no YAML, from where the parser stopped."""
    if "'\\t'" in str(getattr(error, "problem", "")):
        return "indent with spaces, never with tabs"
    return _FLOW_HINT if "flow" in str(getattr(error, "context", "")) else _QUOTE_HINT


def _describe(error: yaml.YAMLError) -> str:
    """Say what the parser found, without a word of the text itself."""
    mark = getattr(error, "problem_mark", None)
    where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
    said = [getattr(error, name, None) for name in ("context", "problem", "reason")]
    return f"not YAML{where}: " + ", ".join(
        part if _SHOWABLE.fullmatch(part) else re.split("['\"]", part)[0].strip() for part in said if part
    )
