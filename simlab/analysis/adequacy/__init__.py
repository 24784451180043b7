"""Outputs that are adequate or not: posteriors, measurable differences, what a wanted one takes."""
