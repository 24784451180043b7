"""Demonstrate one whole study, from a pilot to a report, in a world whose truth is known and shown at the end."""
