"""Name the design to buy: what must be found is searched for among designs, in simulated worlds, before anybody pays."""
