"""Plans an export without any I/O: windows, the names of everything that lands, and scans.

Pure. Values are frozen; times are integers on the partition column's own axis, so a bound may lie beyond
what a Python date can hold.
"""
