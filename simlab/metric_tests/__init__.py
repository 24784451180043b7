"""Test whether metrics notice corruptions of a sentence that matter, and overlook changes of its wording alone.

A trial is an original sentence, its corruption, and references. `files.read` reads trials, `metrics` lists metrics,
`scoring.score` scores both sentences of each trial, and `pass_rates.pass_rates` returns the share of trials that a
metric passes, with its interval. Source: Boag et al. 2016, MUTT: Metric Unit TesTing for Language Generation Tasks.
"""
