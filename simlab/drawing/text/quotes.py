"""Return quotes as text: the money, hours and days that a campaign will take, for whoever pays for it.

`rows` takes the quotes of a forecast (`simlab.engine.campaign_quotes.Quote`), `describe_quote` one of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from simlab.drawing.text.tables import number
from simlab.messages import word
from simlab.types.collection import ALL_CAME, DEADLINE, DECIDED, MONEY, NOBODY

if TYPE_CHECKING:
    from simlab.engine.campaign_quotes import QuantileSpan, Quote

FEW = 20
"""A quote of fewer campaigns has the least and the most of them, as `simlab.engine.campaign_quotes` makes it."""

ENDINGS: Mapping[int, str] = {
    ALL_CAME: "end with all ratings there",
    DECIDED: "end by their decision rule",
    MONEY: "end when the money is spent",
    DEADLINE: "end at the deadline",
    NOBODY: "end with nobody left to work",
}


def rows(quotes: Sequence[Quote]) -> list[list[str]]:
    """Return rows of a table of a forecast: a quote each, and in the last an explanation of the numbers."""
    lines = [["quote" if k == 0 else "", describe_quote(quote)] for k, quote in enumerate(quotes)]
    counts = sorted({quote.campaigns for quote in quotes if quote.campaigns})
    if counts:
        n = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        ends = (
            "5 % stay below the range, 5 % above" if counts[0] >= FEW else "the range is the least and the most of them"
        )
        lines.append(["", f"(the middle of {n} campaigns, other people in each; {ends})"])
    return lines


def describe_quote(quote: Quote) -> str:
    """Write what a campaign takes and how it ends.

    A newcomer reads `1,050 EUR (980 to 1,120), 35 h of work (28 to 46), 6.2 days (4.0 to 9.0); .12 of campaigns end at
    the deadline, .88 end with all ratings there`.
    """
    where = ", ".join(f"{name}={word(value)}" for name, value in quote.at.items())
    if not quote.campaigns:
        tried = f"none of {quote.failed} campaigns could be carried out: " if quote.failed else "none: "
        return f"{where + ': ' if where else ''}{tried}{quote.why}"
    parts = [amount(quote.money, quote.currency or "in money")]
    parts += [amount(quote.hours, "h of work")] if quote.hours else []
    parts += [amount(quote.days, "days")] if quote.days else []
    text = "; ".join([", ".join(parts), *_describe_endings(quote.ended)])
    why = f" ({quote.why})" if quote.why else ""
    failed = f"; {quote.failed} more campaigns failed{why}" if quote.failed else ""
    return f"{where + ': ' if where else ''}{text}{failed}"


def _describe_endings(shares: Mapping[int, float]) -> list[str]:
    """State how campaigns end; nothing where their study does not tell."""
    if len(shares) == 1:
        return [f"all campaigns {ENDINGS[code]}" for code in shares]
    endings = [f"{number(share, 2)} {ENDINGS[code]}" for code, share in sorted(shares.items())]
    return [f"of campaigns {', '.join(endings)}"] if endings else []


def amount(span: QuantileSpan, unit: str) -> str:
    """Return the middle of a span with its range and unit; only the middle where all campaigns take the same."""
    digits = _digits(span.middle)
    low, middle, high = (f"{value:,.{digits}f}" for value in span)
    return f"{middle} {unit}" if low == middle == high else f"{middle} {unit} ({low} to {high})"


def _digits(middle: float) -> int:
    """Show two digits at least: 6.2 days, 35 hours, 1,050 euros."""
    return 0 if middle >= 10 else 1 if middle >= 1 else 2
