"""Fit laws of ratings on a scale: points, normal scores, categories, yes and no.

`laws` lists them as `FittableLaw`; `fitting.fit` fits one to a table, and returns `Fitted`, draws of parameters.
"""

from simlab.fitting.scales.laws import BINARY as BINARY
from simlab.fitting.scales.laws import GAUSSIAN as GAUSSIAN
from simlab.fitting.scales.laws import NORMAL_SCORES as NORMAL_SCORES
from simlab.fitting.scales.laws import ORDINAL as ORDINAL
