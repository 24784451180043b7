"""Conclude from a table of ratings, comparisons or judgements, whose columns or plan tell the kind of study.

Call `conclude` with the table and the options, which returns a `Conclusion`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from simlab.answers.conclude import Conclusion
from simlab.concluding.consistency import check_consistent
from simlab.concluding.far_scores import check_far_scores, raters_at_large, unmet_people
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.sheets import refuse_events
from simlab.messages import clip
from simlab.tables import judged_outputs, preferences
from simlab.tables.cells import open_cells
from simlab.types import COMPARE, JUDGE, RATE, InputError

Say = Callable[[str], None]


def conclude(table: Path, wanted: ConcludeOptions, say: Say) -> Conclusion:
    """Conclude from a table by the analysis for its kind of study.

    `wanted` are the user's options; `say` is called with a line on each step that takes a while. Raises InputError for
    tables and options that cannot be used, before anything is estimated, and Inconsistent for a conclusion whose
    numbers contradict each other: nobody is shown one.
    """

    def conclude_without(lines: tuple[int, ...]) -> Conclusion:
        overrides = replace(wanted.column_overrides, skip=lines)
        return _conclude_by_kind(
            table, replace(wanted, column_overrides=overrides, exclude=(), again=False, gate=False), lambda words: None
        )

    quick, whole = replace(wanted, again=False), replace(wanted, exclude=())
    if wanted.exclude:
        # Refuses what cannot be left out, before anything takes a while.
        _conclude_by_kind(table, replace(quick, gate=False), lambda words: None)
    conclusion = _conclude_by_kind(table, whole, say)
    # Checked after the first conclusion: whether far scores matter is only seen by concluding without them.
    if far := check_far_scores(table, conclusion, conclude_without):
        conclusion = _conclude_by_kind(table, replace(whole, far_checked=True), say)
    quick = replace(quick, far_checked=True)
    without = {", ".join(wanted.exclude): _conclude_by_kind(table, quick, lambda words: None)} if wanted.exclude else {}
    if n_raters := raters_at_large(conclusion):
        conclusion = conclusion.replace_fields(limits=unmet_people(n_raters))
    return check_consistent(conclusion.replace_fields(without=without, warnings=(*conclusion.warnings, *far)))


def conclude_once(table: Path, wanted: ConcludeOptions) -> Conclusion:
    """Conclude without a second look at scores far outside, raters left out or a repetition."""
    return _conclude_by_kind(table, wanted, lambda words: None)


def _conclude_by_kind(table: Path, wanted: ConcludeOptions, say: Say) -> Conclusion:
    if wanted.plan is not None:
        from simlab.concluding.plan_compliance import conclude as as_planned

        refuse_misplaced(wanted, wanted.plan.question)
        return as_planned(table, wanted, wanted.plan, say)
    refuse_events(table)
    question = recognise_question(table, wanted)
    refuse_misplaced(wanted, question)
    if question == COMPARE:
        from simlab.concluding.preferences.concluding import conclude as of_preferences

        return of_preferences(table, wanted, say)
    if question == JUDGE:
        from simlab.concluding.judgements.concluding import conclude as of_judgements

        return of_judgements(table, wanted, say)
    if question == RATE:
        from simlab.concluding.ratings.concluding import conclude as of_ratings

        return of_ratings(table, wanted, say)
    raise InputError(f"{clip(table)}: nothing is concluded from studies that ask to {question}")


def refuse_misplaced(wanted: ConcludeOptions, question: str) -> None:
    """Raise InputError for options that have no meaning for a kind of study."""
    # The test martingale is one of votes, win against loss; scores have none here.
    if wanted.promise == "anytime" and question != COMPARE:
        raise InputError(
            "--promise anytime: is one of preferences, vote by vote; leave it out, and look once at the end"
        )
    if wanted.consensus and (question != COMPARE or wanted.plan is not None):
        of = "tables of preferences" if question != COMPARE else "a table by itself, and a plan fixes the analysis"
        raise InputError(f"--consensus: is of {of}; leave it out")
    if question != RATE and wanted.family not in (None, "all", "against"):
        raise InputError(f"--family {wanted.family}: is of tables of ratings; leave it out, or name --against SYSTEM")
    if question == RATE:
        for option, value in (("--adequate-from", wanted.adequate_from), ("--threshold", wanted.threshold)):
            if value is not None:
                raise InputError(f"{option} {value:g}: is of metrics beside humans; leave it out of ratings")
    if question == JUDGE and wanted.overrides:
        raise InputError(
            f"{wanted.overrides[0]}: means and pairs of judgements are told by one analysis; give --level, or another "
            "analysis in a study file, --plan FILE"
        )


def recognise_question(table: Path, wanted: ConcludeOptions) -> str:
    """Return the kind of study that a table belongs to (`rate`, `compare`, `judge`), by its columns."""
    if preferences.is_table(table, wanted.column_overrides):
        return COMPARE
    # Ratings come last: a table of judgements has the columns of ratings, too, besides its metrics.
    return JUDGE if wanted.metrics or _has_metrics(table, wanted) else RATE


def _has_metrics(table: Path, wanted: ConcludeOptions) -> bool:
    """True if humans and metrics stand side by side in a table; one that cannot be read has none."""
    try:
        header = judged_outputs.name_columns(
            open_cells(table, judged_outputs.FORM, wanted.column_overrides), wanted.column_overrides.columns
        ).header
    except InputError:
        # The error is raised once more, with all its words, by the reader of the kind that is chosen.
        return False
    return judged_outputs.holds(header) and bool(judged_outputs.metric_columns(header, (), clip(table)))
