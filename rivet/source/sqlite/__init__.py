"""SQLite: described, examined and read on one connection of ADBC's driver, in one read transaction."""

from rivet.source.sqlite.source import SqliteSource as SqliteSource
