"""Estimate a metric's mixture matrix: its verdicts on two outputs given the human verdict, `>`, `=` or `<`.

`mixture_of_outputs` takes scored outputs, `mixture_of_preferences` human comparisons, `mixture_of_trials` corrupted
sentences; each returns a `Mixture`, or None where nothing can be learned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, chdtri

from simlab.tables.evidence import ScoredTrials
from simlab.tables.judged_outputs import JudgedOutputs
from simlab.tables.preferences import Preferences
from simlab.tables.winners import WinnerComparisons
from simlab.types import Array, Bools, Floats, InputError, Ints
from simlab.world.fitted_metrics import posterior_mean
from simlab.world.laws.comparisons import compare

MOST_CELLS = 50_000_000
"""Outputs are compared pair by pair; more comparisons than this are no pilot."""
FEW_CLUSTERS = 3
"""Fewer kinds of corruption than this say nothing of how far kinds differ."""
_COLUMNS = ("first", "second", "item", "outcome", "line")


@dataclass(frozen=True, slots=True)
class Mixture:
    """Posterior of a mixture matrix, columns = human outcomes: Dirichlet(counts + prior).

    `observed[metric outcome, human outcome]` are raw counts, in which outputs with several human ratings count once;
    `counts` are those divided by the `design_effect[column]`: comparisons of one item (of one document, where these are
    named), or of one kind of corruption, go together, and know less than as many independent ones. With `mirrored` the
    order of two systems means nothing: the column `<` is `>` upside down and `=` its own mirror image. `concentration`
    says how closely the matrices of pairs of systems follow it (None: no difference was found). Scores of the
    metric that differ by up to `margin` are draws, those of humans by up to `human_margin` (None: humans compared).
    """

    observed: Floats
    counts: Floats
    prior: Floats
    design_effect: Floats
    mirrored: bool
    concentration: float | None
    margin: float
    human_margin: float | None

    def column_counts(self, column: int) -> tuple[float, float]:
        """Return the comparisons behind a column, and the independent ones that would tell as much."""
        whole = self.observed.sum(0)
        n = whole[0] + whole[2] if self.mirrored and column != 1 else whole[column]
        return float(n), float(self.counts[:, column].sum())

    @property
    def mean(self) -> Floats:
        """Return the posterior mean."""
        return posterior_mean(self.counts + self.prior, mirrored=self.mirrored)

    def interval(self, level: float = 0.05) -> tuple[Floats, Floats]:
        """Return equal-tailed intervals of each cell."""
        weight = self.counts + self.prior
        low, high = (_quantiles(weight, tail) for tail in (level / 2, 1 - level / 2))
        if self.mirrored:
            # The two halves of what is no draw are equal by symmetry, not drawn apart.
            tie, rest = weight[1, 1], weight[0, 1] + weight[2, 1]
            for bound, tail in ((low, level / 2), (high, 1 - level / 2)):
                bound[[0, 2], 1] = _beta_quantile(rest, tie, tail) / 2
        return low, high


def mixture_of_outputs(
    outputs: JudgedOutputs, name: str, *, margin: float, human_margin: float, signs: tuple[int, int], mirrored: bool
) -> Mixture | None:
    """Compare the outputs of each two systems on the same item, by human score and by metric score.

    `signs` turn (human, metric) scores so that more is better. A human score is the mean of an output's ratings; a
    difference up to the margin is a draw. None where no item has outputs of two systems with both scores.

    Raises InputError for more comparisons than fit in memory.
    """
    n_systems = len(outputs.system_names)
    if n_systems * (n_systems - 1) // 2 * outputs.n_items > MOST_CELLS:
        raise InputError(f"{n_systems} systems on {outputs.n_items} items are too many comparisons; give fewer items")
    human = compare(signs[0] * lay_out_by_system(outputs, mean_rating(outputs)), human_margin)
    metric = compare(signs[1] * lay_out_by_system(outputs, outputs.metrics[name]), margin)
    pair, item = np.nonzero((human >= 0) & (metric >= 0))
    if not len(pair):
        return None
    weight = np.eye(3)[human[pair, item]]
    unit = np.zeros(outputs.n_items, np.int64)
    unit[outputs.item] = outputs.unit
    outcomes = metric[pair, item]
    return _mixture(unit[item], pair, weight, outcomes, margin=margin, human_margin=human_margin, mirrored=mirrored)


def mixture_of_preferences(preferences: ComparedOutputs, name: str, *, mirrored: bool) -> Mixture | None:
    """Count the verdicts of the metric `name` by human preference; None where no comparison has both."""
    outcomes = preferences.metrics[name]
    both = (outcomes >= 0) & (preferences.human.sum(1) > 0)
    if not both.any():
        return None
    at = preferences.unit[both], preferences.pair[both], preferences.human[both], outcomes[both]
    return _mixture(*at, margin=0.0, human_margin=None, mirrored=mirrored)


def mixture_of_trials(trials: ScoredTrials, *, margin: float) -> Mixture | None:
    """Count a metric's verdicts on originals (first) and corruptions, scores within `margin` being draws.

    Humans prefer the original of altering and disrupting corruptions (`>`) and find preserving ones as good (`=`); a
    corruption may stand first as well, so the matrix is mirrored. With three kinds of corruption or more the clusters
    are the kinds: the uncertainty is about another kind. None where no trial has two scores. Source: Boag et al. 2016
    for the kinds; their two pass rules have clashing margins and are not used.
    """
    sign = -1 if trials.lower_is_better else 1
    metric = compare(sign * np.stack([trials.original, trials.corrupted]), margin)[0]
    scored = metric >= 0
    if not scored.any():
        return None
    weight = np.eye(3)[np.where(trials.preserving, 1, 0)][scored]
    cluster = np.where(_has_several_kinds(trials, scored)[trials.preserving.astype(int)], trials.corruption, -1)
    # A trial that is its own cluster gets a number that no corruption has.
    own = len(np.unique(trials.corruption)) + np.arange(len(cluster))
    cluster = np.where(cluster < 0, own, cluster)[scored]
    pair = np.zeros(len(cluster), int)
    return _mixture(cluster, pair, weight, metric[scored], margin=margin, human_margin=None, mirrored=True)


def mean_rating(outputs: JudgedOutputs) -> Floats:
    """Average the ratings of each output; NaN where there is none."""
    rated = np.isfinite(outputs.human)
    total = np.where(rated, outputs.human, 0.0).sum(1)
    return np.asarray(np.where(rated.any(1), total / np.maximum(rated.sum(1), 1), np.nan))


def lay_out_by_system(outputs: JudgedOutputs, value: Floats) -> Floats:
    """Lay values of outputs out as `[system, item]`, NaN where there is no output."""
    laid = np.full((len(outputs.system_names), outputs.n_items), np.nan)
    laid[outputs.system, outputs.item] = value
    return laid


def design_effect(counts: Floats) -> float:
    """Return how many times the variance of shares exceeds that of independent counts; at least 1.

    `counts[cluster, outcome]`. The variance of the pooled shares is that of a ratio estimator over clusters. Source:
    Kish 1965, section 8.2; Rao and Scott 1992 for dividing the counts by it.
    """
    n = counts.sum(1)
    there, total = int((n > 0).sum()), float(n.sum())
    if there < 2:
        return 1.0
    share = counts.sum(0) / total
    expected = float((share * (1 - share)).sum()) / total
    residual = counts - n[:, None] * share
    variance = there / (there - 1) * float((residual**2).sum()) / total**2
    return max(1.0, variance / expected) if expected > 0 else 1.0


def concentration(counts: Floats, mean: Floats) -> float | None:
    """Estimate how closely groups follow common shares: Dirichlet(concentration * column) in each group.

    `counts[group, outcome, column]`, `mean[outcome, column]`. By moments, from Pearson's chi-squared over all columns
    together; None where it is no larger than 95 % of those of groups that do not differ.
    """
    n = counts.sum(1)
    excess, scale, freedom, statistic = 0.0, 0.0, 0, 0.0
    for column in range(counts.shape[2]):
        # A group of one comparison has the same chi-squared whatever the spread between groups.
        groups, possible = n[:, column] >= 2, mean[:, column] > 0
        free = (int(groups.sum()) - 1) * (int(possible.sum()) - 1)
        if free < 1:
            continue
        size, share = n[groups, column][:, None], mean[possible, column]
        chi = float((((counts[groups][:, possible, column] - size * share) ** 2) / (size * share)).sum())
        excess, statistic, freedom = excess + chi - free, statistic + chi, freedom + free
        # With rho = 1 / (concentration + 1) a group of n exceeds its degrees of freedom by (outcomes - 1)(n - 1) rho.
        scale += (int(possible.sum()) - 1) * float((size - 1).sum())
    if not freedom or statistic <= chdtri(freedom, 0.05):
        return None
    # Bounded, so that the concentration is finite and above 0.
    within = min(max(excess / scale, 1e-6), 0.9)
    return 1 / within - 1


def _has_several_kinds(trials: ScoredTrials, scored: Bools) -> Array:
    """Return for (altering and disrupting, preserving) whether there are kinds of corruption enough."""
    kinds = [np.unique(trials.corruption[scored & (trials.preserving == which)]) for which in (False, True)]
    return np.array([len(there) >= FEW_CLUSTERS for there in kinds])


def _mixture(
    cluster: Array, pair: Array, human: Floats, labels: Array, *,
    margin: float, human_margin: float | None, mirrored: bool,
) -> Mixture:  # fmt: skip
    by_cluster, by_pair = (_counts(group, human, labels) for group in (cluster, pair))
    raw = by_cluster.sum(0)
    folded = _fold_counts(by_cluster) if mirrored else by_cluster
    effect = np.array([design_effect(column) for column in _columns(folded, mirrored=mirrored)])
    observed = _mirror_image(raw) if mirrored else raw
    prior = np.ones((3, 3))
    if margin == 0 and not raw[1].any():
        # A metric that never draws is not given a third of the prior mass for draws.
        prior[1] = 0.0
    mean = posterior_mean(observed + prior, mirrored=mirrored)
    spread = concentration(by_pair, mean) if len(by_pair) > 1 else None
    return Mixture(raw, observed / effect, prior, effect, mirrored, spread, margin, human_margin)


def _counts(group: Array, human: Floats, labels: Array) -> Floats:
    """Count `[group, metric outcome, human outcome]`."""
    index = np.unique(group, return_inverse=True)[1]
    counts = np.zeros((int(index.max()) + 1, 3, 3))
    np.add.at(counts, (index, labels), human)
    return counts


def _fold_counts(counts: Floats) -> Floats:
    """Add what is said of the same comparison the other way round; each is then there twice."""
    return counts + counts[..., ::-1, ::-1]


def _mirror_image(raw: Floats) -> Floats:
    """Return counts in which `<` is `>` upside down, both from all comparisons that are no draws to humans."""
    both = _fold_counts(raw)
    # A draw is its own mirror image, so folding counts it twice.
    return np.stack([both[:, 0], both[:, 1] / 2, both[:, 2]], axis=1)


def _columns(counts: Floats, *, mirrored: bool) -> Sequence[Floats]:
    """Return `[cluster, outcome]` of each column, as far as outcomes are free to vary."""
    first, same, last = (counts[..., column] for column in range(3))
    if mirrored:
        same = np.stack([same[:, 1], same[:, 0] + same[:, 2]], axis=1) / 2
    return first, same, last


def _quantiles(weight: Floats, tail: float) -> Floats:
    total = weight.sum(0)
    return np.array([[_beta_quantile(weight[i, j], total[j] - weight[i, j], tail) for j in range(3)] for i in range(3)])


def _beta_quantile(a: float, b: float, tail: float) -> float:
    if a <= 0 or b <= 0:
        return 0.0 if a <= 0 else 1.0
    return float(betaincinv(a, b, tail))


@dataclass(frozen=True, slots=True)
class ComparedOutputs:
    """Pairs of outputs that humans compared.

    `pair[comparison]` and `item[comparison]` are numbers, `unit[comparison]` that of the document where a table tells
    documents apart, else that of the item;  `human[comparison, outcome]` the shares of its ratings that
    say `>`, `=`, `<`; `metrics[name][comparison]` is 0, 1, 2 = `>`, `=`, `<`, -1 where the metric says nothing.
    `ratings[pair, outcome]` counts human ratings. `pair_names[pair]` are the two systems; pairs are (i, j), i < j.
    """

    pair: Ints
    item: Ints
    unit: Ints
    human: Floats
    ratings: Floats
    pair_names: tuple[tuple[str, str], ...]
    system_names: tuple[str, ...]
    n_items: int
    metrics: Mapping[str, Array]


def group_comparisons(preferences: Preferences) -> ComparedOutputs:
    """Group comparisons by pair and item, in the order of the table; j compared with i is turned round.

    Where a table names no items, each of its comparisons is of one of its own.
    """
    low, high, item, outcome, source = _orient_comparisons(preferences)
    item = item if preferences.item_known else np.arange(len(item))
    at, of = _number_rows(low, high, item)
    human = np.zeros((len(at), 3))
    np.add.at(human, (of[source == 0], outcome[source == 0]), 1)
    pairs, pair = _number_rows(low, high, ordered=True)
    ratings = np.zeros((len(pairs), 3))
    np.add.at(ratings, pair[at], human)
    total = human.sum(1, keepdims=True)
    names = preferences.system_names
    return ComparedOutputs(
        pair[at],
        item[at],
        preferences.document[item[at]] if preferences.document_known else item[at],
        np.divide(human, total, out=np.zeros_like(human), where=total > 0),
        ratings,
        tuple((names[i], names[j]) for i, j in zip(low[pairs], high[pairs], strict=True)),
        names,
        len(preferences.item_names) if preferences.item_known else len(item),
        {
            name: _label_comparisons(of, outcome, source == k, len(at))
            for k, name in enumerate(preferences.metrics, start=1)
        },
    )


def _orient_comparisons(preferences: Preferences) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Return the two systems i < j, item, outcome, and source (0: humans) of all comparisons by line."""
    human = WinnerComparisons(
        preferences.first,
        preferences.second,
        preferences.item,
        preferences.rater,
        preferences.outcome,
        preferences.line,
    )
    sources: Sequence[WinnerComparisons] = (human, *preferences.metrics.values())
    first, second, item, outcome, line = (
        np.concatenate([getattr(votes, name) for votes in sources]) for name in _COLUMNS
    )
    source = np.repeat(np.arange(len(sources)), [len(votes.line) for votes in sources])
    order = np.argsort(line, kind="stable")
    outcome = np.where(first > second, 2 - outcome, outcome)
    columns = np.minimum(first, second), np.maximum(first, second), item, outcome, source
    low, high, item, outcome, source = (column[order] for column in columns)
    return low, high, item, outcome, source


def _number_rows(*columns: Ints, ordered: bool = False) -> tuple[Ints, Ints]:
    """Number different rows by where each is first (or in order of their values): first places, and number of each."""
    key = np.zeros(len(columns[0]), np.int64)
    at = np.zeros(0, np.int64)
    for column in columns:
        values, index = np.unique(column, return_inverse=True)
        _, at, key = np.unique(key * max(len(values), 1) + index, return_index=True, return_inverse=True)
    if ordered:
        return at, key
    order = np.argsort(at)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return at[order], rank[key]


def _label_comparisons(of: Ints, outcome: Ints, mine: Array, n: int) -> Array:
    labels = np.full(n, -1)
    labels[of[mine]] = outcome[mine]
    return labels
