"""Means of judgements that a metric corrects: estimators, intervals, planning, stopping."""
