"""Runs the command in a process of its own, and writes the most memory that it held to standard output.

The kernel's own count for a child process would start from its parent's.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from rivet.cli.main import main

if __name__ == "__main__":
    code = main()
    peak = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    if peak is not None:
        sys.stdout.write(f"{int(peak[1]) * 1024}\n")
    raise SystemExit(code)
