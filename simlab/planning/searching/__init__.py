"""Search for the cheapest design that reaches the targets: few worlds first, more where the choice could be wrong."""

from simlab.planning.searching.judging import oddities, simpler
from simlab.planning.searching.search import Search, begin, go_on, search

__all__ = ["Search", "begin", "go_on", "oddities", "search", "simpler"]
