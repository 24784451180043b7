"""Say where the studies of a test live."""

from __future__ import annotations

from simlab.types import Place


def places(world: int, studies: int, first: int = 0) -> list[Place]:
    """List consecutive studies of a world."""
    return [Place(world, study=study) for study in range(first, first + studies)]
