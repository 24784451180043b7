"""Hold the parts that say how good the outcomes are: performance measures."""
