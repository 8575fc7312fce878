"""Rivet exports a SQL table or query to a Hive-partitioned Parquet tree, with every row accounted for."""

__version__ = "0.1.0"

TOOL = f"rivet-export {__version__}"
"""Name and version, as files and documents hold them."""
