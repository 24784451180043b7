"""Compute simulation studies of text-generation evaluations."""
