"""Fit a latent scale with ties to a table of comparisons, check it, and hold its predictions against real studies."""
