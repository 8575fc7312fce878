"""The round-trip matrix: types of every engine with their edge values; the docs' mapping comes from it."""
