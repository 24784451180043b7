"""Estimate from real scores how good a metric is: (rho, eta), a mixture matrix, a correlation, each with its error.

`fitting.fit` takes a table and returns a `MetricFit`; `files.text` formats it as the file that the parts of
`simlab.world.fitted_metrics` draw worlds from.
"""
