"""Conclude from tables of preferences."""
