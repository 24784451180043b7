"""Write what a campaign came to when it was carried out again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simlab.answers.verify import ReplayedCampaign
from simlab.drawing.text.tables import aligned
from simlab.messages import duration, shortened

STATUS = ("carried out", "its design could not be carried out", "its block failed", "not run", "an impossible value")


def page(found: ReplayedCampaign) -> str:
    """Write where the campaign lives, whether the bits are those that are kept, and its outcomes."""
    where = ", ".join(part for part in (found.cell, found.at) if part)
    lines = [f"{where} (key {found.key[:8]}), in {duration(found.seconds)}"]
    lines += [f"failed: {found.reason}"] if found.failed else []
    lines.append(_compared(found))
    rows = [[name, *_value(name, value)] for name, value in found.outcomes.items()]
    return "\n".join([*lines, *([aligned(("outcome", "value"), rows, last_left=True)] if rows else [])])


def _compared(found: ReplayedCampaign) -> str:
    if found.kept is None:
        return "the folder keeps nothing of it"
    if found.same is None:
        now = "" if found.failed else "it did not fail this time; "
        return f"{now}the folder keeps of it: {found.kept}"
    if found.same:
        return "the same bits as the folder keeps"
    return f"other bits than the folder keeps: {', '.join(found.differs)}"


def _value(name: str, value: Any) -> Iterator[str]:
    if name == "status" and isinstance(value, int) and value < len(STATUS):
        yield f"{value} ({STATUS[value]})"
    elif isinstance(value, list):
        yield f"{len(value)}: {shortened(', '.join(map(_short, value)), 70)}"
    else:
        yield _short(value)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "-" if value is None else str(value).lower()
