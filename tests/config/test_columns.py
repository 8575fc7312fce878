"""Types, zones and the policy for values that fit no type, as an export states them."""

from __future__ import annotations

import pytest

from rivet.config.columns import TYPES
from rivet.config.read_settings import ColumnSettings
from tests.config.conftest import ONE_EXPORT, SOURCE, Load, Refuse

EXPORT = "$.exports[0]"
PARTITIONED = SOURCE + ONE_EXPORT.replace("./out/events", "'./out/{partition}'") + "    partition_by: at\n"


def _columns(text: str) -> str:
    return f"{PARTITIONED}    columns: {text}\n"


@pytest.mark.parametrize("word", TYPES)
def test_each_type_is_taken(load: Load, word: str) -> None:
    """Every word names its type, alone and in a mapping."""
    for written in (word, f"{{type: {word}}}"):
        assert load(_columns(f"{{a: {written}}}")).exports[0].columns == {"a": ColumnSettings(word)}


def test_types_arrive(load: Load) -> None:
    """Digits, units and names of any form are found in the settings; a column that is null is not stated."""
    settings = load(
        PARTITIONED
        + """
    columns:
      payload: json
      price: decimal(20,6)
      "full name, x": "decimal(38, 38)"
      destination: {type: "${env:TYPE}", unit: ns}
      at: {type: timestamptz, unit: ms}
      other: ~
""",
        {"TYPE": "date"},
    )

    assert settings.exports[0].columns == {
        "payload": ColumnSettings("json"),
        "price": ColumnSettings("decimal", 20, 6),
        "full name, x": ColumnSettings("decimal", 38, 38),
        "destination": ColumnSettings("date", unit="ns"),
        "at": ColumnSettings("timestamptz", unit="ms"),
    }


REFUSED = {
    "a word of another tool": ("{a: varchar(20)}", ".a", "'varchar(20)' is no type", "write string"),
    "upper case": ("{a: JSON}", ".a", "'JSON' is no type", "write json"),
    "a near miss": ("{a: strng}", ".a", "'strng' is no type", "did you mean string?"),
    "a stranger": ("{a: polygon}", ".a", "'polygon' is no type", "the types are: string"),
    "no digits": ("{a: decimal}", ".a", "'decimal' is no type", "write decimal(p,s)"),
    "digits that YAML cut": ("{a: decimal(20,6)}", ".a", "'decimal(20' is no type", "wants quotes"),
    "too many digits": ("{a: 'decimal(39,2)'}", ".a", "is no type", "at most 38 digits"),
    "no digit": ("{a: 'decimal(0,0)'}", ".a", "is no type", "at most 38 digits"),
    "more behind the point": ("{a: 'decimal(3,4)'}", ".a", "is no type", "s of them behind"),
    "a number": ("{a: 5}", ".a", "found 5, expected a type, such as json", None),
    "a list": ("{a: [json]}", ".a", "found a list, expected a type", None),
    "a type in a mapping": ("{a: {type: jsn}}", ".a.type", "'jsn' is no type", "json"),
    "no type": ("{a: {unit: s}}", ".a.type", "is missing", "write `type: …`"),
    "a unit": ("{a: {type: date, unit: sec}}", ".a.unit", "found 'sec', expected one of s, ms, us, ns", None),
    "a unit without time": ("{a: {type: json, unit: s}}", ".a.unit", "stands beside type json", "remove it"),
    "a key": ("{a: {type: date, units: s}}", ".a.units", "unknown key", "did you mean unit?"),
    "a column's name that is a key": ("{type: s3}", ".type", "'s3' is no type", "the types are"),
    "no mapping": ("[a, b]", "", "found a list, expected types by column", "exclude"),
    "a name with a space": ("{a b: jsn}", "['a b']", "'jsn' is no type", "json"),
    "the partition column": ("{at: json}", ".at", "makes the column of partition_by a json", "timestamptz"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_name_the_column(refuse: Refuse, case: str) -> None:
    """Each is one problem at the column that must change, with the mend."""
    columns, path, message, hint = REFUSED[case]
    (problem,) = refuse(_columns(columns))

    assert problem.path == f"{EXPORT}.columns{path}"
    assert message in problem.message
    assert hint is None or hint in (problem.hint or "")


def test_a_column_is_not_both_left_out_and_typed(refuse: Refuse) -> None:
    """A type for a column that exclude names is refused, whichever of them the defaults gave."""
    excluding = PARTITIONED + "    exclude: [ssn]\n"
    for text in (
        excluding + "    columns: {ssn: string}\n",
        excluding + "defaults: {columns: {ssn: string}}\n",
    ):
        (problem,) = refuse(text)

        assert problem.path == f"{EXPORT}.columns.ssn"
        assert "left out by exclude" in problem.message


def test_types_of_the_defaults_are_merged_by_column(load: Load, refuse: Refuse) -> None:
    """An export's own type wins whole, null undoes one or all, and a fault is told where it stands."""
    defaults = "defaults: {columns: {a: {type: date, unit: ms}, b: json}}\n"

    def columns(text: str) -> object:
        return load(f"{defaults}{_columns(text)}").exports[0].columns

    assert columns("{a: date}") == {"a": ColumnSettings("date"), "b": ColumnSettings("json")}
    assert columns("{a: ~, c: uuid}") == {"b": ColumnSettings("json"), "c": ColumnSettings("uuid")}
    assert columns("~") == {}
    (problem,) = refuse(_columns("{a: date}") + "defaults: {columns: {b: jsn}}\n")
    assert problem.path == "$.defaults.columns.b"


@pytest.mark.parametrize(
    ("written", "expected"),
    [("null", "null"), ("~", "null"), ("", "null"), ("'null'", "null"), ("error", "error")],
)
def test_null_is_a_policy(load: Load, written: str, expected: str) -> None:
    """`unrepresentable: null` means to write NULL, though YAML takes the word for no value at all."""
    exports = ONE_EXPORT.replace("table: events", "table: events\n    unrepresentable: " + written)

    assert load(SOURCE + exports).exports[0].unrepresentable == expected


@pytest.mark.parametrize(("shared", "own", "expected"), [("null", "", "null"), ("error", "null", "null")])
@pytest.mark.parametrize("back", [False, True])
def test_the_policy_comes_from_the_defaults_too(
    load: Load, shared: str, own: str, expected: str, back: bool
) -> None:
    """A default `null` holds for each export that states none, and `error` undoes it."""
    stated = "error" if back else own
    line = f"    unrepresentable: {stated}\n" if stated else ""
    settings = load(SOURCE + f"defaults: {{unrepresentable: {shared}}}\n" + ONE_EXPORT + line)

    assert settings.exports[0].unrepresentable == ("error" if back else expected)


def test_the_policy_is_error_where_nothing_is_stated(load: Load) -> None:
    """Nothing is made NULL unless it is asked for by name."""
    assert load(SOURCE + ONE_EXPORT).exports[0].unrepresentable == "error"


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5"])
def test_zones_are_named(load: Load, zone: str) -> None:
    """A name of the IANA database arrives as it is."""
    assert load(f"{PARTITIONED}    partition_timezone: {zone}\n").exports[0].partition_timezone == zone


@pytest.mark.parametrize(
    ("zone", "hint"),
    [
        ("europe/berlin", "did you mean Europe/Berlin?"),
        ("Berlin", "did you mean Europe/Berlin?"),
        ("new york", "did you mean America/New_York?"),
        ("Europe/Berln", "did you mean Europe/Berlin?"),
        ("+02:00", "write one such as"),
        ("../../etc/passwd", None),
        ("/usr/share/zoneinfo/UTC", None),
        ("right/Europe/Berlin", "did you mean Europe/Berlin?"),
        ("localtime", None),
        ("Factory", None),
        ("", None),
    ],
)
def test_what_is_no_zone_is_refused(refuse: Refuse, zone: str, hint: str | None) -> None:
    """Offsets, paths, another case and the machine's own zone are refused, with the likely name."""
    (problem,) = refuse(f"{PARTITIONED}    partition_timezone: '{zone}'\n")

    assert problem.path == f"{EXPORT}.partition_timezone"
    assert hint is None or hint in (problem.hint or "")


def test_a_machine_without_zones_has_utc(load: Load, refuse: Refuse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a zone database UTC works, and any other zone is refused with what to install."""
    monkeypatch.setattr("rivet.config.zones.available_timezones", set)

    load(f"{PARTITIONED}    partition_timezone: UTC\n")
    (problem,) = refuse(f"{PARTITIONED}    partition_timezone: Europe/Berlin\n")

    assert problem.hint == "install the package tzdata"
