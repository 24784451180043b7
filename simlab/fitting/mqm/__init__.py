"""Fit the law of MQM error counts to a pilot."""

from simlab.fitting.mqm.law import MQM as MQM
