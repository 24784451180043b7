"""Write a plan on one page for somebody who has never seen one: what to buy, beside what, and what would change it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from simlab.drawing.text import plan_designs as designs
from simlab.drawing.text import plan_words as words
from simlab.drawing.text.conclusion_numbers import filled
from simlab.drawing.text.fitted_world import WIDTH, line
from simlab.drawing.text.tables import aligned, number
from simlab.messages import duration, several
from simlab.planning.answered import Answer, Figures, Row
from simlab.planning.figures import first_target

MOST_LINES = 25
USUAL = ("power", "no_wrong_claim", "srp_new_study")
MOST_MEASURES, MOST_LABEL, MOST_FLIPS = 3, 38, 3
NEEDED = 9
"""Parts of this weight are never left out."""


class Part(NamedTuple):
    """Hold lines of a page, and how much they matter: the least are left out first where there is no room."""

    lines: list[str]
    weight: int = NEEDED


def page(answer: Answer, out: Path | None = None, following: str = "", digest: str = "") -> str:
    """Write a plan on 25 lines of 100 columns; what finds no room there stands in plan.json.

    `out` is the folder that was written, `following` the one next command, `digest` that of the frozen study.
    """
    parts = [
        Part(list(_head(answer))),
        Part([""], 2),
        Part(_headline(answer)),
        *_table(answer),
        *(Part(_paragraph(text), weight) for text, weight in _below(answer) if text),
        *_changes(answer),
        *(Part(_paragraph(text), weight) for text, weight in _robust(answer) if text),
        Part([""], 1),
        Part(list(_end(out, following, digest))),
    ]
    return "\n".join(text for part in _fitting(parts) for text in part.lines)


def _fitting(parts: Sequence[Part]) -> list[Part]:
    """Leave out what matters least until the page is short enough."""
    kept = list(parts)
    while sum(len(one.lines) for one in kept) > MOST_LINES:
        least = min(kept, key=lambda one: one.weight)
        if least.weight >= NEEDED:
            break
        # Of what matters equally the last goes first.
        kept.pop(max(k for k, one in enumerate(kept) if one.weight == least.weight))
    return kept


def _paragraph(text: str) -> list[str]:
    return filled(text).splitlines()


def _head(answer: Answer) -> Iterator[str]:
    ground, wanted = answer.ground, answer.wanted
    assumed = f"; assumed: {', '.join(ground.assumed)}" if ground.assumed else ""
    yield from _cut(line("Pilot", ground.read or "none yet: people and scores are those of the world below"), 1)
    yield from _cut(line("World", ground.world + assumed), 2)
    why = f" ({words.smallest(wanted)}: {wanted.smallest.why})"
    yield from _cut(line("Wanted", words.targets(wanted) + why), 2)
    yield from _cut(line("Limits", words.limits(wanted, ground.raters)), 1)
    took = f", {duration(answer.seconds)}" if math.isfinite(answer.seconds) else ""
    sure = f"; right with probability {number(answer.probability, 2)}" if math.isfinite(answer.probability) else ""
    yield line("Search", f"{several(answer.designs, 'design')}, {answer.campaigns:,} simulated studies{took}{sure}")


def _cut(text: str, most: int) -> list[str]:
    """Keep the first lines of a text."""
    lines = text.splitlines()
    if len(lines) > most:
        lines = [*lines[: most - 1], lines[most - 1][: WIDTH - 3].rstrip(" ,;") + "..."]
    return lines


def _headline(answer: Answer) -> list[str]:
    said = designs.sentence(answer.advice.design, answer.config, answer.ground.systems)
    whom = " for these raters" if answer.ground.these_raters else ""
    if answer.reached:
        return _paragraph(f"Buy{whom}: {said}")
    return _paragraph(f"Nothing within the limits reaches the targets{whom}. Best: {said}")


def _table(answer: Answer) -> Iterator[Part]:
    """Write the rows of designs; runner-ups, the last ones first, may be left out."""
    names = _measures(answer)
    accounts = [name for name in ("money", "hours", "days") if name in answer.advice.figures]
    header = ["", *map(words.heading, names), *(_account(name, answer) for name in accounts)]
    rows = [(_label(row, answer), row.figures) for row in answer.rows]
    if answer.all_new:
        rows.insert(1, ("  the same, for other raters", answer.all_new))
    cells = [[label[:MOST_LABEL], *_cells(held, names, accounts)] for label, held in rows]
    top, *lines = aligned(header, cells).splitlines()
    kept = 2 if answer.all_new else 1
    yield Part([top, *lines[:kept]])
    for row, text in zip(answer.rows[1:], lines[kept:], strict=True):
        yield Part([text], 6 if row.role == "same_money" else 8)


def _measures(answer: Answer) -> list[str]:
    """Name the measures shown: targets before floors, then what belongs beside them."""
    targets = sorted(answer.wanted.targets, key=lambda one: one.floor)
    names = dict.fromkeys([one.measure for one in targets] + list(USUAL))
    return [name for name in names if name in answer.advice.figures][:MOST_MEASURES]


def _account(name: str, answer: Answer) -> str:
    return (answer.wanted.limits.currency or "money") if name == "money" else name


def _label(row: Row, answer: Answer) -> str:
    if row.role == "advice":
        return "this design" if answer.reached else "the best"
    said = designs.short(row.design, answer.advice.design)
    if row.role == "most":
        return f"most you can do: {said}"
    gap = f" ({row.gap:+.0%})" if abs(row.gap) > words.SMALL_GAP else ""
    return f"same money: {said}{gap}"


def _cells(held: Figures, names: Sequence[str], accounts: Sequence[str]) -> list[str]:
    shares = [words.share(held[name]) if name in held else "-" for name in names]
    return shares + [_amount(held, name) for name in accounts]


def _amount(held: Figures, name: str) -> str:
    """Write money, hours or days; with an error where that is not small."""
    if name not in held or not math.isfinite(held[name].value):
        return "-"
    one = held[name]
    digits = 1 if name == "days" and one.value < 10 else 0
    error = one.mcse if one.mcse > words.TINY * abs(one.value) and one.mcse >= 0.5 * 10.0**-digits else 0.0
    return f"{one.value:,.{digits}f}" + (f" ± {error:,.{digits}f}" if error else "")


def _below(answer: Answer) -> Iterator[tuple[str, int]]:
    """Say what the rows are, each with how much it matters."""
    n = len(answer.rows)
    met = f"All {n} met the same {answer.worlds:,} worlds" if n > 1 else f"From {answer.worlds:,} worlds"
    same = f"{met}, which the search had not seen; ±: standard error of the simulation."
    if not answer.reached:
        yield f"{words.missed(answer)} {words.binding(answer)}", NEEDED
        yield words.remedies(answer), NEEDED
        yield same, 7
    else:
        yield f"{words.binding(answer)} {same}", NEEDED
    yield f"{'; '.join(words.meaning(name, answer.wanted) for name in _measures(answer))}.", 8
    yield _few_raters(answer), NEEDED
    yield _at_smallest(answer), 5
    yield _less(answer), 4
    yield _loads(answer), 7
    yield words.other_money(answer), 3


def _few_raters(answer: Answer) -> str:
    """Say whom the targets are for where there are too few raters to speak of others, and how many would do."""
    if not answer.ground.these_raters:
        return ""
    said = f"{several(answer.ground.raters, 'rater')} are too few to speak of others: what is found holds for them"
    pool = answer.pool
    if pool is None:
        return f"{said}."
    if pool.raters is None or pool.design is None:
        return f"{said}; no number of raters that was tried would do for others."
    measure = first_target(answer.wanted).measure
    finds = f", {words.heading(measure)} {words.share(pool.figures[measure])}" if measure in pool.figures else ""
    return f"{said}; for others it takes {several(pool.raters, 'rater')} ({designs.short(pool.design)}{finds})."


def _at_smallest(answer: Answer) -> str:
    held = answer.advice.figures.get("power_at")
    return (
        ""
        if held is None
        else f"Of differences of exactly {words.smallest(answer.wanted)} it finds {words.share(held)}."
    )


def _less(answer: Answer) -> str:
    """Say the paired differences of the runner-ups to the advice."""
    measure = first_target(answer.wanted).measure
    said = [
        f"{designs.short(row.design, answer.advice.design)} {number(one.value, 2, sign=True)} "
        f"± {number(one.mcse, 2)} {words.span(one, sign=True)}"
        for row in answer.rows[1:]
        if row.role == "same_money" and (one := row.less.get(measure)) is not None
    ]
    return f"Beside this design, 95 %: {'; '.join(said)} ({words.heading(measure)})." if said else ""


def _loads(answer: Answer) -> str:
    """Say what one rating covers, and how much each rater does."""
    if (held := answer.loads) is None:
        return ""
    covers = f"{held.covers[:1].upper()}{held.covers[1:]}: " if held.covers else ""
    return (
        f"{covers}{held.ratings:,.0f} ratings of {held.outputs:,.0f} outputs, {held.per_rater:,.0f} for each of "
        f"{several(held.raters, 'rater')} (at most {held.most:,.0f}), on {held.per_rater_documents:,.0f} documents."
    )


def _changes(answer: Answer) -> Iterator[Part]:
    said = list(words.flips(answer))[:MOST_FLIPS]
    if not said:
        return
    yield Part([""], 2)
    yield Part(["This advice changes if"], 8)
    for k, (what, then) in enumerate(said):
        yield Part(_paragraph_of_flip(what, then), 8 if k == 0 else 6 - k)


def _paragraph_of_flip(what: str, then: str) -> list[str]:
    text = f"  {what}  {then}"
    return [text] if len(text) <= WIDTH else [f"  {what}"[:WIDTH], f"    {then}"[:WIDTH]]


def _robust(answer: Answer) -> Iterator[tuple[str, int]]:
    if (held := answer.robust) is None:
        return
    span = f"({number(held.low, 2)} to {number(held.high, 2)})"
    measure = words.heading(first_target(answer.wanted).measure)
    yield (
        f"In {number(held.share, 2)} {span} of {held.draws} {held.source} it reaches its targets ({measure} "
        f"{number(held.q05, 2)} or more in 95 %); it costs {_percent(held.regret)} ({_percent(held.regret_low)} to "
        f"{_percent(held.regret_high)}) more than the best in each.",
        7,
    )
    yield held.more, 6


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %" if math.isfinite(value) else "?"


def _end(out: Path | None, following: str, digest: str) -> Iterator[str]:
    if out is not None:
        frozen = f"study.yaml (frozen, {digest[:6]})" if digest else "study.yaml"
        yield f"wrote {out}/: {frozen}, plan.json, front.csv, front.png, paragraph.md"
    if following:
        yield f"next: {following}"
