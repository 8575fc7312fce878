"""Reads scans, cuts them at window edges, and writes Parquet parts that are staged, not yet visible."""
