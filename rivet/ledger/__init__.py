"""History for people: which runs there were, of which exports, and how they ended.

Nothing depends on it: a ledger that is lost, locked or full costs a run one warning and a bounded wait.
"""
