"""Hand out the constants and nodes with which measurable differences are integrated, for programs beside this one."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr

from simlab.analysis.adequacy import inverse, likelihood, quadrature
from simlab.analysis.adequacy import nodes as placing
from simlab.analysis.adequacy.plans import critical


def rules(level: float = 0.05) -> dict[str, Any]:
    """Return what a single setting of `measurable_difference` is computed with, as plain numbers and lists.

    `refining` and `panels` are the quantiles at which panels over alpha are cut, `panel` the rule within one, `outer`
    the number of Gauss-Jacobi nodes and `inner` the rule over rho, eta and q.

    >>> rules()["cells"], round(rules()["critical"], 2), len(rules()["panels"])
    (64, 1.96, 15)
    """
    return {
        "critical": critical(level),
        "cells": placing.CELLS,
        "rounds": placing.ROUNDS,
        "temper": placing.TEMPER,
        "refining": _cuts(placing.CELLS),
        "panels": _cuts(quadrature.PANELS),
        "panel": _rule(quadrature.PER_PANEL),
        "outer": likelihood.SIZES[0],
        "inner": _rule(likelihood.SIZES[1]),
        "tail": likelihood.TAIL,
        "most": inverse.MOST,
    }


def _cuts(n: int) -> list[float]:
    return [float(p) for p in ndtr(np.linspace(-placing.REACH, placing.REACH, n + 1))]


def _rule(k: int) -> dict[str, list[float]]:
    node, weight = placing.legendre(k)
    return {"node": node.tolist(), "weight": weight.tolist()}
