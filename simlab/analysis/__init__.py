"""Hold the parts that say what is concluded: normalisation, significance, estimates, decisions."""
