"""Test whether metrics notice what was corrupted in a sentence, and overlook what was only said otherwise.

A trial is an original sentence, its corruption, and references (`trials`, read by `files`). Metrics
(`metrics`) score both sentences (`scoring`); what share of the trials passes, and how sure that is, says `pass_rates`.
Source: Boag et al. 2016, MUTT: Metric Unit TesTing for Language Generation Tasks.
"""
