"""Return what a campaign takes as text: money, hours of work, days, answers that came, and how it ended.

`split_accounts` picks the measures that `account` writes. A record is a row of `view.rows`, one cell of a store: beside
a measure `m` it has `m_mcse`, `m_low`, `m_high` and `m_clusters`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from simlab.drawing.reports.cells import write_value
from simlab.drawing.text.tables import Record, keep_known_error, list_under_title, number
from simlab.measures.labels import ACCOUNTS

TITLE = "What a campaign takes, on average (± Monte-Carlo standard error)"
ENDINGS = {
    "ended_as_planned": "as planned",
    "ended_by_money": "by the money",
    "ended_by_deadline": "by the deadline",
    "ended_by_nobody": "with nobody left",
}
"""How campaigns end, in the words of a sentence that begins with `campaigns ended`."""


def split_accounts(names: Sequence[str], record: Record) -> tuple[list[str], list[str]]:
    """Split names of measures into those of what a campaign takes and all others; where some lack, all are others."""
    known = [name for name in names if name in ACCOUNTS]
    if not {"money", "planned", "received", "completed_share"} <= set(known) or not has_value(
        record, "completed_share"
    ):
        return [], list(names)
    return known, [name for name in names if name not in ACCOUNTS]


def account(record: Record, names: Sequence[str], answers: str, currency: str | None) -> str:
    """Write the measures `names` of what a campaign takes, all systems together.

    `answers` is the word for what people give (ratings, comparisons), `currency` the name of the money, if it has one.
    """
    rows = [["money", f"{amount(record, 'money')}{f' {currency}' if currency else ''}"]]
    if has_value(record, "hours"):
        rows.append(["work", f"{amount(record, 'hours')} hours, of all people together"])
    if has_value(record, "days"):
        rows.append(["time", f"{amount(record, 'days')} days until the campaign ends, nights included"])
    rows.append([answers, _answers(record)])
    if ended := _describe_endings(record, names):
        rows.append(["campaigns", f"ended {ended}"])
    return list_under_title(TITLE, rows)


def has_value(record: Record, name: str) -> bool:
    """True if a record has a value of a measure."""
    return math.isfinite(record.get(name, math.nan))


def amount(record: Record, name: str) -> str:
    """Write a quantity with its Monte-Carlo standard error, to one digit of that; `?` where the error is not known."""
    error = keep_known_error(
        record[f"{name}_mcse"], (record[f"{name}_low"], record[f"{name}_high"]), record[f"{name}_clusters"]
    )
    if error == 0:
        return quantity(record[name], 0)
    return f"{quantity(record[name], error)} ± {'?' if math.isnan(error) else quantity(error, error)}"


def quantity(value: float, error: float) -> str:
    """Write a number with thousands set apart, and as many decimals as an error of that size leaves.

    >>> quantity(1068.4, 17.2), quantity(35.23, 0.81), quantity(0.5, 0.04), quantity(12.5, 0), quantity(12.0, 0)
    ('1,068', '35.2', '.50', '12.50', '12')
    """
    if not error > 0:
        digits = 0 if value == round(value) or abs(value) >= 1000 else 2
    else:
        digits = min(max(math.ceil(-math.log10(error)), 0), 2)
    return f"{value:,.{digits}f}" if abs(value) >= 1000 else number(value, digits)


def _answers(record: Record) -> str:
    share = "all" if record["received"] == record["planned"] else write_value(record, "completed_share")
    parts = [f"{quantity(record[name], 1)} {word}" for name, word in (("lost", "lost"), ("open", "left open"))]
    return f"{amount(record, 'planned')} planned: {amount(record, 'received')} came ({share}), {', '.join(parts)}"


def _describe_endings(record: Record, names: Sequence[str]) -> str:
    """State what ended campaigns: the shares that are not nothing, and the first in any case."""
    known = [name for name in ENDINGS if name in names and has_value(record, name)]
    shown = [name for name in known if name == "ended_as_planned" or record[name] > 0]
    return ", ".join(f"{ENDINGS[name]} {write_value(record, name)}" for name in shown)
