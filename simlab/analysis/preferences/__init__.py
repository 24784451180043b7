"""Outputs compared pair by pair: posteriors, evidence that is looked at again, partial orders."""
