"""Hold the tests that generalise to raters: those who rated stand for all who might have."""
