"""Tests that generalise to raters: those who rated stand for all who might have."""
