"""Conclude from tables of preferences: which of two outputs raters found better."""
