"""Hold the parts that say what is true: systems, raters, recorded ratings."""
