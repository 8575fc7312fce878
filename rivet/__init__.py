"""Rivet exports a SQL table or query to a Hive-partitioned Parquet tree, with every row accounted for."""

__version__ = "0.1.0"
