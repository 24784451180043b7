"""Carry out what is missing of a sweep, block by block, on all cores, and keep it in a ledger."""
