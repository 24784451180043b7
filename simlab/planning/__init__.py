"""Name the design to buy: search for the cheapest that finds what must be found, in simulated worlds."""
