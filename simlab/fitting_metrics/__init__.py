"""Learn from real scores what a metric is worth: (rho, eta), a mixture matrix, a correlation, each with its error.

A fit reads a table and knows nothing of worlds; what it finds is a file that the parts of
`simlab.world.fitted_metrics` draw from.
"""
