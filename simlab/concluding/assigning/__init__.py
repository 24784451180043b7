"""Assign a planned study of ratings to real items and raters: who rates what in which order; read it back."""
