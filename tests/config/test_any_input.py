"""Whatever is written into a config, it is settings or a refusal."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from rivet.config import edges, model
from rivet.config.load import load_settings
from rivet.config.refused import LATER_KEYS, OLDER_KEYS
from rivet.errors import ConfigError

_WORDS = [
    *("postgres", "mysql", "sqlite", "local", "s3", "full", "chunked", "time_window", "day", "hour", "UTC"),
    *("zstd", "none", "256MiB", "1GB", "{partition}", "out/{partition}/", "../x", "/", "_x", "a/b", "~", ""),
    *("${env:SET}", "${env:UNSET}", "${env:", "${env:a b}", "postgresql://u:p@h/d", "sqlite:///x.db", "yes"),
    *(
        "postgresql://u:p@ss@h/d?sslmode=x",
        "mysql://u:p@h:1/d",
        "verify-full",
        "\x1b[31m",
        "\ud800",
        "x" * 300,
    ),
]
_KEYS = [
    *(
        key
        for each in (model.Config, edges.Source, edges.Tls, model.Export, model.Column, edges.Destination)
        for key in each.model_fields
    ),
    *("chunk_dense", "tuning", "x-anchor", "compresion", "a key", "", "<<"),
    *LATER_KEYS,
    *OLDER_KEYS,
]
_TYPES = ["json", "decimal(20,6)", "decimal(20", "decimal(0,0)", "date", "type", "destination", "[key]", "\0"]
_SCALARS = st.one_of(
    st.sampled_from(_TYPES),
    st.sampled_from(_WORDS),
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.dates(),
    st.binary(max_size=4),
)


def _mapping(values: dict[str, st.SearchStrategy[object]]) -> st.SearchStrategy[object]:
    """Give mappings with some of the keys as they should be, and some strangers."""
    strangers = st.dictionaries(st.sampled_from(_KEYS) | st.text(max_size=4), _SCALARS, max_size=2)
    return st.tuples(st.fixed_dictionaries({}, optional=values), strangers).map(
        lambda pair: pair[0] | pair[1]
    )


def _of(each: type[BaseModel]) -> dict[str, st.SearchStrategy[object]]:
    return dict.fromkeys(each.model_fields, _SCALARS)


_EXPORT = _mapping(
    _of(model.Export)
    | {
        "destination": _mapping(_of(edges.Destination)) | _SCALARS,
        "exclude": st.lists(_SCALARS, max_size=2) | _SCALARS,
        "columns": _mapping(dict.fromkeys(_TYPES, _mapping(_of(model.Column)) | _SCALARS)) | _SCALARS,
    }
)
_CONFIG = _mapping(
    {
        "source": _mapping(_of(edges.Source) | {"tls": _mapping(_of(edges.Tls)) | _SCALARS}) | _SCALARS,
        "defaults": _EXPORT | _SCALARS,
        "on_error": _SCALARS,
        "exports": st.lists(_EXPORT | _SCALARS, max_size=3) | _SCALARS,
    }
)
_ANYTHING = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(_KEYS) | st.text(max_size=4) | st.integers(), inner, max_size=4)
    ),
    max_leaves=12,
)


def _load(content: bytes) -> None:
    with TemporaryDirectory() as folder:
        config = Path(folder) / "rivet.yaml"
        config.write_bytes(content)
        try:
            settings = load_settings(config, {"SET": "value"})
        except ConfigError as error:
            said = [(problem.path, problem.message.encode()) for problem in error.problems]
        else:
            said = [(export.where, export.name.encode()) for export in settings.exports]
        assert said
        assert all(where.startswith("$") for where, _ in said)
        assert list(Path(folder).iterdir()) == [config]


@given(_CONFIG | _ANYTHING)
def test_any_values_are_settings_or_a_refusal(config: object) -> None:
    """Values of any type at any key never end in another exception, and every message can be printed."""
    _load(yaml.safe_dump(config, allow_unicode=False).encode())


@given(st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=60))
def test_any_bytes_are_settings_or_a_refusal(content: bytes) -> None:
    """Files that are no YAML at all likewise."""
    _load(content)


@given(st.lists(st.sampled_from("a: b\n,[]{}&*!|>'\"%@`#?-<~0\t "), max_size=40).map("".join))
def test_any_punctuation_is_settings_or_a_refusal(content: str) -> None:
    """What YAML's grammar can be made to do likewise."""
    _load(content.encode())
