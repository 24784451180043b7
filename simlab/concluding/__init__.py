"""Conclude from a table that somebody collected which systems are better, with the analysis that studies simulate.

`concluding.conclude` reads the table and returns a `Conclusion`. Its promise is the error rate that its claims keep to.
"""
