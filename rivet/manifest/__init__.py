"""What lands beside the data, as values: model, codec, and the verification of observed against claimed.

Pure: no I/O and no SDK.
"""
