"""Read what is asked of a plan: a pilot, a world or neither, settings, and a newcomer's words for some of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

from simlab.config.until import seconds_of
from simlab.messages import legible, shown
from simlab.planning.stages import Patience
from simlab.types import InputError

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
FEWEST_LETTERS = 3
"""A day of the week may be cut to so many letters."""
BESIDE = {"--price": "budget.price_per_rating", "--budget": "budget.total", "--by": "budget.deadline"}
"""What newcomers type, and the key that it stands for."""


def apart(words: Sequence[str]) -> tuple[Path | None, tuple[str, ...]]:
    """Tell the pilot or world, if one is named, from settings; raise InputError for more than one."""
    named = [word for word in words if "=" not in word or Path(word).exists()]
    if len(named) > 1:
        raise InputError(f"{legible(', '.join(named))}: a plan takes one pilot, or one world; name one of them")
    if named and not Path(named[0]).is_file():
        raise InputError(
            f"{legible(named[0])} is no file; name the table of a pilot (.csv), a world that `simlab fit` wrote, or "
            "leave it out and say --systems N"
        )
    return next(map(Path, named), None), tuple(word for word in words if word not in named)


def settings(
    words: Sequence[str], price: float | None, budget: float | None, by: str | None, today: date
) -> tuple[str, ...]:
    """Write what was typed as KEY=VALUE, a newcomer's words included.

    Raises InputError for what is said twice, for an amount that is none, and for a day that is none.

    >>> settings(["budget.currency=EUR"], 0.5, 2000, "friday", date(2026, 3, 2))
    ('budget.currency=EUR', 'budget.price_per_rating=0.5', 'budget.total=2000', 'budget.deadline=2026-03-06', \
'budget.start=2026-03-02')
    """
    keys = {word.partition("=")[0] for word in words}
    for option, given in (("--price", price), ("--budget", budget), ("--by", by)):
        if given is not None and BESIDE[option] in keys:
            raise InputError(f"{option} {given} and {BESIDE[option]} say the same; give one of them")
    more = [f"{BESIDE['--price']}={_amount('--price', price)}"] if price is not None else []
    more += [f"{BESIDE['--budget']}={_amount('--budget', budget)}"] if budget is not None else []
    more += _deadline(by, today, started="budget.start" in keys) if by is not None else []
    return (*words, *more)


def _amount(option: str, value: float) -> str:
    if not 0 < value < float("inf"):
        raise InputError(f"{option} {value:g} is no amount of money; give more than 0")
    return f"{value:.15g}"


def _deadline(text: str, today: date, *, started: bool) -> list[str]:
    """Say until when: hours or days as they are, a date or the next such day of the week from today on."""
    word = text.strip().lower()
    days = [k for k, day in enumerate(DAYS) if len(word) >= FEWEST_LETTERS and day.startswith(word)]
    if days:
        ahead = (days[0] - today.weekday() - 1) % len(DAYS) + 1
        return _dated((today + timedelta(days=ahead)).isoformat(), today, started=started)
    if word[:1].isdigit() and word[-1:] in "hd":
        return [f"{BESIDE['--by']}={word}"]
    try:
        date.fromisoformat(word[:10])
    except ValueError:
        raise InputError(
            f"--by {shown(text)} is no time; write hours (36h), days (5d), a day of the week (friday) or a date "
            f"({today.isoformat()})"
        ) from None
    if not started and date.fromisoformat(word[:10]) < today:
        raise InputError(
            f"--by {shown(text)} is past, today is {today.isoformat()}; give a later day, or hours or days"
        )
    return _dated(text.strip(), today, started=started)


def _dated(day: str, today: date, *, started: bool) -> list[str]:
    return [f"{BESIDE['--by']}={day}", *([] if started else [f"budget.start={today.isoformat()}"])]


def patience(text: str) -> Patience:
    """Read how many studies, or seconds, a plan may take; raise InputError for what is neither.

    >>> str(patience("5000")), str(patience("90s"))
    ('5,000 studies', '1 min 30 s')
    """
    if re.fullmatch(r"0*[1-9][0-9]{0,11}", text.strip(), re.ASCII):
        return Patience(float(text))
    try:
        return Patience(seconds_of("--at-most", text), in_seconds=True)
    except InputError as error:
        rule = "must be a number of studies, such as 5000, or a time, such as 90s or 3m, above 0"
        raise InputError(f"--at-most {shown(text)} {rule}") from error


def share(option: str, value: float) -> float:
    """Hold a share against what it can be; raise InputError for what is none."""
    if not 0 < value < 1:
        raise InputError(f"{option} {value:g} must lie between 0 and 1")
    return value
