"""Measure what decision rules for preferences promise: each function yields a row for each promise and setting.

Each pair (of families: each campaign) is a study of a world of its own, so that errors of shares come from worlds
alone. Where a rule judges a look by its counts, what it says is worked out exactly, and the error is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from promise_rows import FRESH, Row, stream
from scipy.special import ndtr, ndtri

from simlab.analysis import decisions
from simlab.analysis.preferences.posterior import posterior_summary
from simlab.analysis.preferences.sequential import claims, corrected_statistic
from simlab.config import compose
from simlab.design.protocol import gather, list_looks, make_places, order_items
from simlab.studies.blocks import run_block
from simlab.types import Evidence, Place, TestSet, Verdicts

LEVEL, DOCUMENT_LEVEL = 0.05, 0.055
POWER_ALONE, POWER_WITH_METRIC = 0.40, 0.65
"""Where the sign test on all annotations finds .70; with the ideal metric and twenty fresh outputs a step."""

EQUAL, DIFFERENT = (0.4, 0.2, 0.4), (0.45, 0.2, 0.35)
IDEAL = np.array([[0.8, 0.25, 0.1], [0.1, 0.5, 0.1], [0.1, 0.25, 0.8]])
METRICS = {
    "ideal": IDEAL,
    "perfect": np.eye(3),
    "useless": np.full((3, 3), 1 / 3),
    "biased": np.array([[0.9, 0.8, 0.7], [0.05, 0.1, 0.1], [0.05, 0.1, 0.2]]),
}
ERRING = np.array([[0.8, 0.15, 0.05], [0.15, 0.7, 0.15], [0.05, 0.15, 0.8]])
"""What raters of `conf/raters/noisy_oracle.yaml` say [rows] where the oracle says [columns]."""

MOST, BATCH = 500, 10
SIZE, AGREEMENT = 5, 0.3
"""Outputs of a document, and how their deviates correlate."""

LEVEL_OF_NAIVE: dict[str, Any] = {"level": LEVEL, "form": "asymptotic"}
PLAIN: dict[str, Any] = {"level": LEVEL, "unit": "output", "multiplicity": "none"}


def share(hits: np.ndarray) -> tuple[float, float, int]:
    """Return a share, its error and the number of worlds; a share of 0 or 1 errs by what one world would change."""
    value, n = float(np.mean(hits)), len(hits)
    return value, float(np.sqrt(max(value * (1 - value), 1 / n) / n)), n


def first_verdict(said: Verdicts) -> np.ndarray:
    """Read on to the first stop, or to the last look."""
    at = np.where(said.stop.any(1), said.stop.argmax(1), said.stop.shape[1] - 1)
    return np.asarray(said.verdict[np.arange(len(at)), at])


def outcomes(rng: np.random.Generator, p: Sequence[float], shape: tuple[int, int], size: int = 1) -> np.ndarray:
    """Draw outcomes with given rates, those of a document of `size` in a row alike."""
    rows, n = shape

    def deviates() -> np.ndarray:
        own = rng.standard_normal(shape)
        if size == 1:
            return own
        common = rng.standard_normal((rows, -(-n // size)))[:, np.arange(n) // size]
        return np.asarray(np.sqrt(AGREEMENT) * common + np.sqrt(1 - AGREEMENT) * own)

    draw, wins = deviates() < ndtri(p[1]), ndtr(deviates()) < p[0] / (p[0] + p[2])
    return np.where(draw, 1, np.where(wins, 0, 2)).astype(np.int8)


def through(rng: np.random.Generator, outcome: np.ndarray, mu: np.ndarray = IDEAL) -> np.ndarray:
    """Let a metric say what it makes of outcomes."""
    below, u = np.cumsum(mu, axis=0), rng.random(outcome.shape)
    return ((u >= below[0][outcome]).astype(np.int8) + (u >= below[1][outcome])).astype(np.int8)


def evidence(
    rng: np.random.Generator,
    human: np.ndarray,
    further: np.ndarray,
    most: int = MOST,
    batch: int = BATCH,
    size: int = 1,
    mu: np.ndarray = IDEAL,
) -> Evidence:
    """Read outputs in a random order, whole documents one after the other; `further` are the metric's alone."""
    n_items = human.shape[1]
    document, rest = np.arange(n_items) // size, np.arange(further.shape[1]) // size
    order = order_items(rng, human, shared=False, document=None if size == 1 else document)
    metric = np.concatenate([through(rng, human, mu), through(rng, further, mu)], axis=1)
    places = make_places(document, None, metric.shape[1], rest)
    return gather(TestSet(human, metric), order, list_looks(most, batch, n_items), places)


def pairs(name: str, p: Sequence[float], worlds: int, fresh: int, *, size: int = 1, n_items: int = MOST) -> Evidence:
    """Draw pairs of a population, with so many outputs of the metric alone for each that is annotated."""
    rng = stream(1, "promises", name, str(p), str(fresh), str(n_items))
    human, further = (outcomes(rng, p, (worlds, n), size) for n in (n_items, fresh * n_items))
    return evidence(rng, human, further, size=size, most=min(MOST, n_items))


def even_sets(worlds: int, n_items: int = MOST) -> np.ndarray:
    """Draw test sets with exactly as many wins as losses."""
    rng = stream(1, "promises", "even", str(n_items))
    each = np.repeat([0, 1, 2], [2 * n_items // 5, n_items // 5, 2 * n_items // 5])
    return np.asarray(rng.permuted(np.tile(each, (worlds, 1)), axis=1), np.int8)


def bets(of: Evidence, estimand: str, *, use_metric: bool, unit: str = "output") -> np.ndarray:
    keys: Any = {**PLAIN, "estimand": estimand, "use_metric": use_metric, "unit": unit}
    return first_verdict(decisions.betting(of, **keys))


def anytime_errors_alone() -> Iterator[Row]:
    """Stop at the first look that finds a difference between equal systems: no metric, worked out exactly."""
    rule = partial(decisions.anytime, level=LEVEL, concentration=10.0, use_metric=False, multiplicity="none")
    for batch in (1, 10, 50):
        for draws in (0.0, 0.2, 0.6):
            found = claims(rule, np.array([(1 - draws) / 2, draws, (1 - draws) / 2]), list_looks(200, batch, 200))
            where = f"equal systems, batches of {batch}, {draws} draws"
            yield Row("anytime error", where, LEVEL, found.better + found.worse, 0.0, 0)
    power = claims(rule, np.array(DIFFERENT), list_looks(MOST, BATCH, MOST))
    yield Row("anytime power", "no metric", POWER_ALONE, power.better, 0.0, 0, "at least")
    peeking = claims(partial(decisions.human_only, level=LEVEL), np.array(EQUAL), list_looks(MOST, BATCH, MOST))
    error = peeking.better + peeking.worse
    yield Row("uncorrected looks", "equal systems, human_only", 4 * LEVEL, error, 0.0, 0, "control above")


def anytime_errors_with_a_metric(worlds: int) -> Iterator[Row]:
    """Bet on what the metric leaves open: equal in the population, and equal on the test set."""
    for fresh in (1, 4, 20):
        found = bets(pairs("null", EQUAL, worlds, fresh), "population", use_metric=True)
        yield Row("betting error", f"population, {fresh} fresh outputs a step", LEVEL, *share(found != 0))
    rng = stream(1, "promises", "order")
    for most in (200, MOST):
        read = evidence(rng, even_sets(worlds), np.zeros((worlds, 0), np.int8), most)
        for use_metric in (False, True):
            found = bets(read, "test_set", use_metric=use_metric)
            where = f"test set of {MOST}, {most} read, {'with' if use_metric else 'without'} the metric"
            yield Row("betting error", where, LEVEL, *share(found != 0))


def a_mean_that_is_not_known(worlds: int) -> Iterator[Row]:
    """Take the metric's mean over few outputs for the population's, as `anytime` with a metric does: no promise."""
    rule = partial(decisions.anytime, level=LEVEL, concentration=10.0, use_metric=True, multiplicity="none")
    found = first_verdict(rule(perfect_metric(worlds)))
    yield Row(
        "plug-in mean",
        "equal systems, a perfect metric on annotated outputs",
        LEVEL,
        *share(found != 0),
        "control above",
    )


def anytime_power(worlds: int) -> Iterator[Row]:
    """Find a difference that the sign test on all annotations finds in .70 of the studies."""
    read = pairs("power", DIFFERENT, worlds, 20)
    fixed = decisions.fixed(read, form="asymptotic", **PLAIN).verdict[:, -1]
    yield Row("fixed power", "the setting", 0.67, *share(fixed > 0), "at least")
    alone, helped = (bets(read, "population", use_metric=use) > 0 for use in (False, True))
    yield Row("betting power", "no metric", POWER_ALONE, *share(alone), "at least")
    yield Row("betting power", "ideal metric, 20 fresh outputs a step", POWER_WITH_METRIC, *share(helped), "at least")


def spending_with_a_metric(worlds: int) -> Iterator[Row]:
    """Spend the level on human preferences corrected by a metric, whatever it is like; looks after every ten."""
    for (name, mu), most in product(METRICS.items(), (100, MOST)):
        for spending in ("obrien_fleming", "pocock"):
            found = spent(worlds, EQUAL, mu, spending, most) != 0
            yield Row("spending with a metric", f"{name} metric, {most} planned, {spending}", LEVEL, *share(found))
    read = corrected_pairs(worlds, EQUAL, METRICS["ideal"], MOST)
    always = (np.abs(corrected_statistic(read)[:, 1:]) > ndtri(1 - LEVEL / 2)).any(1)
    yield Row("spending with a metric", "the same z, 1.96 at every look", LEVEL, *share(always), "control above")
    word = first_verdict(decisions.naive(corrected_pairs(worlds, EQUAL, METRICS["biased"], MOST), **LEVEL_OF_NAIVE))
    yield Row("spending with a metric", "the biased metric at its word", LEVEL, *share(word != 0), "control above")


def spending_power(worlds: int) -> Iterator[Row]:
    """Find a difference that sign tests at planned looks find in .67 of the studies."""
    for name, bound in (("ideal", 0.82), ("useless", 0.62)):
        found = spent(worlds, DIFFERENT, METRICS[name], "obrien_fleming", MOST) > 0
        where = f"{name} metric, four outputs of its own for each annotated one"
        yield Row("spending power", where, bound, *share(found), "at least")


def spent(worlds: int, p: Sequence[float], mu: np.ndarray, spending: Any, most: int) -> np.ndarray:
    read = corrected_pairs(worlds, p, mu, most)
    return first_verdict(decisions.group_sequential(read, spending=spending, metric="correct", **PLAIN))


def corrected_pairs(worlds: int, p: Sequence[float], mu: np.ndarray, most: int) -> Evidence:
    rng = stream(1, "promises", "corrected", str(p), str(mu.tolist()), str(most))
    human, further = (outcomes(rng, p, (worlds, n)) for n in (most, 4 * most))
    return evidence(rng, human, further, most, mu=mu)


UNCORRECTED = 0.25
"""What looking after every twenty of 200 ratings makes of a level of .05 is .19 without any metric; a little more."""

ALIKE, APART = "metric=ideal", "metric=mu_matrix metric.concentration=10"
"""One matrix for all pairs; matrices whose entries vary by .15 from pair to pair: the metric favours some systems."""


def shared_matrices(worlds: int) -> Iterator[Row]:
    """Count equal pairs that `bayes` calls different, looking after every batch: nothing corrects for that."""
    for sharing, metric in (("own", ALIKE), ("partial", ALIKE), ("joint", ALIKE), ("partial", APART), ("joint", APART)):
        words = f"{NULLS['all equal']} {metric} decision=bayes decision.sharing={sharing}"
        wrong = (campaigns(words, worlds)["verdict"] != 0).mean(1)
        error = float(wrong.std() / np.sqrt(worlds))
        side = "control above" if (sharing, metric) == ("joint", APART) else "at most"
        where = f"bayes, sharing={sharing}, {'one matrix' if metric is ALIKE else 'matrices that differ'}"
        yield Row("error of looking often", where, UNCORRECTED, float(wrong.mean()), error, worlds, side)  # type: ignore[arg-type]


def raters_who_err(pairs: int) -> Iterator[Row]:
    """Bound p where raters err as is known, with a metric: 60 annotations, 1,000 outputs of the metric's own."""
    rng = stream(1, "promises", "raters")
    p, mu = rng.dirichlet(np.ones(3), pairs), rng.dirichlet(np.ones(3), (pairs, 3)).swapaxes(1, 2)
    both = (mu * p[:, None]) @ ERRING.T
    counted = np.stack([rng.multinomial(60, one.ravel()).reshape(3, 3) for one in both])
    metric = np.stack([rng.multinomial(1000, one / one.sum()) for one in (mu @ p[:, :, None])[..., 0]])
    for rater, side in ((ERRING, "at least"), (None, "control below")):
        summary = posterior_summary(counted.sum(1), counted, metric, rater=rater)
        held = ((summary.low <= p) & (p <= summary.high)).mean(1)
        where = "raters err as decision.rater says" if rater is not None else "raters err, and nobody says so"
        error = float(held.std() / np.sqrt(pairs))
        yield Row("coverage of p", where, 0.94, float(held.mean()), error, pairs, side)  # type: ignore[arg-type]


def perfect_metric(worlds: int) -> Evidence:
    """Let a metric that never errs rate the annotated outputs and no other."""
    rng = stream(1, "promises", "perfect")
    human = outcomes(rng, EQUAL, (worlds, MOST))
    order = order_items(rng, human, shared=False)
    return gather(TestSet(human, human), order, list_looks(MOST, BATCH, MOST))


NULLS = {
    "all equal": "systems=preference_given systems.difference=0.0",
    "all equal, draws": "systems=preference_given systems.difference=0.0 systems.draws=0.7 systems.difficulty=0.5",
    "two of six apart": "systems=preference systems.item_sd=0.5 systems.quality=[0.5,0.5,0,0,0,0]",
    "half apart, coarse": "systems=preference systems.tie_margin=1.0 systems.quality=[0.6,0.6,0.6,0,0,0]",
}
"""Six systems, 15 pairs: those of the latter two share outputs, so that pairs depend on each other."""

RULES = {
    "fixed, holm": "decision=fixed decision.multiplicity=holm decision.form=exact",
    "group sequential, holm": "decision=group_sequential decision.multiplicity=holm",
    "anytime, holm": "decision=anytime decision.multiplicity=holm",
    "anytime, closed": "decision=anytime decision.multiplicity=closed",
    "betting, closed": "decision=betting decision.multiplicity=closed",
    "betting, closed, test set": "decision=betting decision.multiplicity=closed decision.estimand=test_set",
    "betting, holm, own orders": "decision=betting decision.multiplicity=holm design.shared_order=false",
    "betting, closed, short of money": "decision=betting decision.multiplicity=closed budget.annotations=1500",
    "betting, e_bh": "decision=betting decision.multiplicity=e_bh",
}
STUDY = (
    "systems.n_systems=6 systems.n_items=200 metric=ideal metric.n_outputs=1200 budget.annotations_per_pair=200 "
    f"budget.batch_size=20 worlds=1 seed={5 + FRESH}"
)


def campaigns(words: str, worlds: int) -> dict[str, np.ndarray]:
    """Run campaigns in worlds that differ in all that is random; return verdicts and the truth, `[world, pair]`.

    Systems are given and the metric is the same for all pairs, so that a study with its own test set is a world.
    """
    settings = dict(word.split("=", 1) for word in f"{STUDY} {words} studies={worlds}".split())
    # An option comes before its keys.
    config = compose([f"{key}={settings[key]}" for key in sorted(settings, key=lambda key: "." in key)])
    blocks = [range(start, min(start + 50, worlds)) for start in range(0, worlds, 50)]
    ran = [run_block(config, [Place(0, study=study) for study in block]).arrays for block in blocks]
    # Of a rule that asks about its test set the population's truth is none.
    truth = {name: ran[0][name] for name in ("true_direction",) if name in ran[0]}
    return truth | {name: np.concatenate([arrays[name] for arrays in ran]) for name in ("verdict", "reference_p")}


def families(worlds: int, rules: Sequence[str] = tuple(RULES), nulls: Sequence[str] = tuple(NULLS)) -> Iterator[Row]:
    """Count the campaigns with any wrong claim among 15 pairs; of `e_bh` the share of wrong ones among the claims."""
    for rule in rules:
        for null in nulls:
            ran = campaigns(f"{NULLS[null]} {RULES[rule]}", worlds)
            in_the_set = np.sign(np.round(ran["reference_p"][..., 0] - ran["reference_p"][..., 2], 9))
            truth = in_the_set if "test set" in rule else ran["true_direction"]
            wrong = (ran["verdict"] != 0) & (ran["verdict"] != truth)
            if "e_bh" in rule:
                rate = wrong.sum(1) / np.maximum((ran["verdict"] != 0).sum(1), 1)
                error = max(float(rate.std() / np.sqrt(worlds)), 1 / worlds)
                yield Row("false discoveries", f"{rule}: {null}", LEVEL, float(rate.mean()), error, worlds)
            else:
                yield Row("family-wise error", f"{rule}: {null}", LEVEL, *share(wrong.any(1)))


def families_without_correction(worlds: int) -> Iterator[Row]:
    """Judge each of 15 pairs at its own level."""
    wrong = campaigns(f"{NULLS['all equal']} decision=fixed", worlds)["verdict"] != 0
    yield Row("family-wise error", "fixed, none: all equal", LEVEL, *share(wrong.any(1)), "control above")


def power_of_families(worlds: int) -> Iterator[Row]:
    """Find differences of .1 between all 15 pairs: reported, and held only far below what was found."""
    larger = "systems.n_items=500 metric.n_outputs=10500 budget.annotations_per_pair=500"
    equal_steps = f"systems=preference_given systems.difference=0.1 {RULES['betting, closed']}"
    for words, bound in (("decision.use_metric=false", 0.14), ("decision.use_metric=true", 0.43)):
        found = campaigns(f"{larger} {equal_steps} {words}", worlds)["verdict"] > 0
        each = found.mean(1)
        error = float(each.std() / np.sqrt(worlds))
        yield Row("family power", f"betting, closed, {words}", bound, float(each.mean()), error, worlds, "at least")


def documents(worlds: int) -> Iterator[Row]:
    """Call equal systems different where outputs come in documents of five: by output, and by document."""
    for n_items, batch in ((200, 10), (100, 7)):
        rng = stream(1, "promises", "documents", str(n_items))
        human, further = (outcomes(rng, EQUAL, (worlds, n), SIZE) for n in (n_items, 5 * n_items))
        read = evidence(rng, human, further, n_items, batch, SIZE)
        for unit, side in (("document", "at most"), ("output", "control above"))[: 2 if n_items == 200 else 1]:
            for name, found in by_unit(read, unit):
                where = f"{name}, {n_items} outputs, by {unit}"
                yield Row("error in documents", where, DOCUMENT_LEVEL, *share(found), side)  # type: ignore[arg-type]


def by_unit(read: Evidence, unit: str) -> Iterator[tuple[str, np.ndarray]]:
    """Ask rules that know documents whether they call a pair different."""
    keys: Any = {**PLAIN, "unit": unit}
    for form in ("asymptotic", "exact"):
        final = read if unit == "output" else last_look_only(read)
        yield f"fixed, {form}", decisions.fixed(final, form=form, **keys).verdict[:, -1] != 0  # type: ignore[arg-type]
    for spending in ("obrien_fleming", "pocock"):
        said = decisions.group_sequential(read, spending=spending, metric="ignore", **keys)  # type: ignore[arg-type]
        yield f"group_sequential, {spending}", first_verdict(said) != 0
    if unit == "document":
        for use_metric in (False, True):
            yield f"betting, metric {use_metric}", bets(read, "population", use_metric=use_metric, unit=unit) != 0


def last_look_only(read: Evidence) -> Evidence:
    """Plan a single look: all flips of documents are gone through at each."""
    ends = [0, -1]
    counts = (counts[:, ends] for counts in (read.human, read.confusion, read.metric))
    return Evidence(read.annotations[ends], *counts, read.campaigns, read.trail)


MARGIN = 0.1


def equivalence_errors() -> Iterator[Row]:
    """Call a difference at the margin better, and equal, looking after every batch: worked out exactly."""
    for holds in ("within_the_plan", "at_any_look"):
        for draws in (0.2, 0.6):
            better, equal = at_the_margin(holds, draws, most=MOST if holds == "within_the_plan" else 300)
            yield Row("wrongly better", f"{holds}, {draws} draws, at the margin", LEVEL, better, 0.0, 0)
            yield Row("wrongly equal", f"{holds}, {draws} draws, at the margin", LEVEL, equal, 0.0, 0)
    better, _ = at_the_margin("given_prior", 0.2, most=150)
    yield Row("wrongly better", "given_prior, at the margin", 1.2 * LEVEL, better, 0.0, 0, "control above")


def equivalence_power() -> Iterator[Row]:
    """Call equal systems equal, and twice the margin better, within a plan of 500 ratings."""
    equal = at_the_margin("within_the_plan", 0.2, difference=0.0)[1]
    better = at_the_margin("within_the_plan", 0.2, difference=2 * MARGIN)[0]
    yield Row("equivalence power", "equal systems called equal", 0.45, equal, 0.0, 0, "at least")
    yield Row("equivalence power", "twice the margin called better", 0.6, better, 0.0, 0, "at least")


def at_the_margin(holds: Any, draws: float, difference: float = MARGIN, most: int = MOST) -> tuple[float, float]:
    """Return the probabilities of `better` and of `equal` at a difference, exactly."""
    p = np.array([(1 - draws + difference) / 2, draws, (1 - draws - difference) / 2])

    def rule(read: Evidence) -> Verdicts:
        said = decisions.equivalence(read, level=LEVEL, margin=MARGIN, holds=holds)
        # What ends without a winner is called equal: counted as `worse`, which hardly ever happens here.
        verdict = np.where(said.stop & (said.verdict == 0), -1, np.maximum(said.verdict, 0))
        return Verdicts(verdict, said.stop, said.theta, said.summarise)

    found = claims(rule, p, list_looks(most, 25, most))
    return found.better, found.worse
