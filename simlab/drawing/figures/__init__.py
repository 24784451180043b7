"""Draw figures."""
