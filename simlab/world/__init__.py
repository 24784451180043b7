"""Parts of a world: systems, raters, recorded ratings."""
