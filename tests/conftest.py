"""Let tests in folders import what tests share."""
