"""Measure what a cell and a block cost, and simulate many cores from it; outside the package."""
