"""Conclude from a table that somebody collected, by the analysis that was simulated, under a promise that was."""
