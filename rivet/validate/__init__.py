"""Re-checks what landed, without the source: reads a tree, and lets the manifest room judge what it saw."""

from rivet.validate.prefix import open_prefix
from rivet.validate.tree import Depth, validate

__all__ = ["Depth", "open_prefix", "validate"]
