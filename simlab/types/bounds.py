"""Bounds of keys that are numbers: wide enough for every study, and narrow enough that nothing overflows."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from annotated_types import Ge, Gt, Le

Count: TypeAlias = Annotated[int, Ge(1), Le(10**9)]
"""A number of worlds, studies, documents, ...; outcomes are indexed with 32 bits."""

LogSpread: TypeAlias = Annotated[float, Ge(0), Le(1000)]
"""A standard deviation of a logarithm: of lognormal factors with mean 1, all but a vanishing few are 0 from 40 on."""

Spread: TypeAlias = Annotated[float, Ge(0), Le(1e6)]
"""A standard deviation, or a margin, on a scale whose unit is one of the others."""

Value: TypeAlias = Annotated[float, Ge(-1e6), Le(1e6)]
"""A value on such a scale."""

Score: TypeAlias = Annotated[float, Gt(0), Le(1e6)]
"""A positive score, as tables of ratings may hold it."""

Weight: TypeAlias = Annotated[float, Ge(1e-6), Le(1e6)]
"""What one error counts."""

Concentration: TypeAlias = Annotated[float, Ge(1e-9), Le(1e9)]
"""How many observations a prior is worth; fewer or more are all or nothing."""

Price: TypeAlias = Annotated[float, Ge(0), Le(1e9)]
"""What one of something costs."""
