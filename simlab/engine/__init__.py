"""Simulate the missing campaigns of a sweep, block by block, on all cores, and keep them in a ledger."""
