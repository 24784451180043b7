"""Collect answers as it happens: people who come, work, tire and leave, on a clock. SimPy is known here only."""
