"""Parse the command line of a plan: a pilot or a world, settings, targets, and designs to choose from.

`split_words` tells a file from settings, `settings` writes prices and deadlines as KEY=VALUE, `read` reads the targets
and `read_designs` a file of designs; `measures` and `choose_replicates` return the measures and the replicates that
the targets need.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from simlab.answers.plan import Smallest, Target
from simlab.config import bound_options
from simlab.config.overrides import parse
from simlab.config.precision_targets import parse_seconds
from simlab.measures.by_difference import power_at, power_from
from simlab.measures.labels import LABELS, RANGES
from simlab.messages import clip, show, suggest
from simlab.parts import bind
from simlab.planning.stages import Patience
from simlab.planning.terms import Design
from simlab.store.measures import Measures
from simlab.types import InputError

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
FEWEST_LETTERS = 3
"""Fewest letters by which a day of the week may be abbreviated."""
BESIDE = {"--price": "budget.price_per_rating", "--budget": "budget.total", "--by": "budget.deadline"}
"""Short options, and the key that each stands for."""

USUAL = (Target(measure="power", least=0.8), Target(measure="no_wrong_claim", least=0.95))
FINDING = ("power", "power_from", "power_at", "significant_share")
"""Measures that a study without a claim does not reach."""
BY_SILENCE = ("no_wrong_claim", "srp", "confirmed", "type_s", "family_wise_error", "false_positive")
"""First parts of the names of measures that are at their best where nothing is claimed."""
ALWAYS = ("significant_share", "no_wrong_claim", "money", "ended_as_planned", "ended_by_money", "ended_by_deadline")
ON_A_CLOCK = ("hours", "days", "ended_by_nobody")
CROSSED = ("srp_new_study", "confirmed_new_study", "srp_new_documents")
"""Measures that need other raters, or other documents, for the same systems."""
SAME_AGAIN = ("srp", "srp_given_any", "srp_disjoint", "srp_both_significant", "confirmed")
"""Measures that need the same raters to rate the same documents again."""
RATERS_ANEW, DOCUMENTS_ANEW = ("_new_raters", "_new_study"), ("_new_documents", "_new_study")
WITHIN = 1.6
"""`power_at` is measured on pairs whose true difference is within this factor of the smallest one that matters."""


def split_words(words: Sequence[str]) -> tuple[Path | None, tuple[str, ...]]:
    """Separate the pilot or world, if one is named, from settings; raise InputError for more than one."""
    named = [word for word in words if "=" not in word or Path(word).exists()]
    if len(named) > 1:
        raise InputError(f"{clip(', '.join(named))}: a plan takes one pilot, or one world; name one of them")
    if named and not Path(named[0]).is_file():
        raise InputError(
            f"{clip(named[0])} is no file; name the table of a pilot (.csv), a world that `simlab fit` wrote, or "
            "leave it out and say --systems N"
        )
    return next(map(Path, named), None), tuple(word for word in words if word not in named)


def settings(
    words: Sequence[str], price: float | None, budget: float | None, by: str | None, today: date
) -> tuple[str, ...]:
    """Return KEY=VALUE settings: the `words`, and those of the options `--price` (of a rating), `--budget` and `--by`.

    Raises InputError for a key that is given twice, and for an invalid amount or day. With a date
    as deadline the study starts `today` unless the words give another start.

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
    # Any decimal of 15 digits survives in a double: .1 is written as .1.
    return f"{value:.15g}"


def _deadline(text: str, today: date, *, started: bool) -> list[str]:
    """Return the deadline: hours or days as they are, a date or the next such day of the week from today on."""
    word = text.strip().lower()
    days = [k for k, day in enumerate(DAYS) if len(word) >= FEWEST_LETTERS and day.startswith(word)]
    if days:
        # From tomorrow on: a day of today's name is that of next week.
        ahead = (days[0] - today.weekday() - 1) % len(DAYS) + 1
        return _set_dates((today + timedelta(days=ahead)).isoformat(), today, started=started)
    if word[:1].isdigit() and word[-1:] in "hd":
        return [f"{BESIDE['--by']}={word}"]
    try:
        date.fromisoformat(word[:10])
    except ValueError:
        raise InputError(
            f"--by {show(text)} is no time; write hours (36h), days (5d), a day of the week (friday) or a date "
            f"({today.isoformat()})"
        ) from None
    if not started and date.fromisoformat(word[:10]) < today:
        raise InputError(f"--by {show(text)} is past, today is {today.isoformat()}; give a later day, or hours or days")
    return _set_dates(text.strip(), today, started=started)


def _set_dates(day: str, today: date, *, started: bool) -> list[str]:
    return [f"{BESIDE['--by']}={day}", *([] if started else [f"budget.start={today.isoformat()}"])]


def read_patience(text: str) -> Patience:
    """Read how many studies, or seconds, a plan may take; raise InputError for what is neither.

    >>> str(read_patience("5000")), str(read_patience("90s"))
    ('5,000 studies', '1 min 30 s')
    """
    if re.fullmatch(r"0*[1-9][0-9]{0,11}", text.strip(), re.ASCII):
        return Patience(float(text))
    try:
        return Patience(parse_seconds("--at-most", text), in_seconds=True)
    except InputError as error:
        rule = "must be a number of studies, such as 5000, or a time, such as 90s or 3m, above 0"
        raise InputError(f"--at-most {show(text)} {rule}") from error


def share(option: str, value: float) -> float:
    """Return the value of `option`, named in errors; raise InputError where it is no share between 0 and 1."""
    if not 0 < value < 1:
        raise InputError(f"{option} {value:g} must lie between 0 and 1")
    return value


def read_designs(file: Path) -> list[Design]:
    """Read designs from a file: a table with a key a column, or a YAML list of mappings."""
    where = f"--candidates {clip(file)}"
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{where}: cannot be read; name a .csv or a .yaml file") from error
    rows = _read_table(text, where) if file.suffix.lower() == ".csv" else _read_list(text, where)
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) and row for row in rows):
        raise InputError(f"{where}: holds no designs; give a column, or a line, for each key that differs")
    designs = [tuple((str(key), value) for key, value in row.items()) for row in rows]
    for key, value in itertools.chain.from_iterable(designs):
        if isinstance(value, list | dict):
            raise InputError(f"{where}: {clip(key, 60)} holds several values; a design has one value of a key")
    return designs


def _read_table(text: str, where: str) -> list[dict[str, Any]]:
    """Read a table with a key a column; an empty field sets nothing."""
    rows = list(csv.DictReader(text.splitlines()))
    if any(None in row for row in rows):
        raise InputError(f"{where}: a row has more fields than the first, which names the keys; mend it")
    try:
        return [{key: parse(f"{key}={value}").values[0] for key, value in row.items() if value} for row in rows]
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def _read_list(text: str, where: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(f"{where}: is no YAML; write a list of lines such as `- design.documents: 40`") from error


def read(target: str | None, floor: str | None) -> tuple[Target, ...]:
    """Read targets from `--target M=X[,M=X]` and `--floor`.

    Without a target power is to be .8; `no_wrong_claim` of .95 is added unless it is typed. Raises InputError for an
    unknown measure, one that is no share, and for targets that are met by silence.

    >>> read("power=.7", None)
    (Target(measure='power', least=0.7, floor=False), Target(measure='no_wrong_claim', least=0.95, floor=False))
    """
    wanted = _read_targets("--target", target, floor=False) if target is not None else USUAL[:1]
    wanted += _read_targets("--floor", floor, floor=True) if floor is not None else ()
    named = [target.measure for target in wanted]
    for name in named:
        if named.count(name) > 1:
            raise InputError(f"{name} is a target twice; say once how large it is to be")
    if not any(name in FINDING for name in named):
        silent = next((name for name in named if name.startswith(BY_SILENCE)), named[0])
        raise InputError(
            f"--target {silent}: a study that claims nothing reaches it; add a floor on what is found, such as "
            "--floor power=.5"
        )
    return wanted if "no_wrong_claim" in named else (*wanted, USUAL[1])


def _read_targets(option: str, text: str, *, floor: bool) -> tuple[Target, ...]:
    return tuple(_target(option, part.strip(), floor=floor) for part in text.split(","))


def _target(option: str, text: str, *, floor: bool) -> Target:
    name, equals, written = (part.strip() for part in text.partition("="))
    if not name:
        raise InputError(f"{option} {show(text)}: names no measure; write one with the share wanted, such as power=.8")
    known = [*(measure for measure, span in RANGES.items() if (span.least, span.greatest) == (0.0, 1.0)), "power_at"]
    if name not in bound_options("measure"):
        raise InputError(f"{option} {show(text)}: {show(name)} is no measure; {suggest(name, known)}")
    if name not in known:
        raise InputError(f"{option} {show(text)}: {name} is no share, and targets are shares that are to be large")
    if LABELS.get(name, {}).get("less_is_better"):
        raise InputError(f"{option} {show(text)}: less is better of {name}; write what is to be large, no_wrong_claim")
    try:
        least = float(written) if equals else float("nan")
    except ValueError:
        least = float("nan")
    if not 0 < least < 1:
        raise InputError(f"{option} {show(text)}: say which share it is to be at least, such as {name}=.8")
    return Target(measure=name, least=least, floor=floor)


def measures(targets: tuple[Target, ...], smallest: Smallest, *, clock: bool) -> Measures:
    """Return the measures of a design, as functions of outcomes, by name: targets and others (`clock`: hours, too).

    `power` is that of the differences that matter, `power_at` that of exactly the smallest of them.
    """
    options: Mapping[str, Any] = bound_options("measure")
    names = dict.fromkeys([*(target.measure for target in targets), *ALWAYS, *(ON_A_CLOCK if clock else ())])
    by_name = {name: bind(options[name]) for name in names}
    matters = partial(power_from, smallest=smallest.value)
    return by_name | {
        **{name: matters for name in ("power", "power_from") if name == "power" or name in by_name},
        "power_at": partial(power_at, smallest=smallest.value, within=WITHIN),
    }


class Replicates(NamedTuple):
    """Numbers of replicates in each world: pools of raters, draws of documents, studies with the same of both."""

    pools: int = 1
    draws: int = 1
    studies: int = 1


def choose_replicates(targets: tuple[Target, ...]) -> Replicates:
    """Return how many pools, draws and studies each world needs for the targets to be measured."""
    names = [target.measure for target in targets]
    return Replicates(
        1 + any(name.endswith(RATERS_ANEW) for name in names),
        1 + any(name.endswith(DOCUMENTS_ANEW) for name in names),
        1 + any(name in SAME_AGAIN for name in names),
    )


def cross_measures(measures: Measures) -> Measures:
    """Add the measures that need other raters and other documents for the same systems."""
    options: Mapping[str, Any] = bound_options("measure")
    return {**measures, **{name: bind(options[name]) for name in CROSSED}}
