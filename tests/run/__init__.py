"""Whole runs: from a real database to a tree, read back with another reader."""
