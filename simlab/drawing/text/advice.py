"""Write whether the designs that were named from pilots were the right ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simlab.drawing.text import tables
from simlab.messages import several

if TYPE_CHECKING:
    from simlab.fitting.backtest.advised import Rule
    from simlab.fitting.backtest.advising import Advised

RULES = {
    "advice": "advice",
    "all once": "all documents once",
    "half twice": "half of them twice",
    "ungrouped": "ungrouped",
    "best": "best, afterwards",
}
SHOWN = 3
"""So many designs of a rule are written out."""


def page(rules: Sequence[Rule], rows: Sequence[Advised], law: str, documents: tuple[int, int]) -> str:
    """Write what each rule named and how it did on the ratings that the pilots did not see.

    `documents` counts those of a pilot and those of the table.
    """
    return "\n\n".join([headline(rules[0], rows, documents), _table(rules), "\n".join(notes(rules, rows, law))])


def headline(advice: Rule, rows: Sequence[Advised], documents: tuple[int, int]) -> str:
    """Say how far the design that was named falls short of the best, in two lines."""
    within = f"{tables.measured(advice.shortfall, advice.shortfall_mcse, 3)} fewer of the pairs"
    count = len({row[1:6] for row in rows})
    pilot, whole = documents
    return (
        f"Named from {pilot} of {whole} documents, the design tells {within} apart\n"
        f"than the best of {several(count, 'design')} of equal cost does on the others "
        f"(mean over {several(advice.splits, 'split')})."
    )


def _table(rules: Sequence[Rule]) -> str:
    header = ["rule", "design", "named", "significant"]
    lines = [line for rule in rules for line in _lines(rule)]
    return tables.aligned([*header, "confirmed", "shortfall"], lines, left=2)


def _lines(rule: Rule) -> list[list[str]]:
    shown = [(design(one), f"{n}/{rule.splits}") for one, n in rule.named[:SHOWN]]
    numbers = [
        tables.measured(rule.significant_share, rule.significant_share_mcse, 2),
        tables.number(rule.confirmed, 3),
        tables.measured(rule.shortfall, rule.shortfall_mcse, 3),
    ]
    blank = [""] * len(numbers)
    return [[RULES[rule.rule] * (k == 0), *one, *(blank if k else numbers)] for k, one in enumerate(shown)]


def design(named: tuple[str, str, int, int]) -> str:
    """Write a design: its grouping, documents and ratings of each output, and how its scores are normalised."""
    grouping, normalization, documents, ratings = named
    return f"{grouping} {documents} x {ratings} {normalization}"


def notes(rules: Sequence[Rule], rows: Sequence[Advised], law: str) -> list[str]:
    """Say what designs and rules are, and what the numbers rest on."""
    advice = rules[0]
    unsure = f"In {advice.splits - advice.kept} of {several(advice.splits, 'split')}"
    lacking = [RULES[name] for name in RULES if name not in {rule.rule for rule in rules}]
    cut = sum(max(len(rule.named) - SHOWN, 0) for rule in rules)
    return [
        "Designs: grouping, documents x ratings of each output, normalization.",
        f"Law: {law}. Named is the design with the largest predicted share of significant pairs among those of",
        "which .9 of the claims or more are predicted to be confirmed; the best is that by what was observed.",
        "Rules of thumb rate side by side where they do not say otherwise, and leave scores as they are.",
        "Errors are over splits, which share one table. What tells more pairs apart than the best, but is",
        "confirmed too seldom, falls short by 0.",
        *([f"{unsure} fewer than .9 of the claims were confirmed."] if advice.kept < advice.splits else []),
        *([f"{', '.join(lacking)}: left out, since nobody else could repeat it."] if lacking else []),
        *(["Studies are compared with studies of other documents of the table."] if _others(rows) else []),
        *([f"{several(cut, 'design')} named less often: not shown."] if cut else []),
        "--format csv or json has every split and candidate.",
    ]


def _others(rows: Sequence[Advised]) -> bool:
    return any(row.repetition == "other documents" for row in rows)
