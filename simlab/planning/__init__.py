"""Plan a study: search, in simulated worlds, for the cheapest design that reaches targets such as power."""
