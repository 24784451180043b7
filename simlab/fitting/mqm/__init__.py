"""Fit the law of MQM error counts to a pilot."""
