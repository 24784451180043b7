"""Fit the law of MQM error counts to a pilot.

`law.MQM` is the law as a `FittableLaw`; `pilot` makes the pilot, `fast.fit` fits.
"""

from simlab.fitting.mqm.law import MQM as MQM
