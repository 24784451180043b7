"""Fit a law to a table of ratings, and report checks, variance components, dependability and parameters not identified.

Call `report` on a table; it returns a `FitReport`, whose `answer` is that of `simlab fit` and whose `content` is the
file of the world. `say` is called with each line of progress.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from simlab import schemas
from simlab.answers import fit as answers
from simlab.answers.fit import Component, Dependability, LawScore, PilotSpeeds
from simlab.answers.records import read_record
from simlab.answers.tables import ReadTable
from simlab.effort import current_effort
from simlab.files import write_whole
from simlab.fitting.checks import Check, FitChecks, checks
from simlab.fitting.components import PilotComponents, Trade, coefficients, components, trade
from simlab.fitting.law_comparison import choose_simplest_law, compare
from simlab.fitting.laws import FittableLaw, Fitted
from simlab.fitting.speeds import (
    KEPT,
    EstimateInterval,
    FittedSpeeds,
    fitted_speeds,
    predict_hours_again,
    speed_by_rater,
)
from simlab.messages import clip, show, suggest
from simlab.tables.rating_table import Ratings
from simlab.tables.times import CUT, CUTS
from simlab.types import InputError

if TYPE_CHECKING:
    from simlab.fitting.preferences.checks import PreferenceCheck

INTERVAL = (0.05, 0.95)
"""Quantiles of draws: a 90 % interval."""
AUTO = "auto"
"""Name that leaves the choice of the law to simlab."""
Say = Callable[[str], None]
"""Callback that takes a line of progress."""
AGREE, DIFFER = 1.01, 1.05
"""Chains up to the first R-hat agree; above the second what they say is not to be relied on."""
CHAINS_AGREE = "R-hat of the chains"
"""Name of the check that chains agree."""
SPANS = ("seconds_per_answer", "median_seconds", "rater_sd", "login_sd", "screen_sd")
"""Estimates of speeds that are reported with intervals."""


def disagreement(diagnosis: Mapping[str, Any]) -> tuple[str, ...]:
    """State that chains disagree, and that transitions diverged, by the `diagnosis` of a fit; () where all is well."""
    r_hat, stray = float(diagnosis.get("r_hat", 1.0)), int(diagnosis.get("divergences", 0))
    sentences = []
    if r_hat > AGREE:
        much = "do not rely on the numbers" if r_hat > DIFFER else "intervals are rough"
        sentences.append(
            f"the chains of this fit do not quite agree (R-hat {r_hat:.3f}; above {AGREE}): {much};"
            " other random numbers: --seed N"
        )
    if stray:
        sentences.append(
            f"{stray:,} of {int(diagnosis['draws']):,} transitions diverged: chains may miss part of what is possible;"
            " draw effects as standard normal ones times their spread"
        )
    return tuple(sentences)


def _add_chain_check(checks: FitChecks, diagnosis: Mapping[str, float]) -> FitChecks:
    """Count chains that disagree as a check that failed, where a law of one's own is sampled by NUTS."""
    if "divergences" not in diagnosis:
        return checks
    return replace(checks, traits=(*checks.traits, Check(CHAINS_AGREE, diagnosis["r_hat"], 1.0, 0.0, AGREE)))


def answer_checks(
    traits: Sequence[Check | PreferenceCheck],
    failed: Sequence[Check | PreferenceCheck],
    erring: Sequence[answers.PredictionError] = (),
) -> answers.Checks:
    """Return the checks of a fit as its answer has them."""
    return answers.Checks(
        passed=len(traits) - len(failed),
        failed=tuple(
            answers.FailedCheck(name=check.name, real=check.real, low=check.low, high=check.high) for check in failed
        ),
        all=tuple(answers.CheckedTrait(**check._asdict(), inside=check.inside) for check in traits),
        erring=tuple(erring),
    )


def ignore_message(line: str) -> None:
    """Ignore a message."""


@dataclass(frozen=True, slots=True)
class FitReport:
    """Report on a fit: the law, its rivals, its checks, components and speeds.

    `refused[law]` says why a law was not tried, `speeds[rater]` how fast raters were and `timing` how fast people at
    large are (None: no times), `law_named` that the law was named.
    """

    law: FittableLaw
    fitted: Fitted
    compared: Sequence[LawScore]
    refused: Mapping[str, str]
    checks: FitChecks
    components: PilotComponents
    coefficients: Sequence[Dependability]
    trade: Trade | None
    speeds: Mapping[str, Mapping[str, float]]
    timing: FittedSpeeds | None = None
    law_named: bool = False

    @property
    def ratings(self) -> Ratings:
        """Return the pilot."""
        return self.fitted.ratings

    @property
    def not_identified(self) -> Sequence[str]:
        """List, in sentences, the parameters that the pilot does not identify, and what their values rest on."""
        return self.fitted.not_identified

    @property
    def listed(self) -> list[Component]:
        """List the components that make scores differ."""
        return self.components.list_components()

    def answer(self, read: Mapping[str, Any]) -> answers.Fit:
        """Return the answer of `simlab fit`; `read` is the record of how the table was read."""
        return answers.Fit(
            read=read_record(ReadTable, read, "read"),
            law=self.law.name,
            asked=self.law_named,
            compared=tuple(self.compared),
            refused=dict(self.refused),
            checks=answer_checks(self.checks.traits, self.checks.failed, self.checks.erring),
            components=tuple(self.listed),
            coefficients=tuple(self.coefficients),
            each=self.trade.rows if self.trade else (),
            price=self.trade.price if self.trade else None,
            not_identified=tuple(self.not_identified),
            speeds=None if self.timing is None else answer_of_speeds(self.timing, self.speeds),
            diagnosis=dict(self.fitted.diagnosis),
            unmixed=disagreement(self.fitted.diagnosis),
        )

    def content(self, about: Mapping[str, Any]) -> dict[str, Any]:
        """Return the content of the world's file; `about` names the table."""
        return content(
            self.law,
            self.fitted,
            about=about,
            checks=summarise_checks(self.checks),
            components=self.listed,
            speeds=self.speeds,
            timing=None if self.timing is None else speed_content(self.timing),
        )


def report(
    ratings: Ratings, laws: Sequence[FittableLaw], name: str, seed: int, say: Say = ignore_message, cut: float = CUT
) -> FitReport:
    """Fit the law that best predicts held-out documents (or the law `name`) to ratings; return the report with checks.

    `laws` are those to choose from. Where the table has times speeds are learnt from them, gaps between answers cut at
    `cut` seconds. Raises InputError for a law that is unknown or that the table does not allow, where it allows none,
    and for a table of one system or of one score.
    """
    # Arrays are small: threads that share them cost more than they do.
    with threadpool_limits(1):
        fitted = _report(ratings, laws, name, seed, say)
        return replace(fitted, speeds=speed_by_rater(ratings, cut), timing=fitted_speeds(ratings.times, cut))


def _report(ratings: Ratings, laws: Sequence[FittableLaw], name: str, seed: int, say: Say) -> FitReport:
    _check_comparable(ratings)
    refused = {law.name: why for law in laws if (why := law.refused(ratings)) is not None}
    law, compared = _choose_law(ratings, laws, refused, name, seed, say)
    say(f"fitting {law.name}")
    examined = examine_fit(law, law.fit(ratings, seed=seed, draws=current_effort().draws), compared, refused, seed, say)
    return replace(examined, law_named=name != AUTO)


def _check_comparable(ratings: Ratings) -> None:
    n, worth = len(ratings.score), ratings.score[:1]
    if ratings.n_systems < 2:
        only = clip(ratings.system_names[0], 60)
        raise InputError(f"all {n:,} ratings are of one system, {only}; a world compares systems: rate at least two")
    if (ratings.score == worth).all():
        raise InputError(
            f"all {n:,} ratings are {worth[0]:g}: nothing tells systems apart, and no law can be fitted;"
            " is it the right column (--columns score=NAME)?"
        )


def examine_fit(
    law: FittableLaw,
    fitted: Fitted,
    compared: Sequence[LawScore],
    refused: Mapping[str, str],
    seed: int,
    say: Say = ignore_message,
) -> FitReport:
    """Check a fit against its pilot and estimate components of scores; return the report, without speeds."""
    say(f"checking {law.name} against the pilot")
    parts = components(law, fitted, seed)
    ratings = fitted.ratings
    each = ratings_per_output(ratings)
    return FitReport(
        law,
        fitted,
        compared,
        refused,
        _add_chain_check(checks(law, fitted, seed), fitted.diagnosis),
        parts,
        coefficients(parts, each),
        trade(parts, len(ratings.score) / ratings.n_systems),
        {},
    )


def _choose_law(
    ratings: Ratings, laws: Sequence[FittableLaw], refused: Mapping[str, str], name: str, seed: int, say: Say
) -> tuple[FittableLaw, Sequence[LawScore]]:
    by_name = {law.name: law for law in laws}
    if not isinstance(name, str) or name not in (AUTO, *by_name):
        raise InputError(f"--law {show(name)} is unknown; {suggest(show(name), [AUTO, *by_name])}")
    if name in refused:
        raise InputError(f"--law {name}: {refused[name]}")
    allowed = [law for law in laws if law.name not in refused]
    if not allowed:
        raise InputError(f"no law fits such a table: {'; '.join(f'{law}: {why}' for law, why in refused.items())}")
    if name != AUTO:
        return by_name[name], ()
    compared = _compare_laws(ratings, allowed, seed, say) if len(allowed) > 1 and ratings.n_documents > 1 else []
    return by_name[choose_simplest_law(compared)] if compared else allowed[0], compared


def _compare_laws(ratings: Ratings, allowed: Sequence[FittableLaw], seed: int, say: Say) -> list[LawScore]:
    say(f"comparing {', '.join(law.name for law in allowed)} on documents held out")
    return compare(allowed, ratings, seed, lambda law: say(f"compared {law}"))


def ratings_per_output(ratings: Ratings) -> int:
    """Return how many ratings an output of the pilot has, on average."""
    output = ratings.item.astype(np.int64) * ratings.n_systems + ratings.system
    return max(1, round(len(output) / len(np.unique(output))))


def summarise_checks(checks: FitChecks) -> dict[str, Any]:
    """Return how many checks a world passed, and a description of each that failed."""
    return {"passed": checks.passed, "failed": [_describe_failure(check) for check in checks.failed]}


def _describe_failure(check: Check) -> dict[str, Any]:
    numbers = (float(f"{value:.5g}") for value in (check.real, check.low, check.high))
    return {"name": check.name, **dict(zip(("real", "low", "high"), numbers, strict=True))}


def content(
    law: FittableLaw,
    fitted: Fitted,
    *,
    about: Mapping[str, Any],
    checks: Mapping[str, Any],
    components: Sequence[Component],
    speeds: Mapping[str, Any],
    timing: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the content of the file of a fitted world; `about` names the table."""
    ratings, own = fitted.ratings, dict(law.content(fitted))
    spreads = {f"{one.name}_sd": _spread(one) for one in components}
    # Counts of errors have estimates of their own, and fewer are always better.
    more = {"components": spreads, "lower_is_better": ratings.lower_is_better}
    return {
        **schemas.head_of_fitted("world"),
        "about": {**about, **table_counts(ratings)},
        "checks": dict(checks),
        "law": law.name,
        "not_identified": list(fitted.not_identified),
        **({} if "estimates" in own else more),
        "systems": list(ratings.system_names),
        "raters": list(ratings.rater_names),
        "document_sizes": np.bincount(ratings.document, minlength=ratings.n_documents).tolist(),
        "seats": seats(ratings),
        **({"speeds": dict(speeds)} if speeds else {}),
        **({"timing": dict(timing)} if timing else {}),
        **own,
    }


def table_counts(ratings: Ratings) -> dict[str, int]:
    """Count the ratings, systems, raters and documents of a table."""
    return {
        "ratings": len(ratings.score),
        "systems": ratings.n_systems,
        "documents": ratings.n_documents,
        "segments": len(ratings.document),
        "raters": ratings.n_raters,
    }


def seats(ratings: Ratings) -> list[list[int]]:
    """List the different sets of raters who rated a document together."""
    together = np.unique(np.stack([ratings.document[ratings.item], ratings.rater]), axis=1)
    starts = np.flatnonzero(np.diff(together[0])) + 1
    return [list(one) for one in sorted({tuple(raters.tolist()) for raters in np.split(together[1], starts)})]


def text(world: Mapping[str, Any]) -> str:
    """Return the file of a fitted world, given its content, as YAML."""
    import yaml

    dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    head = "# A fitted world, made by `simlab fit`; use it with systems=fitted systems.path=THIS_FILE.\n"
    return head + yaml.dump(
        dict(world), Dumper=dumper, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120
    )


def keep_table_name(earlier: str, world: Mapping[str, Any]) -> Mapping[str, Any]:
    """Name the table of a world as an earlier file of it does; one of another digest keeps its own name."""
    import yaml

    try:
        about = dict(yaml.load(earlier, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))["about"])  # noqa: S506
    except (yaml.YAMLError, LookupError, TypeError, ValueError):
        return world
    same = about.get("sha256") == world["about"].get("sha256")
    return {**world, "about": {**world["about"], "table": about.get("table")}} if same else world


def write(path: Path, world: Mapping[str, Any]) -> None:
    """Write the content of a fitted world to a file, in one step, so that nobody reads half of it."""
    write_whole({path: text(world)})


def _spread(component: Component) -> dict[str, Any]:
    """Format a component in points; of one that the pilot says nothing about what the priors put in its place."""
    if math.isnan(component.sd):
        return {"estimate": _round_digits(component.assumed), "assumed": True}
    return {
        "low": _round_digits(component.low),
        "estimate": _round_digits(component.sd),
        "high": _round_digits(component.high),
    }


def _round_digits(value: float) -> float:
    return float(f"{value:.5g}")


def speed_content(fitted: FittedSpeeds) -> dict[str, Any]:
    """Return the section `timing` of a world's file: rule, counts, estimates, and a draw of speeds for each world."""
    draws = fitted.draws[:KEPT].T.tolist()
    names = ("log_mean", "rater_sd", "login_sd")
    drawn = {name: [_round_digits(value) for value in column] for name, column in zip(names, draws, strict=True)}
    return {**_summary_of_speeds(fitted), "draws": drawn}


def answer_of_speeds(fitted: FittedSpeeds, raters: Mapping[str, Mapping[str, float]]) -> PilotSpeeds:
    """Return fitted speeds as an answer, with each rater's, and the hours of the same work by other people."""
    again = predict_hours_again(fitted)
    fields = {
        **_summary_of_speeds(fitted),
        "logins_left_out": fitted.left_out,
        "logins_split": fitted.sittings,
        "hours_again": {name: _round_digits(value) for name, value in again._asdict().items()},
        "raters": {name: dict(speed) for name, speed in raters.items()},
    }
    return read_record(PilotSpeeds, fields, "speeds")


def _summary_of_speeds(fitted: FittedSpeeds) -> dict[str, Any]:
    times, worked = fitted.times, fitted.worked
    mean, error = fitted.law.log_mean
    cuts = sorted({*CUTS, fitted.cut})
    return {
        "rule": times.rule,
        "cut": fitted.cut,
        "hours": [{"cut": cut, "hours": _round_digits(times.hours(cut))} for cut in cuts],
        "people": len(set(worked.person.tolist())),
        "logins": len(worked.person),
        "answers": len(times.gap),
        "answers_per_screen": _round_digits(fitted.screens.answers),
        **{name: _span(getattr(fitted, name)) for name in SPANS},
        "log_mean": _round_digits(mean),
        "log_mean_se": _round_digits(error),
    }


def _span(interval: EstimateInterval) -> dict[str, float]:
    return {name: _round_digits(value) for name, value in interval._asdict().items() if math.isfinite(value)}
