"""Keep what all studies of a world share, so that the next block, or the next cell, need not work it out again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from simlab.studies.kind import Kind
from simlab.studies.sealing import sealed
from simlab.studies.worlds import address
from simlab.types import Place, World

KEPT = 4

_layouts: OrderedDict[tuple[Any, ...], Any] = OrderedDict()


def laid_out(kind: Kind, config: Mapping[str, Any], prepared: Any, world: World, place: Place) -> Any:
    """Return the layout of a world under a design: one of the last few, else worked out now."""
    key = (kind.question, address(config), place[:3], kind.same_layout(prepared))
    if key in _layouts:
        _layouts.move_to_end(key)
        return _layouts[key]
    laid = sealed(kind.lay(prepared, world, place))
    _layouts[key] = laid
    if len(_layouts) > KEPT:
        _layouts.popitem(last=False)
    return laid


def forget() -> None:
    """Let the next block work its layout out anew."""
    _layouts.clear()
