"""Studies in which outputs of two systems are compared."""
