"""Fit the law of preferences, a latent scale with ties, to a table of comparisons; check it; backtest its predictions.

Call `fitting.fit` on the table, which returns a `PreferenceFit`, `checks.checks` on the fit, `backtest.backtest` on the
table.
"""
