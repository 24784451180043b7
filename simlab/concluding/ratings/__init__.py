"""Conclude from tables of ratings."""
