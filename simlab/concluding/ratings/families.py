"""Decide about a family of comparisons (the pairs whose claims are promised together), and return it as a `Family`.

Families are all pairs (`all`), those with one baseline (`against`), ranks (`ranks`), candidates for the best (`best`),
and a false discovery rate (`fdr`). `choose_family` takes the config and the options and returns the family that is
asked for, `mark_pairs` marks the claimed pairs of it, and `Answering.answer` makes the record: candidates and tiers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from simlab.analysis import best
from simlab.analysis.best import Candidates
from simlab.analysis.multiplicity import Multiplicity, adjust_p_values
from simlab.answers.standings import Candidate, Family, FamilySays, System
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.possible_ranks import lay_out_claims
from simlab.concluding.ratings.judging import mark_family, verdicts
from simlab.concluding.ratings.standings import MODELS, PairVerdicts, Spans
from simlab.formulas import passes
from simlab.parts import name_of
from simlab.studies.ratings.preparing import PreparedRatings
from simlab.types import Array, Bools, Collected, FamilyName, InputError, ScoredRatings

OF_MULTIPLICITY: Mapping[str, FamilyName] = {"max_t": "all", "holm": "all", "bh": "fdr"}
"""Family whose claims each `decision.multiplicity` protects."""

NEAR, MOST_NEAR = 2.0, 3
"""Distance of a p-value from the level, in Monte-Carlo errors, that is reported; and most p-values that are named."""

NOTHING_PROMISED = "exploratory: the plan did not fix this family, so that nothing is promised of it"


class FamilyQuestion(NamedTuple):
    """The family that claims are of (None: each pair by itself), its baseline, and another one that is exploratory."""

    name: FamilyName | None
    against: str | None
    other: FamilyName | None = None
    other_against: str | None = None


def choose_family(config: Mapping[str, Any], wanted: ConcludeOptions) -> FamilyQuestion:
    """Return which family is asked for; raise InputError for one that contradicts the analysis.

    The family of a plan keeps its claims: ranks follow from all pairs, and any other family is exploratory.
    """
    multiplicity, test = config["decision"].get("multiplicity", "none"), name_of(config["analysis"]["test"])
    fixed, family = OF_MULTIPLICITY.get(multiplicity), wanted.family
    frozen = wanted.plan.family if wanted.as_planned and wanted.plan is not None else None
    if fixed == "fdr" and wanted.margin is not None:
        raise InputError(
            f"--margin {wanted.margin:g}: needs intervals of all pairs at once, and a false discovery rate bounds "
            "those of claimed pairs; leave it out, or take --family all"
        )
    if "best" in (family, frozen and frozen.name) and test not in MODELS:
        raise InputError(
            f"--family best: rests on the t statistics of all pairs, and analysis.test={test} has none; "
            "choose analysis.test=moderated"
        )
    if wanted.as_planned:
        name, against = (fixed, None) if frozen is None else (frozen.name, frozen.against)
        refuse_contradiction(config, name, f"the plan's family: {name}")
        if family in (None, name) and wanted.against in (None, against):
            return FamilyQuestion(name, against)
        if (name, family) == ("all", "ranks"):
            return FamilyQuestion("ranks", None)
        return FamilyQuestion(name, against, family, wanted.against)
    if family in (None, "against"):
        return FamilyQuestion(fixed if family is None or fixed is None else family, wanted.against)
    refuse_contradiction(config, family, f"--family {family}")
    return FamilyQuestion(family, None)


def refuse_contradiction(config: Mapping[str, Any], family: FamilyName | None, origin: str) -> None:
    """Raise InputError, beginning with `origin`, for a family that the decision of a config does not promise."""
    multiplicity = config["decision"].get("multiplicity", "none")
    fixed = OF_MULTIPLICITY.get(multiplicity)
    if family is not None and ((fixed == "fdr") != (family == "fdr") or fixed is None):
        raise InputError(
            f"{origin}: decision.multiplicity={multiplicity} promises something else; leave one of them out"
        )


def mark_pairs(
    name: FamilyName | None,
    prepared: PreparedRatings,
    collected: Collected,
    rated: ScoredRatings,
    verdicts: PairVerdicts,
    spans: Spans,
) -> tuple[FamilySays | None, ...]:
    """Return for each pair `claimed`, `open`, or `step_down` (claimed by a step-down test, but not by a single step).

    None of every pair where `name`, the family, is None.
    """
    if name is None:
        return (None,) * len(verdicts.verdict)
    single, down = _steps(prepared, collected, rated, verdicts, spans)
    claimed = verdicts.verdict != 0
    # Intervals are those of the single step and decide what is claimed: more would be claims without an interval.
    added = np.where(claimed, ~single, down & (verdicts.direction != 0))
    return tuple(
        "step_down" if more else "claimed" if yes else "open" for yes, more in zip(claimed, added, strict=True)
    )


def _steps(
    prepared: PreparedRatings, collected: Collected, rated: ScoredRatings, verdicts: PairVerdicts, spans: Spans
) -> tuple[Bools, Bools]:
    """Return which pairs pass in a single step, and which by stepping down."""
    single, down, level = np.zeros(len(verdicts.family), bool), np.zeros(len(verdicts.family), bool), prepared.level
    own = verdicts.p_value[verdicts.family]
    if prepared.multiplicity == "max_t" and prepared.family is not None:
        of = (
            spans.uncertainty.family
            if spans.uncertainty.family is not None
            else prepared.family(collected.streams("test"), rated)
        )
        kept = of.keep(verdicts.family)
        # Random flips of a family may give a pair less than its own p-value, which no adjustment should.
        one_step, more = (np.maximum(step, own) for step in (kept.single_step(), kept.step_down()))
    elif prepared.multiplicity == "holm":
        one_step, more = len(own) * own, adjust_p_values(own, "holm")
    else:
        one_step = more = verdicts.adjusted[verdicts.family]
    single[verdicts.family], down[verdicts.family] = passes(one_step, level), passes(more, level)
    return single, down


def find_candidates(spans: Spans, direction: Array, n_systems: int, level: float) -> Candidates:
    """Return the systems that may be the best, with p-values, at the `level`.

    `direction[pair]` is +1 where the first system came out better, -1 where the second did.
    """
    family = spans.uncertainty.family
    if family is None:
        raise ValueError("who may be best was asked of a test without t statistics, which a check refuses")
    return best.candidates(family, direction.astype(float), n_systems, level)


def rank_by_candidates(systems: Sequence[System], candidates: Candidates, names: Sequence[str]) -> tuple[System, ...]:
    """Give systems the ranks that follow from who may be the best: 1 to last for these, 2 to last for others.

    If only one system may be the best its rank is 1.
    """
    may, n = ~candidates.excluded, len(systems)
    alone = may.sum() == 1
    # Who is excluded as best has some better system; of ranks below nothing is promised.
    ranks = {name: (1, 1 if alone else n) if may[k] else (2, n) for k, name in enumerate(names)}
    return tuple(
        system.replace_fields(rank_low=ranks[system.system][0], rank_high=ranks[system.system][1]) for system in systems
    )


def mark_exclusions(candidates: Candidates, family: Bools) -> tuple[FamilySays, ...]:
    """Return for each pair `excludes`, if its better system excludes the other as the best, else `open`.

    `family[pair]` marks the pairs of the promise.
    """
    first, second = np.triu_indices(len(candidates.p_value), 1)
    beyond = candidates.lead > candidates.bar
    excludes = (beyond[first, second] | beyond[second, first]) & family
    return tuple("excludes" if one else "open" for one in excludes)


class Answering(NamedTuple):
    """Data and results from which the record `Family` is made.

    `rated` are the normalised ratings, `outcome[name]` the results of the analysis for each system or pair, `spans` the
    uncertainty of differences. `order` are names of systems, best first, `widest` is the largest difference that the
    scale allows, `margin` a difference that does not matter (None: not given).
    """

    prepared: PreparedRatings
    collected: Collected
    rated: ScoredRatings
    outcome: Mapping[str, Array]
    spans: Spans
    order: Sequence[str]
    widest: float
    margin: float | None

    @property
    def names(self) -> Sequence[str]:
        """Names of the systems, as pairs count them."""
        return self.collected.frame.system_names

    def answer(self, name: FamilyName, verdict: Array, direction: Array, says: str) -> Family:
        """Return the record of a family with the conclusion's own `verdict[pair]` and `direction[pair]`.

        `says` is the sentence of its promise.
        """
        tiers = cut_tiers(verdict, self.names, self.order) if name == "ranks" else ()
        return Family(
            name=name, says=says, candidates=self._candidates(direction) if name == "best" else (), tiers=tiers
        )

    def explore(self, name: FamilyName, against: str | None, direction: Array) -> Family:
        """Return the record of a family other than the plan's: exploratory, without any promise."""
        if name == "best":
            return Family(name=name, says=NOTHING_PROMISED, candidates=self._candidates(direction))
        at_once: Multiplicity = "max_t" if self.prepared.family is not None else "holm"
        prepared = self.prepared._replace(multiplicity="bh" if name == "fdr" else at_once)
        outcome = {key: value for key, value in self.outcome.items() if key != "adjusted_p_value"}
        family = mark_family(self.names, against)
        pair_verdicts = verdicts(prepared, self.collected, outcome, self.rated, family, self.spans.uncertainty.centre)
        better = np.argwhere(lay_out_claims(pair_verdicts.verdict, len(self.names)))
        claims = tuple((self.names[i], self.names[j]) for i, j in better)
        tiers = cut_tiers(pair_verdicts.verdict, self.names, self.order) if name == "ranks" else ()
        return Family(name=name, says=NOTHING_PROMISED, candidates=(), tiers=tiers, claims=claims)

    def _candidates(self, direction: Array) -> tuple[Candidate, ...]:
        n, of = len(self.names), self.spans.uncertainty
        candidates = find_candidates(self.spans, direction, n, self.prepared.level)
        sign = -1 if self.collected.frame.lower_is_better else 1
        first, second = np.triu_indices(n, 1)
        error = np.full((n, n), np.inf)
        known = (
            of.known
            & np.isfinite(of.variance)
            & self.spans.scatter
            & (of.comparisons is None or of.comparisons.comparable)
        )
        error[first, second] = error[second, first] = np.where(known, self.spans.error, np.inf)
        behind = np.minimum(
            candidates.bound_gaps_to_best(best.lay_out_leads(sign * np.nan_to_num(of.centre), n), error), self.widest
        )
        within = [None if self.margin is None else bool(gap <= self.margin) for gap in behind]
        listed = [list(self.names).index(name) for name in self.order]
        return tuple(
            Candidate(
                system=self.names[k],
                may_be_best=not candidates.excluded[k],
                p_value=float(candidates.p_value[k]),
                behind=float(behind[k]),
                within=within[k],
            )
            for k in listed
        )


def cut_tiers(verdict: Array, names: Sequence[str], order: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Cut systems, in their order, into tiers: each system of a tier is claimed to be better than all of later tiers.

    >>> cut_tiers(np.array([0, 1, 1]), ["A", "B", "C"], ["B", "A", "C"])
    (('B', 'A'), ('C',))
    """
    place = [list(names).index(name) for name in order]
    better = lay_out_claims(verdict, len(names))[np.ix_(place, place)]
    # One open pair across a cut is enough to leave the order of its systems unknown.
    cuts = [k for k in range(1, len(place)) if better[:k, k:].all()]
    ends = zip([0, *cuts], [*cuts, len(place)], strict=True)
    return tuple(tuple(order[start:end]) for start, end in ends)


def near_level(spans: Spans, level: float, p_values: Mapping[str, float]) -> tuple[str, ...]:
    """Return a sentence on p-values so near the level that other random draws might cross it; empty for none."""
    of = spans.uncertainty.comparisons
    draws = 0 if of is None or of.null is None else len(of.null)
    # A p-value near the level is a share of that many draws, with a binomial error.
    error = np.sqrt(level * (1 - level) / (draws + 1))
    near = {name: p for name, p in p_values.items() if draws and abs(p - level) <= NEAR * error}
    if not near:
        return ()
    names = ", ".join(f"{name} (p {p:.3f})" for name, p in list(near.items())[:MOST_NEAR])
    rest = f" and {len(near) - MOST_NEAR:,} more" if len(near) > MOST_NEAR else ""
    return (
        f"so near {level:g} that other draws might decide otherwise: {names}{rest}, ± {error:.3f} with {draws:,} "
        f"draws; analysis.test.draws={10 * (draws + 1) - 1} tells more",
    )
