"""Compare designs, and stores, with each other."""
