"""What YAML can do to a config."""

from __future__ import annotations

import pytest

from rivet.config.document import parse
from tests.config.conftest import ONE_EXPORT, SOURCE, Load, Refuse


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("yes", "yes"),
        ("off", "off"),
        ("2023-01-01", "2023-01-01"),
        ("12:30:00", "12:30:00"),
        ("0123", 123),
        ("0o17", 15),
        ("0xFF", 255),
        ("1_000", "1_000"),
        ("+3", 3),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("-.inf", float("-inf")),
        ("True", True),
        ("~", None),
        ("", None),
        ("'5'", "5"),
        ("!!str 5", "5"),
        ("|\n  a\n  b", "a\nb"),
        ('"\\U0001F600"', "😀"),
    ],
)
def test_scalars_follow_yaml_1_2(scalar: str, value: object) -> None:
    """What looks like a date, an hour or a yes is text, and a leading zero makes no octal number."""
    assert parse(f"key: {scalar}") == ({"key": value}, [])


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ("", "$", "the config is empty"),
        ("{}", "$.source", "is missing"),
        ("# only a comment\n", "$", "the config is empty"),
        ("[1]", "$", "the config is a list, expected a mapping"),
        ("5", "$", "the config is a number, expected a mapping"),
        ("postgresql://app:hunter2@db/shop", "$", "the config is text, expected a mapping"),
        ("a: 1\nb: 2\na: 3", "$.a", "the key stands twice, in lines 1 and 3"),
        ("a:\n  - b: {c: 1,\n     c: 2}", "$.a[0].b.c", "the key stands twice, in lines 2 and 3"),
        ("a: &x {b: 1}\nc: {<<: *x, <<: *x}", "$.c['<<']", "the key stands twice, in lines 2 and 2"),
        ("2023: x", "$", "a key in line 1 is a number, expected text"),
        ("? [a]\n: x", "$", "a key in line 1 is a list, expected text"),
        ("a: {<<: 5}", "$.a['<<']", "cannot merge a number"),
        ("a: [", "$", "not YAML in line 1, column 5: while parsing a flow node"),
        ("\ta: 1", "$", "found character '\\t' that cannot start any token"),
        ("a: hunter2: x", "$", "mapping values are not allowed here"),
        ("a: 1\n---\nb: 2", "$", "expected a single document"),
        ("a: *hunter2", "$", "found undefined alias"),
        ("a: &hunter2 1\nb: &hunter2 2", "$", "found duplicate anchor"),
        ("a: !hunter2 x", "$.a", "a tag (!) is not supported, in line 1"),
        ("a: !hun!ter2 x", "$", "found undefined tag handle"),
        ("a: !!python/object/apply:os.system [ls]", "$.a", "a tag is not supported"),
        ("a: !!int hunter2", "$.a", "cannot be read as int, in line 1"),
        ("a: " + "9" * 5000, "$.a", "cannot be read as int"),
        ('a: "\\ud800"', "$.a", "half of a surrogate pair"),
        ("a: \x07", "$", "special characters are not allowed"),
        ("a: 'hunter2", "$", "found unexpected end of stream"),
        ("a: " + "{a: " * 10_000, "$", "nested too deeply"),
        ("a: &a [*a]", "$", "endless"),
        ("a: &a {b: {<<: *a}}", "$", "endless"),
    ],
)
def test_broken_yaml_is_one_plain_problem(refuse: Refuse, text: str, path: str, message: str) -> None:
    """Syntax, twins, tags and loops are told with their line, and without the text itself."""
    problems = refuse(text.encode())
    (problem,) = (problem for problem in problems if problem.path == path and message in problem.message)

    assert "hunter2" not in f"{problem}{problem.hint}"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("d: {type: local, path: ./out/{partition}/}", "inside { } and [ ], quote a text"),
        ("d: {path: {partition}/out}", "inside { } and [ ], quote a text"),
        ("d:\n  path: {partition}/out", "quote a text that holds"),
        ("d:\n\tpath: out", "indent with spaces, never with tabs"),
    ],
)
def test_the_hint_says_what_to_quote_and_where(refuse: Refuse, text: str, hint: str) -> None:
    """A brace needs quotes anywhere in a flow mapping, elsewhere at a begin only; tabs indent nothing."""
    (problem,) = (problem for problem in refuse(text) if "not YAML" in problem.message)

    assert problem.hint is not None
    assert problem.hint.startswith(hint)


@pytest.mark.parametrize("bomb", ["[{}]", "{{<<: [{}]}}"])
def test_alias_bombs_are_refused(refuse: Refuse, bomb: str) -> None:
    """Aliases of aliases cost nothing before they are refused."""
    text = "x-0: &a0 {a: 1}\n" + "".join(
        f"x-{i}: &a{i} " + bomb.format(", ".join([f"*a{i - 1}"] * 10)) + "\n" for i in range(1, 30)
    )

    (problem,) = refuse(text + "source: *a29\n")

    assert "larger than 500000 values" in problem.message


def test_merge_keys_give_way_to_what_is_stated(load: Load) -> None:
    """An earlier merged mapping wins over a later one, and the mapping itself over both."""
    settings = load(
        SOURCE
        + """
x-a: &a {compression: gzip, max_partitions: 5}
x-b: &b {<<: *a, compression: lz4, scan: single}
exports:
  - <<: [*b, *a]
    max_partitions: 6
    name: e
    table: t
    destination: {type: local, path: x}
"""
    )

    (export,) = settings.exports
    assert (export.compression, export.max_partitions, export.scan) == ("lz4", 6, "single")


def test_a_file_of_any_size_is_not_read_whole(refuse: Refuse) -> None:
    """A config that is larger than any config is refused unread."""
    (problem,) = refuse(b"#" * (4 * 1024**2 + 1))

    assert "larger than 4194304 bytes" in problem.message


def test_booleans_may_be_written_as_yaml_1_1_has_them(load: Load) -> None:
    """`skip_empty: no` is what it says."""
    assert load(SOURCE + ONE_EXPORT + "    skip_empty: no\n").exports[0].skip_empty is False
