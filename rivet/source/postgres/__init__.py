"""PostgreSQL: described and probed through psycopg, read in bulk through asyncpg's COPY, in one snapshot."""

from rivet.source.postgres.source import PostgresSource as PostgresSource
