"""Conclude from tables of ratings: scores that raters gave to systems' outputs."""
