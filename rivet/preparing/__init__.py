"""Finds out what an export is, which windows a run reads and by which scans; nothing is written."""
