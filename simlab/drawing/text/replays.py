"""Write the page of a campaign that was replayed: its outcomes, and if they are the bits that its folder keeps.

Call `page` with a `ReplayedCampaign`, which returns the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simlab.answers.verify import ReplayedCampaign
from simlab.drawing.text.tables import align_columns
from simlab.messages import duration, shorten

STATUS = ("carried out", "its design could not be carried out", "its block failed", "not run", "an impossible value")
"""Words for the status of a campaign, by its code."""


def page(campaign: ReplayedCampaign) -> str:
    """Write the campaign's cell, place and key, if its outcomes are the bits that are kept, and the outcomes."""
    where = ", ".join(part for part in (campaign.cell, campaign.at) if part)
    lines = [f"{where} (key {campaign.key[:8]}), in {duration(campaign.seconds)}"]
    lines += [f"failed: {campaign.reason}"] if campaign.failed else []
    lines.append(_describe_comparison(campaign))
    rows = [[name, *_value(name, value)] for name, value in campaign.outcomes.items()]
    return "\n".join([*lines, *([align_columns(("outcome", "value"), rows, last_left=True)] if rows else [])])


def _describe_comparison(campaign: ReplayedCampaign) -> str:
    if campaign.kept is None:
        return "the folder keeps nothing of it"
    if campaign.same is None:
        now = "" if campaign.failed else "it did not fail this time; "
        return f"{now}the folder keeps of it: {campaign.kept}"
    if campaign.same:
        return "the same bits as the folder keeps"
    return f"other bits than the folder keeps: {', '.join(campaign.differs)}"


def _value(name: str, value: Any) -> Iterator[str]:
    if name == "status" and isinstance(value, int) and value < len(STATUS):
        yield f"{value} ({STATUS[value]})"
    elif isinstance(value, list):
        yield f"{len(value)}: {shorten(', '.join(map(_format_short, value)), 70)}"
    else:
        yield _format_short(value)


def _format_short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "-" if value is None else str(value).lower()
