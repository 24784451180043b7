"""Parts of an analysis: normalisation, significance, estimates, decisions."""
