"""Search for the cheapest design that reaches the targets: few worlds first, more where the choice could be wrong."""

from simlab.planning.searching.search import search

__all__ = ["search"]
