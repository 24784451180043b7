"""Fill in the answers that simlab knows of a human-evaluation datasheet (HEDS 3.0), by its question numbers.

`sections` returns two tables: questions with answers, and those that stay open. Source: Belz and Thomson 2025 (HEDS
3.0), the form at nlp-heds.github.io. Questions stand here in a few words; the form has their full texts and options.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simlab.drawing.reports.heds_questions import QUESTIONS
from simlab.drawing.reports.terms import Block, Prose, ReportTable, Section
from simlab.drawing.text.references import METHODS, sentences
from simlab.messages import show
from simlab.parts import name_of
from simlab.store.reservations import find_entry

VERSION = "3.0"
UNKNOWN = "not known to simlab"

Known = Mapping[str, Any]
"""What is known of a study: `config`, its composed settings; `varied`, keys that a sweep varies with their values;
`power`, what was found of it in words; `code`, the command that gives it again; `of`, whose numbers these are."""


def sections(known: Known) -> tuple[Section, ...]:
    """Fill in a datasheet: a table of the questions that simlab can answer, and one of those that it cannot.

    `known` comes from `collect_sweep_facts` or `collect_plan_facts`.
    """
    answers = {number: answer(known) for number, answer in ANSWERS.items()}
    given = {number: text for number, text in answers.items() if text}
    rows = tuple((number, asks, given[number]) for number, asks in QUESTIONS.items() if number in given)
    open_ = tuple((number, asks, UNKNOWN) for number, asks in QUESTIONS.items() if number not in given)
    blocks: tuple[Block, ...] = (
        Prose(_note_on_numbers(known)),
        ReportTable("What simlab knows", ("question", "asks for", "answer"), rows),
        *([more] if (more := _further_table(known)) else []),
        ReportTable("What others have to fill in", ("question", "asks for", "answer"), open_),
    )
    return (Section(f"Human-evaluation datasheet (HEDS {VERSION})", blocks, folded=True),)


def _note_on_numbers(known: Known) -> str:
    of = known.get("of") or "a study as it is simulated"
    return (
        f"Numbers are those of the questions of HEDS {VERSION} (Belz and Thomson 2025). Answers are of {of}: they say "
        "what a study was planned or simulated to be, not what took place. Sections 1 (references, contact), 2 "
        "(systems) and 4.1 (type of quality criterion), and question 3.3.8, ask for what simlab does not know."
    )


def collect_sweep_facts(attributes: Mapping[str, Any], power: str = "", code: str = "") -> dict[str, Any]:
    """Return the facts for `sections` on the studies of a store, from its attributes `config` and `sweep`.

    `power` is a sentence on the power that was found, `code` the command that gives it again.
    """
    config, sweep = (json.loads(str(attributes.get(name, "{}"))) for name in ("config", "sweep"))
    varied = {str(axis["key"]): list(axis["values"]) for axis in sweep.get("axes", [])}
    return {"config": config, "varied": varied, "power": power, "code": code, "of": "the simulated studies"}


def collect_plan_facts(config: Mapping[str, Any], plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts for `sections` on a planned study.

    `config` are its settings (`study.yaml`), `plan` is the content of `plan.json`.
    """
    answer = plan.get("answer", plan)
    measures = answer.get("measures")
    figure = measures.get("power") if isinstance(measures, Mapping) else None
    known = figure is not None and None not in (figure["value"], figure["mcse"])
    text = f"{figure['value']:.2f} (Monte-Carlo standard error {figure['mcse']:.2g})" if figure and known else ""
    power = f"{text} of the differences that matter are found" if text else ""
    return {"config": config, "varied": {}, "power": power, "code": "simlab plan", "of": "the planned study"}


def _value(known: Known, key: str, unit: str = "") -> str:
    """Write a setting of a study, or the values that a sweep gives it; nothing where it is not set."""
    if key in known.get("varied", {}):
        return f"varied: {', '.join(map(show, known['varied'][key]))}{f' {unit}' if unit else ''}"
    entry = find_entry(known.get("config", {}), key)
    return "" if entry is None or isinstance(entry, Mapping) else f"{show(entry)}{f' {unit}' if unit else ''}"


def _first_value(known: Known, *wanted: tuple[str, str]) -> str:
    """Write the first of several settings that a study has."""
    return next((text for key, unit in wanted if (text := _value(known, key, unit))), "")


def _part(known: Known, section: str) -> str:
    """Name the part of a section; nothing where the sweep varies it."""
    entry = find_entry(known.get("config", {}), section)
    return name_of(entry) if isinstance(entry, Mapping) and section not in known.get("varied", {}) else ""


def _kind(known: Known) -> str:
    """Return what raters of a study do, from its budget: compare, judge or rate; nothing where that is not said."""
    budget = {*known.get("config", {}).get("budget", {}), *(key.partition(".")[2] for key in known.get("varied", {}))}
    design = {*known.get("config", {}).get("design", {}), *(key.partition(".")[2] for key in known.get("varied", {}))}
    for name, keys, key in (("compare", budget, "annotations_per_pair"), ("judge", budget, "human_ratings")):
        if key in keys:
            return name
    return "rate" if "documents" in design else ""


def _outputs(known: Known) -> str:
    if _kind(known) == "rate":
        text = _value(known, "design.documents", "documents")
        return f"{text} (an output of a system is all of a document's segments)" if text else ""
    return _first_value(known, ("budget.human_ratings", "outputs"), ("systems.n_items", "outputs"))


def _describe_selection(known: Known) -> str:
    """Describe how outputs come into a study: drawn at random, or all that there are."""
    documents = find_entry(known.get("config", {}), "design.documents")
    if documents is not None and documents == find_entry(known.get("config", {}), "systems.n_documents"):
        return "all documents that there are"
    return "1. By simple automatic random selection (as simulated)" if _kind(known) else ""


def _power_method(known: Known) -> str:
    return "simulation of whole studies with simlab (as Card et al. 2020)" if known.get("power") else ""


def _evaluators(known: Known) -> str:
    crew = [] if _kind(known) == "rate" else ["design.collection.crew_size"]
    return _first_value(known, *((key, "") for key in (*crew, "raters.pool_size", "raters.n_raters")))


def _payment(known: Known) -> str:
    prices = {"price_per_rating": "a rating", "price_per_hour": "an hour", "price_per_rater": "a rater"}
    prices_shown = {what: _value(known, f"budget.{key}") for key, what in prices.items()}
    paid = [f"{text} for {what}" for what, text in prices_shown.items() if text not in ("", "0.0", "0")]
    currency = _value(known, "budget.currency")
    if not paid:
        return ""
    return f"prices of {', '.join(paid)}{f' ({currency})' if currency else ''}; who is paid how is not known to simlab"


def _controls(known: Known) -> str:
    share = _value(known, "design.collection.control_share")
    if share in ("", "0.0", "0"):
        return ""
    most = _value(known, "design.collection.control_failures")
    return f"control items, {share} of the answers" + (f"; who fails more than {most} is excluded" if most else "")


def _times(known: Known) -> str:
    text = _value(known, "budget.deadline")
    return f"3. The whole evaluation has to be complete within a set time (deadline {text})" if text else ""


def _describe_scale(known: Known) -> str:
    kind = _kind(known)
    if kind == "compare":
        return "2. Relative"
    if _part(known, "design.grouping") == "pseudo_side_by_side":
        return "1. Absolute (outputs are rated one by one, those of all systems for a document by one rater)"
    return "1. Absolute" if kind else ""


def _size(known: Known) -> str:
    values = _scale(known)
    return "" if values is None else str(values[0])


def _values(known: Known) -> str:
    values = _scale(known)
    return "" if values is None else values[1]


def _scale(known: Known) -> tuple[int | str, str] | None:
    """Return how many values a scale has, and which; None where that is not known."""
    if _kind(known) == "compare":
        return 3, "better, no difference, worse"
    of = [find_entry(known.get("config", {}), f"systems.{name}") for name in ("floor", "ceiling", "step")]
    if all(isinstance(number, int | float) and not isinstance(number, bool) for number in of) and of[2] > 0:
        low, high, step = of
        return round((high - low) / step) + 1, f"{show(low)} to {show(high)} in steps of {show(step)}"
    if _value(known, "raters.scale") == "binary" or _value(known, "raters.law") == "binary":
        return 2, "adequate, not adequate"
    if _part(known, "raters") == "mqm_raters":
        return "N/A", "N/A (errors are marked, minor and major, and weighted)"
    return None


def _form(known: Known) -> str:
    if _kind(known) == "compare":
        return "3. Relative quality estimation (including ranking)"
    if _part(known, "raters") == "mqm_raters":
        return "6. Evaluation through post-editing/annotation (errors are marked)"
    return "2. Direct quality estimation (as simulated)" if _scale(known) else ""


def _methods(known: Known, keys: Sequence[str]) -> str:
    """State in sentences what parts of an analysis do, where these are known by name."""
    names = [_part(known, key) or _value(known, key) for key in keys]
    return sentences(name for name in names if name in METHODS)


def _describe_aggregates(known: Known) -> str:
    return _methods(known, ("analysis.normalization", "analysis.estimator"))


def _describe_tests(known: Known) -> str:
    methods = _methods(known, ("analysis.test", "analysis.reference", "decision", "decision.multiplicity"))
    level = _value(known, "decision.level")
    return f"{methods}{f' Level {level}.' if level else ''}".strip()


def _further_table(known: Known) -> ReportTable | None:
    """List what simlab knows of a design for which the datasheet has no question of its own."""
    contents = {
        "ratings of each output": _value(known, "design.ratings_per_item"),
        "annotations of each pair, at most": _value(known, "budget.annotations_per_pair"),
        "systems": _first_value(known, ("systems.n_systems", "")),
        "share of documents with a second rater": _value(known, "design.overlap"),
        "how outputs are dealt": _methods(known, ("design.grouping",)),
        "budget": _value(known, "budget.total", str(_value(known, "budget.currency"))),
        "start": _value(known, "budget.start"),
    }
    rows = tuple((what, text.strip()) for what, text in contents.items() if text)
    return ReportTable("Known, without a question of its own", ("of the design", "value"), rows) if rows else None


ANSWERS: Mapping[str, Callable[[Known], str]] = {
    "3.1.1": _outputs,
    "3.1.2": _describe_selection,
    "3.1.3.1": _power_method,
    "3.1.3.2": lambda known: str(known.get("power") or ""),
    "3.1.3.3": lambda known: f"simlab: {known['code']}" if known.get("code") and known.get("power") else "",
    "3.2.1": _evaluators,
    "3.2.2.2": _payment,
    "3.3.3.1": lambda known: "attention or control checks" if _controls(known) else "",
    "3.3.3.2": _controls,
    "3.3.5": _times,
    "4.2.2": _describe_scale,
    "4.3.3": _size,
    "4.3.4": _values,
    "4.3.8": _form,
    "4.3.9": _describe_aggregates,
    "4.3.10": _describe_tests,
}
"""Functions that answer a question from what is known, by its number; "" where it is not known."""
