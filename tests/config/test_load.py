"""What a config that is in order turns into."""

from __future__ import annotations

from pathlib import Path

import pytest

from rivet.config.load import load_settings
from rivet.config.settings import ExportSettings, LocalDestinationSettings, Secret, Tls
from rivet.errors import ConfigError
from tests.config.conftest import ONE_EXPORT, SOURCE, Load, Refuse


def test_the_published_form_loads(load: Load, tmp_path: Path) -> None:
    """The config of the first page works as it is printed."""
    settings = load("""
        source: {type: postgres, url: "postgresql://user:pass@host:5432/dbname"}
        exports:
          - name: events
            table: events
            partition_by: created_at
            partition_granularity: day
            format: parquet
            destination: {type: local, path: "./out/events/{partition}/"}
    """)

    source = settings.source
    assert (source.type, source.host, source.port, source.user, source.database) == (
        "postgres",
        "host",
        5432,
        "user",
        "dbname",
    )
    assert source.password == Secret("pass")
    assert settings.exports == (
        ExportSettings(
            where="$.exports[0]",
            name="events",
            table="events",
            partition_by="created_at",
            partition_granularity="day",
            destination=LocalDestinationSettings(tmp_path / "out/events", "{partition}"),
        ),
    )
    assert settings.on_error == "continue"


def test_every_key_arrives(load: Load, tmp_path: Path) -> None:
    """Each key that may be stated is found in the settings."""
    (tmp_path / "ca.pem").touch()
    settings = load("""
        source:
          type: mysql
          host: db
          port: 3307
          user: app
          password: "p@ss"
          database: shop
          tls: {mode: verify-ca, ca_file: ca.pem}
          snapshot: export
          consistency: statement
          connect_timeout_seconds: 2.5
          statement_timeout_seconds: 60
          parallel: 1
        on_error: stop
        exports:
          - name: events
            table: shop.events
            exclude: [ssn, iban]
            mode: full
            partition_by: created_at
            partition_granularity: month
            partition_timezone: UTC
            partition_key: month
            partition_column: keep
            format: parquet
            compression: gzip
            compression_level: 9
            max_file_size: 1.5MiB
            max_partitions: 7
            sort: rivet
            max_sort_size: 3GB
            max_scan_rows: 1000
            max_scan_seconds: 2.5
            scan: per_partition
            skip_empty: false
            unrepresentable: error
            vanished: keep
            publish: eager
            lock: off
            destination: {type: local, path: "/data/{partition}/x/", manifest_name: _manifest.json}
    """)

    source = settings.source
    assert (source.host, source.port, source.password) == ("db", 3307, Secret("p@ss"))
    assert source.tls == Tls("verify-ca", tmp_path / "ca.pem")
    assert source.consistency == "statement"
    assert (source.connect_timeout_seconds, source.statement_timeout_seconds) == (2.5, 60)
    assert settings.on_error == "stop"
    assert settings.exports[0] == ExportSettings(
        where="$.exports[0]",
        name="events",
        table="shop.events",
        exclude=("ssn", "iban"),
        partition_by="created_at",
        partition_granularity="month",
        partition_key="month",
        compression="gzip",
        compression_level=9,
        max_file_size_bytes=3 * 1024**2 // 2,
        max_partitions=7,
        sort="rivet",
        max_sort_size_bytes=3_000_000_000,
        max_scan_rows=1000,
        max_scan_seconds=2.5,
        scan="per_partition",
        skip_empty=False,
        vanished="keep",
        publish="eager",
        lock="off",
        destination=LocalDestinationSettings(Path("/data"), "{partition}/x", "_manifest.json"),
    )


def test_null_is_not_stated(load: Load) -> None:
    """A key without a value is as good as absent."""
    with_nulls = load(SOURCE + ONE_EXPORT + "    vanished:\n    compression: ~\n    partition_by: null\n")

    assert with_nulls == load(SOURCE + ONE_EXPORT)


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ("{type: sqlite, path: shop.db}", "shop.db"),
        ("{type: sqlite, path: /srv/shop.db}", "/srv/shop.db"),
        ("{type: sqlite, url: 'sqlite:///data/shop.db'}", "data/shop.db"),
        ("{type: sqlite, url: 'sqlite:////srv/shop.db'}", "/srv/shop.db"),
        ("{type: sqlite, url_env: DB}", "my shop.db"),
    ],
)
def test_sqlite_files_are_meant_from_the_folder_of_the_config(
    load: Load, tmp_path: Path, source: str, path: str
) -> None:
    """A relative path of a SQLite file begins at the config, wherever the command was started."""
    settings = load(f"source: {source}\n{ONE_EXPORT}", {"DB": "sqlite:///my%20shop.db"})

    assert settings.source.path == tmp_path / path
    assert settings.source.database is None


def test_relative_paths_do_not_depend_on_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A config named from elsewhere means the same files."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/q.sql").write_text(
        "\ufeffSELECT '${env:NOT_REPLACED}' AS x -- 100%\n", encoding="utf-8"
    )
    (tmp_path / "conf/url").write_text("postgresql://app:pw@db/shop\n")
    (tmp_path / "conf/rivet.yaml").write_text("""
        source: {type: postgres, url_file: url}
        exports: [{name: q, query_file: q.sql, destination: {type: local, path: ../out}}]
    """)
    monkeypatch.chdir(tmp_path)

    settings = load_settings(Path("conf/rivet.yaml"), {})

    assert settings.source.password == Secret("pw")
    assert settings.exports[0].query == "SELECT '${env:NOT_REPLACED}' AS x -- 100%\n"
    assert settings.exports[0].destination.label == str(tmp_path / "out")


def test_defaults_are_merged_under_each_export(load: Load) -> None:
    """What an export states wins, null undoes a default, and destinations are merged key by key."""
    settings = load(
        SOURCE
        + """
defaults:
  query: SELECT 1
  partition_by: day
  partition_key: d
  compression: zstd
  compression_level: 19
  exclude: [ssn]
  destination: {type: local, path: "out/{partition}", manifest_name: _manifest.json}
exports:
  - {name: a, table: a}
  - name: b
    table: b
    partition_by: null
    exclude: null
    compression: snappy
    destination: {path: b}
"""
    )

    a, b = settings.exports
    assert (a.table, a.query, a.partition_by, a.compression_level) == ("a", None, "day", 19)
    assert (b.table, b.partition_by, b.exclude, b.compression_level) == ("b", None, (), None)
    assert b.compression == "snappy"
    assert b.destination.manifest_name == a.destination.manifest_name == "_manifest.json"
    assert (Path(b.destination.label).name, b.destination.template) == ("b", "")


def test_anchors_have_a_home(load: Load) -> None:
    """Top-level keys that begin with x- are ignored, whatever they hold."""
    settings = load(
        SOURCE
        + """
x-day: &day {partition_by: created_at, compression: gzip}
x-other: !Tag [1, {a: 1, a: 2}, "${env:NOT_SET}"]
exports:
  - <<: *day
    name: events
    table: events
    compression: lz4
    destination: {type: local, path: "out/{partition}"}
"""
    )

    assert settings.exports[0].partition_by == "created_at"
    assert settings.exports[0].compression == "lz4"


@pytest.mark.parametrize(
    ("path", "root", "template"),
    [
        ("./out/{partition}/", "out", "{partition}"),
        ("{partition}", "", "{partition}"),
        ("out//{partition}//sub/", "out", "{partition}/sub"),
        ("/srv/a b%2F+/{partition}", "/srv/a b%2F+", "{partition}"),
    ],
)
def test_the_root_is_what_stands_before_the_partition(
    load: Load, tmp_path: Path, path: str, root: str, template: str
) -> None:
    """The base of a path is taken as it is, and never decoded."""
    settings = load(SOURCE + ONE_EXPORT.replace("./out/events", f"'{path}'") + "    partition_by: d\n")

    assert settings.exports[0].destination == LocalDestinationSettings(tmp_path / root, template)


@pytest.mark.parametrize("name", ["events", "a/b", "été 2023", "x=y%z", "100%", "a.b_c", "n" * 180])
def test_names_that_can_be_escaped_are_taken(load: Load, name: str) -> None:
    """A name may hold what a file name cannot: it is escaped there."""
    assert load(SOURCE + ONE_EXPORT.replace("name: events", f"name: '{name}'")).exports[0].name == name


def test_a_column_may_be_named_by_blanks(load: Load, refuse: Refuse) -> None:
    """Databases have such columns; of no name at all there is none."""
    partitioned = SOURCE + ONE_EXPORT.replace("./out/events", "'./out/{partition}'") + "    exclude: ['  ']\n"

    export = load(partitioned + "    partition_by: ' '\n").exports[0]
    (problem,) = refuse(partitioned + "    partition_by: ''\n")

    assert (export.partition_by, export.exclude) == (" ", ("  ",))
    assert "is empty, expected text" in problem.message


@pytest.mark.parametrize(
    ("name", "reason"),
    [("missing.yaml", "no such file or directory"), (".", "is a directory")],
)
def test_a_config_that_is_no_file_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    """A config that cannot be read is one problem that names it."""
    with pytest.raises(ConfigError, match=reason) as caught:
        load_settings(tmp_path / name, {})

    assert caught.value.exit_code == 2
    assert [problem.path for problem in caught.value.problems] == ["$"]


def test_a_byte_order_mark_does_no_harm(load: Load) -> None:
    """Editors that begin a file with a byte order mark are served."""
    assert load(b"\xef\xbb\xbf" + (SOURCE + ONE_EXPORT).encode()).exports[0].name == "events"


def test_a_config_that_is_not_utf8_is_refused(refuse: Refuse) -> None:
    """A file in another encoding is refused with the place of the first wrong byte."""
    (problem,) = refuse(b"source: \xe9")

    assert (problem.path, "not UTF-8 at byte 8" in problem.message) == ("$", True)
