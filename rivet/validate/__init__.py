"""Re-checks what landed, without the source: reads a tree, and lets the manifest room judge what it saw."""

from rivet.validate.prefix import place_of, place_under
from rivet.validate.tree import Depth, validate, validate_claimed

__all__ = ["Depth", "place_of", "place_under", "validate", "validate_claimed"]
