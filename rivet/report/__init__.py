"""Results as text for people and as documents for machines.

Pure: values in, lines or JSON types out; the cli decides where they go.
"""
