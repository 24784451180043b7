"""Read tables that users bring: ratings (`reading`), comparisons (`preferences`), scores by metrics (`evidence`).

No other room opens such a file.
"""
