"""Conclude from tables of judgements: outputs, each scored by humans, by metrics or by both."""
