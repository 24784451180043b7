"""Write a plan on one page for somebody who has never seen one: what to buy, beside what, and what would change it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simlab.answers.plan import Robust, StudyPlan
from simlab.drawing.text import paragraphs
from simlab.drawing.text import plan_designs as designs
from simlab.drawing.text import plan_words as words
from simlab.drawing.text.conclusion_numbers import HELD, filled
from simlab.drawing.text.plan_rows import measures, table
from simlab.drawing.text.tables import WIDTH, line, number
from simlab.messages import several

MOST_LINES = 25
RUNNERS, FLIPS = (8, 7, 4), (7, 5, 4)
"""How much runner-ups and what changes the advice matter, in their order."""
NEEDED = 9
"""Parts of this weight are never left out."""


class Piece(NamedTuple):
    """Hold a line, or a sentence that follows the one before it (`joined`), and how much it matters.

    What matters least is left out first where there is no room.
    """

    text: str
    weight: int = NEEDED
    joined: bool = False


def page(
    answer: StudyPlan, out: Path | None = None, following: str = "", config: Mapping[str, Any] | None = None
) -> str:
    """Write a plan on 25 lines of 100 columns; what finds no room there stands in plan.json.

    `out` is the folder that was written, `following` the one next command, `config` the composed study.
    """
    pieces = [
        # What a plan stands on is never cut: a long head makes a longer page.
        *(Piece(text) for text in _head(answer, config or {})),
        Piece("", 3),
        Piece(headline(answer)),
        *(Piece(text) for text in (sizes(answer), power(answer)) if text),
        *_table(answer),
        *_below(answer),
        Piece("", 2),
        *_changes(answer),
        *_robust(answer),
        Piece("", 1),
        *(Piece(text) for text in _end(out, following, answer.digest)),
    ]
    return "\n".join(_fitting(pieces))


def _fitting(pieces: Sequence[Piece]) -> list[str]:
    """Leave out what matters least until the page is short enough; of what matters equally the last goes first."""
    kept = list(pieces)
    while len(lines := _lines(kept)) > MOST_LINES:
        least = min(one.weight for one in kept)
        if least >= NEEDED:
            break
        kept.pop(max(k for k, one in enumerate(kept) if one.weight == least))
    return lines


def _lines(pieces: Sequence[Piece]) -> list[str]:
    """Join sentences to paragraphs, and break these to the width; two blank lines are one."""
    paragraphs: list[str] = []
    for k, one in enumerate(pieces):
        if one.joined and k and pieces[k - 1].joined:
            paragraphs[-1] += f" {one.text}"
        elif one.text or (paragraphs and paragraphs[-1]):
            paragraphs.append(one.text)
    return [text for one in paragraphs for part in one.split("\n") for text in _broken(part)]


def _broken(text: str) -> list[str]:
    # A value stays with its error, a command line in one piece: it is typed as it stands.
    if text.startswith("next: "):
        return [text]
    return filled(text.replace(" ± ", f"{HELD}±{HELD}")).splitlines() if len(text) > WIDTH else [text]


def _head(answer: StudyPlan, config: Mapping[str, Any]) -> Iterator[str]:
    wanted = answer
    assumed = f"; assumed: {', '.join(answer.assumed)}" if answer.assumed else ""
    yield line("Pilot", answer.pilot or words.NO_PILOT)
    yield line("World", answer.world + assumed)
    yield line("Wanted", words.targets(wanted))
    if config:
        family = None if answer.family is None else (answer.family.name, answer.family.against)
        yield line("Claims", paragraphs.promised(config, family))
    yield line("Limits", words.limits(wanted, answer.raters))
    told = f"{several(answer.designs, 'design')}, {answer.campaigns:,} simulated studies{_sure(answer)}"
    yield line("Search", told)


def _sure(answer: StudyPlan) -> str:
    """Say how sure the choice is, and what ended the search where that decided."""
    if answer.reached and math.isfinite(answer.cheapest):
        return f"; no other is 5 % cheaper with probability {number(answer.cheapest, 2)}"
    if answer.open is not None or not math.isfinite(answer.probability):
        return f" ({answer.ended})" if answer.ended else ""
    said = f"; that none reaches the targets is right with probability {number(answer.probability, 2)}"
    return said if answer.probability >= answer.confidence or not answer.ended else f"{said} ({answer.ended})"


def headline(answer: StudyPlan) -> str:
    """Say which design is to be bought, or which is the best where none reaches the targets."""
    said = designs.sentence(answer.design, answer.settings, answer.systems)
    whom = " for these raters" if answer.these_raters else ""
    if answer.reached:
        return f"Buy{whom}: {said}"
    if answer.open is not None:
        low, high = answer.open
        size = f"{low:,} to {high:,} documents" if low < high else several(low, "document")
        return f"Open{whom}: {size} of this kind may reach the targets. Nearest so far: {said}"
    return f"Nothing within the limits reaches the targets{whom}. Best: {said}"


def _table(answer: StudyPlan) -> Iterator[Piece]:
    """Write the rows of designs; runner-ups, the last ones first, may be left out."""
    lines, kept, weights = table(answer), 3 if answer.new_figures else 2, iter(RUNNERS)
    yield from map(Piece, lines[:kept])
    for row, text in zip(answer.rows[1:], lines[kept:], strict=True):
        yield Piece(text, next(weights) if row.role == "same_money" else 8)


def _below(answer: StudyPlan) -> Iterator[Piece]:
    """Say what the rows are, each sentence with how much it matters."""
    if answer.open is not None:
        yield Piece("More patience decides: the command below goes on where this one ended.")
    elif not answer.reached:
        yield from _joined((words.missed(answer), NEEDED), (words.binding(answer), NEEDED))
        yield Piece(words.remedies(answer))
    yield from _joined((few_raters(answer), NEEDED))
    yield Piece(f"{'; '.join(words.meaning(name, answer) for name in measures(answer))}.", 8)
    yield from _joined(
        (words.binding(answer) if answer.reached or answer.open else "", 7),
        (_met(answer), 7),
        (_times(answer), 6),
        (_less(answer), 5),
        (words.other_money(answer), 4),
        outdone(answer),
    )
    yield from _joined((work(answer), 5))


def _joined(*sentences: tuple[str, int]) -> Iterator[Piece]:
    yield from (Piece(text, weight, joined=True) for text, weight in sentences if text)


def _met(answer: StudyPlan) -> str:
    held = answer.figures.values()
    worlds, studies = (max((getattr(one, name) for one in held), default=0) for name in ("worlds", "studies"))
    who = "All rows met" if len(answer.rows) > 1 else "This design met"
    each = f" ({studies:,} studies)" if studies > worlds else ""
    bound = (
        "; ≥: 95 % bound"
        if any(
            "≥" in words.share(row.figures[name])
            for row in answer.rows
            for name in measures(answer)
            if name in row.figures
        )
        else ""
    )
    return f"{who} the same {several(worlds, 'world')}{each}, new to the search; ±: standard error{bound}."


def _times(answer: StudyPlan) -> str:
    """Say what a times sign between numbers of documents and ratings means, where one stands."""
    for row in answer.rows[1:]:
        said = designs.short(row.design, answer.design).rpartition(", ")[2]
        if " x " in said:
            return f"{said}: {designs.of_size(row.design)}."
    return ""


def few_raters(answer: StudyPlan) -> str:
    """Say whom the targets are for where there are too few raters to speak of others, and how many would do."""
    if not answer.these_raters:
        return ""
    said = f"{several(answer.raters, 'rater')} are too few to speak of others: what is found holds for them"
    pool = answer.pool
    if pool is None or _holds_for_others(answer):
        return f"{said}."
    if pool.raters is None:
        return f"{said}; no number of raters that was tried would do for others."
    measure = answer.first_target.measure
    # The row for other raters has their number already; a second one, of another pool, reads like a contradiction.
    own = pool.figures.get(measure)
    told = f", {words.heading(measure)} {words.share(own)}" if own is not None and not answer.new_figures else ""
    return f"{said}; for others it takes {several(pool.raters, 'rater')} ({designs.of_size(pool.design)}{told})."


def sizes(answer: StudyPlan) -> str:
    """Say what a design takes, from documents to money."""
    held, figures = answer.loads, answer.figures
    size = answer.sizes.documents
    said = [several(size, "document")] if size else []
    if held is not None:
        said += [f"{held.outputs:,.0f} outputs", f"{held.ratings:,.0f} ratings"]
        said += [f"{held.per_rater:,.0f} by each of {several(held.raters, 'rater')}"]
    if "hours" in figures and math.isfinite(figures["hours"].value):
        said += [f"{figures['hours'].value:,.0f} hours"]
    if "money" in figures and math.isfinite(figures["money"].value):
        said += [words.money(figures["money"].value, answer)]
    # A number stays with its unit where the line breaks.
    return line("Takes", " -> ".join(one.replace(" ", "\xa0") for one in said)).replace("\xa0", " ") if said else ""


def power(answer: StudyPlan) -> str:
    """Say what a design finds of differences from the smallest on, of the smallest alone, and how far that holds."""
    held, least = answer.figures, words.smallest(answer)
    said = [f"{words.share(held['power'])} of differences of {least} or more"] if "power" in held else []
    said += [f"{words.share(held['power_at'])} of exactly {least}"] if "power_at" in held else []
    if (robust := answer.robust) is not None:
        span = f"({number(robust.low, 2)} to {number(robust.high, 2)})"
        said += [f"targets reached in {number(robust.share, 2)} {span} of the worlds that the pilot allows"]
    elif answer.under_pilot:
        said += [f"in how many of the worlds that the pilot allows: {words.TOO_FEW}"]
    return line("Finds", "; ".join(said)) if said else ""


def _holds_for_others(answer: StudyPlan) -> bool:
    """True if the design itself reaches the targets for raters that were not asked: then no more of them are needed."""
    held = answer.new_figures
    return bool(held) and all(one.measure in held and held[one.measure].value >= one.least for one in answer.targets)


def _less(answer: StudyPlan) -> str:
    """Say the paired differences of the runner-ups to the advice."""
    measure = answer.first_target.measure
    said = [
        f"{designs.short(row.design, answer.design)} {words.less(one)}"
        for row in answer.rows[1:]
        if row.role == "same_money" and (one := row.less.get(measure)) is not None
    ]
    return f"Against this design, {words.heading(measure)}: {'; '.join(said)}; 95 %." if said else ""


def outdone(answer: StudyPlan) -> tuple[str, int]:
    """Say how far another row outdoes the named design at its price, all rows at once, and how much that matters."""
    held, margin = answer.outdone, answer.margin
    sure = f"with {100 * answer.confidence:.0f} % for all rows at once"
    if not held.rows or not math.isfinite(held.at_most):
        return "", 3
    if held.at_most <= margin:
        return f"At this price no row finds {number(margin, 2)} more, {sure}.", 3
    best = next((row for row in answer.runners if row.design == held.by), None)
    if best is None:
        return f"At this price a row may find up to {number(held.at_most, 2)} more, {sure} (--at-most tells).", 3
    found = words.less(best.less[answer.first_target.measure])
    which = designs.short(best.design, answer.design)
    shown = "no worlds have shown its targets" if answer.reached else "patience ended before it was named"
    said = f"{which} finds more for the same money ({found}; surely, {sure}), and is not advised: {shown}."
    return said, NEEDED


def work(answer: StudyPlan) -> str:
    """Say what one rating covers, and how much each rater does."""
    if (held := answer.loads) is None:
        return ""
    covers = f"{held.covers[:1].upper()}{held.covers[1:]}: " if held.covers else ""
    of = "" if held.outputs == held.ratings else f" of {held.outputs:,.0f} outputs"
    return (
        f"{covers}{held.ratings:,.0f} ratings{of}, {held.per_rater:,.0f} for each of {several(held.raters, 'rater')} "
        f"(most: {held.most:,.0f}), each on {held.per_rater_documents:,.0f} documents."
    )


def _changes(answer: StudyPlan) -> Iterator[Piece]:
    title = "This advice changes if" if answer.reached else "Another design is the best if"
    for k, (text, weight) in enumerate(zip(words.flips(answer), FLIPS, strict=False)):
        yield Piece(f"{title}\n  {text}" if k == 0 else f"  {text}", weight)


def _robust(answer: StudyPlan) -> Iterator[Piece]:
    for held in (answer.robust, answer.scenarios):
        if held is not None:
            yield from _held(answer, held)


def _held(answer: StudyPlan, held: Robust) -> Iterator[Piece]:
    span = f"({number(held.low, 2)} to {number(held.high, 2)})"
    measure = words.heading(answer.first_target.measure)
    regret = f"{_percent(held.regret)} ({_percent(held.regret_low)} to {_percent(held.regret_high)})"
    said = f"In {number(held.share, 2)} {span} of {held.draws} {held.source} this reaches the targets."
    # Of the pilot's draws the share stands on the page's first lines.
    drawn = held is answer.robust
    where = f"In {held.draws} {held.source}" if drawn else "There"
    yield from _joined(
        *([] if drawn else [(said, 8)]),
        (f"{where} {measure} is {number(held.q05, 2)} or more in 95 %, and it costs {regret} more than the best.", 6),
        (held.more, 5),
    )


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %" if math.isfinite(value) else "?"


def _end(out: Path | None, following: str, digest: str | None) -> Iterator[str]:
    if out is not None:
        frozen = f"study.yaml (frozen, {digest[:6]})" if digest else "study.yaml"
        yield f"wrote {out}/: {frozen}, plan.json, front.csv, front.png, paragraph.md"
    if following:
        yield f"next: {following}"
