"""The contestants: Rivet and its peers, each a name and a function that gives its command."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from benchmarks.engines import Engine
from benchmarks.race import COMPRESSION_LEVEL, Contestant
from benchmarks.timing import HERE, HOME, RIVET
from rivet.export.parts import ROW_GROUP_ROWS
from tests.servers.database import Database
from tests.servers.s3 import S3Bucket
from tests.servers.sqlite import SqliteDatabase


def rivet(
    database: Database | SqliteDatabase,
    more: Mapping[str, object] | None = None,
    *,
    name: str = "rivet",
    source: Mapping[str, object] | None = None,
) -> Contestant:
    """Give Rivet, which exports the table by day with a config in the directory of the run.

    Args:
        more: Keys of the export beyond, or in place of, those that every contest has.
        source: Likewise of the source.
    """
    export = {"destination": {"type": "local", "path": "./tree/{partition}/"}, **(more or {})}
    return Contestant(name, lambda directory: rivet_command(directory, database, export, source))


def rivet_to_s3(database: Database, bucket: S3Bucket) -> Contestant:
    """Give Rivet, which exports the same into a bucket, below a prefix named as the directory of the run."""

    def command(directory: Path) -> list[str]:
        prefix = f"{directory.name}/{{partition}}/"
        return rivet_command(directory, database, {"destination": {**bucket.section, "prefix": prefix}})

    def fetch(directory: Path) -> None:
        prefix = f"{directory.name}/"
        for key in bucket.keys(prefix):
            file = directory / "tree" / key.removeprefix(prefix)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(bucket.read(key))

    return Contestant("rivet-s3", command, fetch=fetch)


def rivet_command(
    directory: Path,
    database: Database | SqliteDatabase,
    more: Mapping[str, object],
    source: Mapping[str, object] | None = None,
) -> list[str]:
    """Write Rivet's config into the directory of a run, and give the command that runs it."""
    export = {
        "name": "events",
        "table": "events",
        "partition_by": "created_at",
        "partition_granularity": "day",
        "partition_key": "day",
        "compression": "zstd",
        "compression_level": COMPRESSION_LEVEL,
        **more,
    }
    document = {"source": {**_source(database), **(source or {})}, "state": "off", "exports": [export]}
    config = directory / "rivet.yaml"
    config.write_text(json.dumps(document), encoding="utf-8")
    return [*RIVET, "run", "--config", str(config)]


def _source(database: Database | SqliteDatabase) -> dict[str, object]:
    if isinstance(database, SqliteDatabase):
        return database.source
    return {"type": database.server.source_type, "url_env": "BENCH_DATABASE_URL"}


def rivet_cli(program: Path) -> Contestant:
    """Give the public tool of the same name, which reads one day after the other by an index.

    It is told what it cannot know of the query that it makes of a table: how wide a decimal is.
    """

    def command(directory: Path) -> list[str]:
        export = {
            "name": "events",
            "table": "events",
            "mode": "full",
            "partition_by": "created_at",
            "partition_granularity": "day",
            "format": "parquet",
            "compression": "zstd",
            "compression_level": COMPRESSION_LEVEL,
            "columns": {"amount": "decimal(12,2)"},
            "destination": {"type": "local", "path": "./tree/{partition}/"},
        }
        source = {"type": "postgres", "url_env": "BENCH_DATABASE_URL"}
        config = directory / "rivet-cli.yaml"
        config.write_text(json.dumps({"source": source, "exports": [export]}), encoding="utf-8")
        return [str(program), "run", "--config", str(config)]

    return Contestant("rivet-cli", command)


def find_rivet_cli(program: Path | None) -> Path | None:
    """Give the public tool's program: the one asked for, or that of `make peer`, or None without either.

    It has an environment of its own, since its command has Rivet's name.
    """
    asked = (program or HOME / ".peer" / "bin" / "rivet").absolute()
    return asked if asked.exists() else None


def duckdb(engine: Engine) -> Contestant | None:
    """Give DuckDB with its scanner, or None where there is none of DuckDB's own version."""
    extension = _find_extension(engine.scanner[0])
    if extension is None:
        return None
    options = f"COMPRESSION zstd, COMPRESSION_LEVEL {COMPRESSION_LEVEL}, ROW_GROUP_SIZE {ROW_GROUP_ROWS}"
    words = [sys.executable, str(HERE / "duckdb_copy.py"), engine.scanner[1], str(extension)]
    return Contestant("duckdb", lambda directory: [*words, str(directory / "tree"), options])


def _find_extension(name: str) -> Path | None:
    package = importlib.util.find_spec(f"duckdb_extension_{name}")
    file = f"extensions/v{importlib.metadata.version('duckdb')}/{name}.duckdb_extension"
    places = [Path(place) / file for place in (package.submodule_search_locations or ())] if package else []
    return next((place for place in places if place.exists()), None)
