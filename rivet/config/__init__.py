"""The user's config: model, loading, and every problem with its path.

Pure but for reading the files that the config names; environment variables are a parameter.
"""
