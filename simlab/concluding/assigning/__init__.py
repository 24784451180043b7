"""Assign a planned study of ratings to real items and raters, and read the filled sheets back."""
