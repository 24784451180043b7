"""Hold designs and stores against each other."""
