"""What is refused before any connection: each with its path, what was found, and the mend."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from rivet.config.exports import _LEVELS
from tests.config.conftest import ONE_EXPORT, SOURCE, Load, Refuse

EXPORT = "$.exports[0]"


def _export(keys: str) -> str:
    return SOURCE + ONE_EXPORT + "".join(f"    {line}\n" for line in keys.splitlines())


def _at(path: str, by: str | None = "created_at") -> str:
    text = SOURCE + ONE_EXPORT.replace("./out/events", f"'{path}'")
    return text + (f"    partition_by: {by}\n" if by else "")


def _named(name: str) -> str:
    return SOURCE + ONE_EXPORT.replace("name: events", f"name: {name}")


def _source(keys: str) -> str:
    return f"source: {{{keys}}}\n{ONE_EXPORT}"


def _two(first: str, second: str, names: tuple[str, str] = ("a", "b")) -> str:
    return (
        SOURCE
        + "exports:\n"
        + "".join(
            f"  - {{name: {name}, table: t, destination: {{type: local, path: '{path}'}}}}\n"
            for name, path in zip(names, (first, second), strict=True)
        )
    )


CASES = {
    # The partition and the path
    "no {partition}": (_at("./out"), f"{EXPORT}.partition_by", "needs {partition}", "{partition}"),
    "no partition_by": (
        _at("o/{partition}", None),
        f"{EXPORT}.destination.path",
        "no partition_by",
        "add partition_by",
    ),
    "half a segment": (
        _at("o/d-{partition}"),
        f"{EXPORT}.destination.path",
        "as a whole segment",
        "{partition}/",
    ),
    "twice": (
        _at("{partition}/{partition}"),
        f"{EXPORT}.destination.path",
        "must stand once",
        "{partition}/",
    ),
    "other braces": (
        _at("o/{table}/{partition}"),
        f"{EXPORT}.destination.path",
        "only {partition}",
        "${env:NAME}",
    ),
    "open brace": (
        _at("o/{partition", None),
        f"{EXPORT}.destination.path",
        "only {partition}",
        "${env:NAME}",
    ),
    "root /": (
        _at("/{partition}"),
        f"{EXPORT}.destination.path",
        "the root would be /",
        "of its own",
    ),
    "root / by dots": (_at("/srv/../{partition}"), f"{EXPORT}.destination.path", "would be /", "directory"),
    "root / without key": (_at("/", None), f"{EXPORT}.destination.path", "would be /", "directory"),
    "hidden below": (_at("o/{partition}/_new"), f"{EXPORT}.destination.path", "readers skip", "another name"),
    "dots below": (_at("o/{partition}/../x"), f"{EXPORT}.destination.path", "readers skip", "another name"),
    "home": (_at("~/out", None), f"{EXPORT}.destination.path", "~ is not expanded", "${env:HOME}"),
    "url": (
        _at("s3://bucket/x", None),
        f"{EXPORT}.destination.path",
        "a URL is no directory",
        "`type: s3`",
    ),
    "long segment": (_at("x" * 256, None), f"{EXPORT}.destination.path", "longer than 255", "shorter"),
    "hidden key": (_at("{partition}", "_day"), f"{EXPORT}.partition_by", "'_day' cannot", "partition_key"),
    "dotted key": (_at("{partition}", ".day"), f"{EXPORT}.partition_by", "'.day' cannot", "partition_key"),
    "key given": (
        _at("{partition}") + "    partition_key: _d\n",
        f"{EXPORT}.partition_key",
        "'_d' cannot",
        "another",
    ),
    "long key": (_at("{partition}", "k" * 229), f"{EXPORT}.partition_by", "longer than 228", "partition_key"),
    "key alone": (
        _export("partition_key: d"),
        f"{EXPORT}.partition_key",
        "without partition_by",
        "add partition_by",
    ),
    "width alone": (
        _export("partition_granularity: day"),
        f"{EXPORT}.partition_granularity",
        "without",
        "add",
    ),
    "granularity": (
        _at("{partition}") + "    partition_granularity: dayly\n",
        f"{EXPORT}.partition_granularity",
        "found 'dayly', expected one of day, month, year",
        "did you mean day?",
    ),
    "granularity yes": (
        _at("{partition}") + "    partition_granularity: yes\n",
        f"{EXPORT}.partition_granularity",
        "found 'yes'",
        None,
    ),
    # Modes
    "time_window": (
        _at("{partition}") + "    mode: time_window\n",
        f"{EXPORT}.mode",
        "found 'time_window', expected one of full, chunked, incremental",
        "with `partition_by` each partition is a window",
    ),
    # What is exported
    "two queries": (_export("query: SELECT 1"), f"{EXPORT}.query", "stands beside table", "exactly one of"),
    "no query": (
        _named("e").replace("table: events", "scan: auto"),
        EXPORT,
        "neither table",
        "exactly one of",
    ),
    "empty query": (_named("e").replace("table: events", "query: ' '"), f"{EXPORT}.query", "is empty", None),
    "lost file": (
        _named("e").replace("table: events", "query_file: no.sql"),
        f"{EXPORT}.query_file",
        "cannot read 'no.sql': no such file",
        None,
    ),
    "exclude and query": (
        _export("exclude: [a]").replace("table: events", "query: SELECT 1"),
        f"{EXPORT}.exclude",
        "stands beside query",
        "in the query",
    ),
    "exclude the key": (
        _at("{partition}") + "    exclude: [created_at]\n",
        f"{EXPORT}.exclude",
        "leaves out",
        "keep",
    ),
    "exclude text": (_export("exclude: ssn"), f"{EXPORT}.exclude", "found 'ssn', expected a list", "[a, b]"),
    "exclude null": (_export("exclude: [~]"), f"{EXPORT}.exclude[0]", "found null, expected text", None),
    # Names
    "no name": (
        SOURCE + ONE_EXPORT.replace("name: events", "scan: auto"),
        f"{EXPORT}.name",
        "is missing",
        "a name",
    ),
    "empty name": (_named("''"), f"{EXPORT}.name", "'' is empty", None),
    "name .": (_named("'.'"), f"{EXPORT}.name", "'.' cannot name", "another name"),
    "name ..": (_named("'../x'"), f"{EXPORT}.name", "a segment '..'", "another name"),
    "name /": (_named("/x"), f"{EXPORT}.name", "a segment ''", "another name"),
    "name x/": (_named("x/"), f"{EXPORT}.name", "a segment ''", "another name"),
    "hidden name": (_named("_x"), f"{EXPORT}.name", "readers skip names", "another name"),
    "dotted name": (_named(".x"), f"{EXPORT}.name", "readers skip names", "another name"),
    "control": (_named('"a\\x1b[31m"'), f"{EXPORT}.name", "control characters", "another name"),
    "zero": (_named('"a\\0"'), f"{EXPORT}.name", "zero character", None),
    "long name": (_named("n" * 181), f"{EXPORT}.name", "longer than 180 bytes", "another name"),
    "long escaped": (_named("'" + "%" * 61 + "'"), f"{EXPORT}.name", "longer than 180 bytes", "another name"),
    "number": (_named("2023"), f"{EXPORT}.name", "found 2023, expected text", "in quotes"),
    "same names": (
        _two("x", "y", ("a", "a")),
        "$.exports[1].name",
        "'a' is also the name of $.exports[0]",
        "another",
    ),
    # Roots
    "one root": (
        _two("x", "./x/"),
        "$.exports[1].destination.path",
        "that of $.exports[0]",
        "of its own",
    ),
    "inside": (_two("x", "x/y"), "$.exports[1].destination.path", "that of $.exports[0]", "of its own"),
    "around": (_two("x/y", "x"), "$.exports[0].destination.path", "that of $.exports[1]", "of its own"),
    "by dots": (_two("x", "z/../x"), "$.exports[1].destination.path", "that of $.exports[0]", "of its own"),
    # Keys and values that are known
    "near miss": (
        _export("partiton_key: d"),
        f"{EXPORT}.partiton_key",
        "unknown key",
        "did you mean partition_key?",
    ),
    "nested": (_export("zz: 1"), f"{EXPORT}.zz", "unknown key", "known here: name, table"),
    "other home": (_export("parallel: 2"), f"{EXPORT}.parallel", "does not belong here", "under `source`"),
    "other homes": (
        _export("path: x"),
        f"{EXPORT}.path",
        "not belong",
        "under `source` or under `destination`",
    ),
    "top": (SOURCE + ONE_EXPORT + "soruce: {}\n", "$.soruce", "unknown key", "did you mean source?"),
    "chunk_dense": (_export("chunk_dense: true"), f"{EXPORT}.chunk_dense", "older tool", "mode: full"),
    "a flag": (
        SOURCE + ONE_EXPORT + "--parallel-export-processes: true\n",
        "$['--parallel-export-processes']",
        "older tool",
        "rivet run --export NAME",
    ),
    "tuning": (
        _source("type: sqlite, path: x, tuning: {profile: safe}"),
        "$.source.tuning",
        "older tool",
        "Rivet sizes",
    ),
    "csv": (_export("format: csv"), f"{EXPORT}.format", "found 'csv', expected parquet", "format: parquet"),
    "certs": (
        _source("type: mysql, url_env: U, tls: {mode: require, accept_invalid_certs: true}"),
        "$.source.tls.accept_invalid_certs",
        "older tool",
        "mode: require",
    ),
    "mariadb": (_source("type: mariadb, url_env: U"), "$.source.type", "found 'mariadb'", "type: mysql"),
    "state that is a word": (SOURCE + ONE_EXPORT + "state: here\n", "$.state", "found 'here'", "state: off"),
    "state without its url": (
        SOURCE + ONE_EXPORT + "state: {}\n",
        "$.state.url_env",
        "is missing",
        "state: off",
    ),
    "state with a secret": (
        SOURCE + ONE_EXPORT + "state: {url: 'postgresql://u:p@h/d'}\n",
        "$.state.url",
        "has no place here",
        "write `state: {url_env: NAME}`",
    ),
    "state that is not set": (
        SOURCE + ONE_EXPORT + "state: {url_env: LEDGER}\n",
        "$.state.url_env",
        "environment variable 'LEDGER' is not set",
        "export LEDGER=…",
    ),
    "state that is no url": (
        SOURCE + ONE_EXPORT + "state: {url_env: EMPTY}\n",
        "$.state.url_env",
        "the URL is empty",
        "begin with one of",
    ),
    "state with a certificate for a file": (
        SOURCE + ONE_EXPORT + "state: {url_env: FILE, tls: {mode: require}}\n",
        "$.state.tls",
        "has no meaning for type sqlite",
        "remove it",
    ),
    "state with an unknown key": (
        SOURCE + ONE_EXPORT + "state: {url_env: U, pathh: x}\n",
        "$.state.pathh",
        "unknown key",
        "known here: url_env, tls",
    ),
    # Values
    "lock": (_export("lock: redis"), f"{EXPORT}.lock", "expected auto or off", None),
    "level": (
        _export("compression_level: 23"),
        f"{EXPORT}.compression_level",
        "found 23, and zstd takes 1 to 22",
        "1 to 22",
    ),
    "level 0": (
        _export("compression: gzip\ncompression_level: 0"),
        f"{EXPORT}.compression_level",
        "1 to 9",
        "1 to 9",
    ),
    "no levels": (
        _export("compression: none\ncompression_level: 1"),
        f"{EXPORT}.compression_level",
        "no levels",
        "remove",
    ),
    "size": (_export("max_file_size: 5 potatoes"), f"{EXPORT}.max_file_size", "found '5 potatoes'", None),
    "size 0": (_export("max_sort_size: 0"), f"{EXPORT}.max_sort_size", "found 0, expected at least 1", None),
    "no time for a scan": (
        _export("max_scan_seconds: 0"),
        f"{EXPORT}.max_scan_seconds",
        "found 0, expected more than 0",
        None,
    ),
    "count true": (
        _export("max_partitions: true"),
        f"{EXPORT}.max_partitions",
        "found true, expected a number",
        None,
    ),
    "count 0": (_export("max_partitions: 0"), f"{EXPORT}.max_partitions", "at least 1", None),
    "boolean": (_export("skip_empty: perhaps"), f"{EXPORT}.skip_empty", "expected true or false", None),
    "nan": (
        _source("type: sqlite, path: x, connect_timeout_seconds: .nan"),
        "$.source.connect_timeout_seconds",
        "nan",
        None,
    ),
    "too long": (
        _source("type: sqlite, path: x, statement_timeout_seconds: 2147484"),
        "$.source.statement_timeout_seconds",
        "at most 2147482",
        None,
    ),
    # Shapes
    "no exports": (SOURCE, "$.exports", "is missing", "- name"),
    "empty exports": (
        SOURCE + "exports: []\n",
        "$.exports",
        "found a list, expected a list of exports",
        "- name",
    ),
    "exports mapping": (SOURCE + "exports: {a: {}}\n", "$.exports", "found a mapping", "- name"),
    "export text": (SOURCE + "exports: [events]\n", EXPORT, "found 'events', expected a mapping", None),
    "no source": (ONE_EXPORT, "$.source", "is missing", None),
    "source text": ("source: x\n" + ONE_EXPORT, "$.source", "found 'x', expected a mapping", None),
    "defaults list": (SOURCE + ONE_EXPORT + "defaults: [1]\n", "$.defaults", "found a list", None),
    "defaults false": (
        SOURCE + ONE_EXPORT + "defaults: false\n",
        "$.defaults",
        "found false",
        "keys of an export",
    ),
    "no destination": (
        SOURCE + "exports: [{name: a, table: t}]\n",
        f"{EXPORT}.destination",
        "is missing",
        "type: local",
    ),
    "no path": (
        SOURCE + "exports: [{name: a, table: t, destination: {type: local}}]\n",
        f"{EXPORT}.destination.path",
        "is missing",
        "./out/events/{partition}/",
    ),
    "no type": (
        SOURCE + "exports: [{name: a, table: t, destination: {path: x}}]\n",
        f"{EXPORT}.destination.type",
        "is missing",
        "write local",
    ),
    "destination text": (
        SOURCE + "exports: [{name: a, table: t, destination: ./out}]\n",
        f"{EXPORT}.destination",
        "found './out', expected a mapping",
        None,
    ),
    # The source
    "no type of source": (
        _source("url_env: U"),
        "$.source.type",
        "is missing",
        "write postgres, mysql or sqlite",
    ),
    "a URL for a database": (
        _source("type: postgres, host: h, user: u, database: '${env:U}'"),
        "$.source.database",
        "is a URL",
        "name that in `url_env`",
    ),
    "a URL for a user": (
        _source("type: mysql, host: h, user: 'mysql://u:s3cr3t@h/d', database: d"),
        "$.source.user",
        "is a URL",
        "name that in `url_env`",
    ),
    "a URL for a path": (
        _source("type: sqlite, path: 'postgresql://u:s3cr3t@h/d'"),
        "$.source.path",
        "is a URL",
        "name that in `url_env`",
    ),
    "no way": (_source("type: postgres"), "$.source", "names no database", "url_env"),
    "two ways": (
        _source("type: postgres, url_env: U, url_file: f"),
        "$.source.url_file",
        "beside url_env",
        "exactly one",
    ),
    "url and parts": (
        _source("type: postgres, url_env: U, port: 1"),
        "$.source.port",
        "beside url_env",
        "exactly one",
    ),
    "path and url": (
        _source("type: sqlite, path: x, url_env: U"),
        "$.source.path",
        "beside url_env",
        "exactly one",
    ),
    "sqlite host": (
        _source("type: sqlite, path: x, host: h"),
        "$.source.host",
        "no meaning for type sqlite",
        "path",
    ),
    "postgres path": (
        _source("type: postgres, path: x"),
        "$.source.path",
        "no meaning for type postgres",
        "host",
    ),
    "no database": (
        _source("type: postgres, host: h"),
        "$.source.database",
        "is missing",
        "name the database",
    ),
    "two passwords": (
        _source("type: mysql, host: h, database: d, password: p, password_env: U"),
        "$.source.password_env",
        "stands beside password",
        "password_env",
    ),
    "host with port": (
        _source("type: mysql, host: 'h:1', database: d"),
        "$.source.host",
        "neither a name",
        "one host",
    ),
    "two hosts": (
        _source("type: mysql, host: 'h,i', database: d"),
        "$.source.host",
        "neither a name",
        "one host",
    ),
    "port": (
        _source("type: mysql, host: h, database: d, port: 65536"),
        "$.source.port",
        "at most 65535",
        None,
    ),
    "port text": (
        _source("type: mysql, host: h, database: d, port: x"),
        "$.source.port",
        "a whole number",
        None,
    ),
    "no scans at once": (
        _source("type: postgres, host: h, database: d, parallel: 0"),
        "$.source.parallel",
        "at least 1",
        None,
    ),
    "many scans at once": (
        _source("type: postgres, host: h, database: d, parallel: 65"),
        "$.source.parallel",
        "at most 64",
        None,
    ),
    "mysql's one connection": (
        _source("type: mysql, host: h, database: d, parallel: 2"),
        "$.source.parallel",
        "one consistent snapshot lives on one connection",
        "consistency: statement",
    ),
    "sqlite's one connection": (
        _source("type: sqlite, path: x, parallel: 2"),
        "$.source.parallel",
        "read by one connection",
        "parallel: 1",
    ),
    "other engine": (
        _source("type: mysql, url_env: U"),
        "$.source.url_env",
        "the URL is for postgres, the type is mysql",
        "agree",
    ),
    "empty variable": (
        _source("type: mysql, url_env: EMPTY"),
        "$.source.url_env",
        "environment variable 'EMPTY' is empty",
        "export EMPTY=",
    ),
    "tls in the url": (
        _source("type: postgres, url: 'postgresql://h/d?sslmode=require'"),
        "$.source.url",
        "parameter 'sslmode', which is refused",
        "tls: {mode: verify-full}",
    ),
    "tls mode": (
        _source("type: mysql, url_env: U, tls: {mode: on}"),
        "$.source.tls.mode",
        "found 'on'",
        None,
    ),
    "tls without mode": (
        _source("type: mysql, url_env: U, tls: {}"),
        "$.source.tls.mode",
        "is missing",
        "verify-full",
    ),
    "tls text": (
        _source("type: mysql, url_env: U, tls: require"),
        "$.source.tls",
        "expected a mapping",
        None,
    ),
    "tls sqlite": (
        _source("type: sqlite, path: x, tls: {mode: require}"),
        "$.source.tls",
        "no meaning",
        "remove it",
    ),
    "tls socket": (
        _source("type: postgres, host: /run/pg, database: d, tls: {mode: require}"),
        "$.source.tls",
        "mode require cannot be had over a Unix socket",
        "name a host",
    ),
    "tls mysql socket": (
        _source("type: mysql, url: 'mysql://u@/d?unix_socket=/run/my.sock', tls: {mode: verify-full}"),
        "$.source.tls",
        "mode verify-full cannot be had over a Unix socket",
        "name a host",
    ),
    "ca left out": (
        _source("type: mysql, url_env: U, tls: {mode: verify-ca}"),
        "$.source.tls.ca_file",
        "is missing: mode verify-ca",
        "verify-full",
    ),
    "ca unused": (
        _source("type: mysql, url_env: U, tls: {mode: require, ca_file: ca.pem}"),
        "$.source.tls.ca_file",
        "is not used by mode require",
        "verify-ca",
    ),
    "ca missing": (
        _source("type: mysql, url_env: U, tls: {mode: verify-ca, ca_file: ca.pem}"),
        "$.source.tls.ca_file",
        "'ca.pem' is no file",
        None,
    ),
    "ca too long": (
        _source(f"type: mysql, url_env: U, tls: {{mode: verify-ca, ca_file: {'c' * 300}}}"),
        "$.source.tls.ca_file",
        "cannot be found: file name too long",
        None,
    ),
}


@pytest.mark.parametrize(("text", "path", "message", "hint"), CASES.values(), ids=CASES)
def test_refusals_say_where_what_and_the_mend(
    refuse: Refuse, text: str, path: str, message: str, hint: str | None
) -> None:
    """Each is one problem at the key that must change."""
    problems = refuse(text, {"U": "postgresql://app:pw@h/d", "EMPTY": "", "FILE": "sqlite:///x.db"})

    found = [problem for problem in problems if problem.path == path and message in problem.message]
    assert found, problems
    assert hint is None or hint in (found[0].hint or "")


def test_a_secret_that_is_empty_is_not_shown_as_if_it_were_something(refuse: Refuse) -> None:
    """Stars stand for what must not be seen, and an empty variable holds nothing."""
    problems = refuse(_source("type: mysql, url: '${env:EMPTY}'"), {"EMPTY": ""})

    assert [str(problem) for problem in problems] == ["$.source.url: is empty, expected text"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("partition_granularity", "hour"),
        ("partition_granularity", "week"),
    ],
)
def test_values_of_later_versions_are_refused_as_such(refuse: Refuse, key: str, value: str) -> None:
    """A value that the next versions bring is neither unknown nor a crash."""
    (problem,) = refuse(_at("out/{partition}") + f"    {key}: {value}\n")

    assert problem.path == f"{EXPORT}.{key}"
    assert "comes with a later version of Rivet" in problem.message
    assert (problem.hint or "").startswith("today: ")


@pytest.mark.parametrize(("key", "value"), [("snapshot", "run")])
def test_values_of_later_sources_are_refused_as_such(refuse: Refuse, key: str, value: str) -> None:
    """The source's keys likewise."""
    (problem,) = refuse(_source(f"type: sqlite, path: x, {key}: {value}"))

    assert (problem.path, "comes with a later version" in problem.message) == (f"$.source.{key}", True)


@pytest.mark.parametrize(
    "keys",
    [
        "old_parts_seconds: 5",
    ],
)
def test_keys_of_later_versions_are_refused_as_such(refuse: Refuse, keys: str) -> None:
    """A key that the next versions bring is no unknown key, and the mend says what to do today."""
    for problem in refuse(_export(keys)):
        assert problem.message == "comes with a later version of Rivet"
        assert problem.hint


def test_all_problems_are_reported_at_once(refuse: Refuse) -> None:
    """Mistakes of every kind, in one run of the command."""
    problems = refuse("""
        source: {type: postgres, url_env: MISSING, prot: 5}
        on_error: never
        on_error: stop
        defaults: {compression: zst, destination: {type: local}}
        exports:
          - {name: a, table: t, partition_by: d, nmae: x, destination: {path: x}}
          - {name: a, table: t, query: q, max_partitions: 0, destination: {path: x/y}}
          - 5
    """)

    assert {problem.path for problem in problems} == {
        "$.on_error",
        "$.source.url_env",
        "$.source.prot",
        "$.defaults.compression",
        "$.exports[0].partition_by",
        "$.exports[0].nmae",
        "$.exports[1].name",
        "$.exports[1].query",
        "$.exports[1].max_partitions",
        "$.exports[2]",
    }


def test_a_mistake_in_defaults_is_reported_once_and_there(refuse: Refuse) -> None:
    """A default that three exports share is one mistake."""
    (problem,) = refuse(
        SOURCE
        + "defaults: {compresion: zstd, destination: {type: local}}\nexports:\n"
        + "".join(f"  - {{name: e{i}, table: t, destination: {{path: p{i}}}}}\n" for i in range(3))
    )

    assert (problem.path, problem.hint) == ("$.defaults.compresion", "did you mean compression?")


def test_what_defaults_do_to_one_export_is_reported_there(refuse: Refuse) -> None:
    """A default that does not go with what an export states is that export's problem."""
    problems = refuse(
        SOURCE
        + """
defaults: {partition_by: day, exclude: [ssn], destination: {type: local, path: out}}
exports:
  - {name: a, table: t, destination: {path: "a/{partition}"}}
  - {name: b, query: SELECT 1, destination: {path: "b/{partition}"}}
  - {name: c, table: t, destination: {path: c}}
  - {name: d, table: t, partition_by: null}
  - {name: e, table: t, partition_by: null}
"""
    )

    assert [problem.path for problem in problems] == [
        "$.exports[1].exclude",
        "$.exports[2].partition_by",
        "$.exports[4].destination.path",
    ]


def test_roots_that_links_make_one_are_refused(refuse: Refuse, load: Load, tmp_path: Path) -> None:
    """A link that exists is followed; case is taken as it is."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    (problem,) = refuse(_two("real/x", "link/x/y"))

    assert problem.path == "$.exports[1].destination.path"
    assert len(load(_two("real/x", "real/X")).exports) == 2


def test_many_exports_beside_each_other_are_taken(load: Load) -> None:
    """Roots that merely begin alike do not overlap, in whatever order."""
    names = [f"e{i}" for i in range(200)]
    text = (
        SOURCE
        + "exports:\n"
        + "".join(
            f"  - {{name: {name}, table: t, destination: {{type: local, path: 'out/{name}'}}}}\n"
            for name in names
        )
    )

    assert [export.name for export in load(text).exports] == names


@pytest.mark.parametrize("codec", ["zstd", "gzip", "lz4"])
def test_levels_are_those_that_the_codec_takes(codec: str) -> None:
    """The ranges agree with Arrow's codecs; zstd's negative levels are left out."""
    low, high = _LEVELS[codec]

    assert max(1, pa.Codec.minimum_compression_level(codec)) == low
    assert pa.Codec.maximum_compression_level(codec) == high


@pytest.mark.parametrize("content", [b"", b"  \n", b"SELECT \0", b"\xff"])
def test_a_query_file_that_holds_no_query_is_refused(refuse: Refuse, tmp_path: Path, content: bytes) -> None:
    """An empty file, a zero character and another encoding are told before any connection."""
    (tmp_path / "q.sql").write_bytes(content)

    (problem,) = refuse(_named("e").replace("table: events", "query_file: q.sql"))

    assert problem.path == f"{EXPORT}.query_file"
