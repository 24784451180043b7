"""Kinds of studies (ratings, comparisons, judgements): how each collects, concludes and is held against the truth."""
