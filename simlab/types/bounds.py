"""Types of config keys that are numbers, with bounds: wide enough for every study, so narrow that nothing overflows."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from annotated_types import Ge, Gt, Le

Count: TypeAlias = Annotated[int, Ge(1), Le(10**9)]
"""A number of worlds, studies, documents, ...; outcomes are indexed with 32 bits."""

LogSpread: TypeAlias = Annotated[float, Ge(0), Le(1000)]
"""A standard deviation of a logarithm: of lognormal factors with mean 1, all but a vanishing few are 0 from 40 on."""

Spread: TypeAlias = Annotated[float, Ge(0), Le(1e6)]
"""A standard deviation, or a margin, on a linear scale, such as that of scores or of a latent quality."""

Value: TypeAlias = Annotated[float, Ge(-1e6), Le(1e6)]
"""A value on such a scale."""

Score: TypeAlias = Annotated[float, Gt(0), Le(1e6)]
"""A positive score, as tables of ratings may hold it."""

Weight: TypeAlias = Annotated[float, Ge(1e-6), Le(1e6)]
"""Points that one error costs."""

Concentration: TypeAlias = Annotated[float, Ge(1e-9), Le(1e9)]
"""Concentration of a Beta or Dirichlet distribution: how many observations it is worth."""

Price: TypeAlias = Annotated[float, Ge(0), Le(1e9)]
"""Price of one answer, hour of work, rater or call of the metric."""
