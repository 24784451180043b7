"""Conclude from tables of judgements."""
