"""Measure what intervals of means and shares promise: each function yields a row for each promise and setting.

Each row of judgements is a study of a world of its own, so that the error of a coverage comes from worlds alone.
Shares of independent judgements are not simulated: what covers them is summed over all that may be seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from places import places
from promise_rows import Row, numbers, stream
from scipy.special import ndtri
from scipy.stats import binom

from simlab.analysis import estimators
from simlab.analysis.means.intervals import pair_errors, two_sided_p_values
from simlab.config import compose
from simlab.studies.blocks import run_block
from simlab.types import Estimates, Floats, Judged, Parts

NUMBERS = (20, 50, 100)
ALPHAS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 0.99)
SIZE, AGREEMENT = 5, 0.3
"""Outputs of a document, and how their deviates correlate."""

WILSON, EXACT = 0.89, 0.95
T_LEAST = {"normal": 0.94, "t3": 0.94, "exponential": 0.91, "lognormal": 0.86}
"""Coverage of Student's t at 20 judgements and more; that of skewed scores is what t can do, and what is warned of."""
BOOTSTRAP_T_LEAST = {"normal": 0.93, "exponential": 0.93, "lognormal": 0.90}
DOCUMENTS_LEAST, SHARES_OF_DOCUMENTS_LEAST = 0.935, 0.93
LEVEL_AT_MOST, WIDER_AT_MOST = 0.055, 1.03
PUBLISHED = {20: 0.33, 50: 0.64, 100: 0.87}
"""What normal intervals cover of a share of .98."""


def independent_shares(
    numbers: Sequence[int] = NUMBERS, alphas: Sequence[float] = ALPHAS, interval: str = "by_scale"
) -> Iterator[Row]:
    """Sum up what intervals of shares cover: at least .89 by default, .95 by Clopper and Pearson."""
    bound = EXACT if interval == "clopper_pearson" else WILSON
    for n in numbers:
        counts = np.arange(n + 1)
        y = (np.arange(n) < counts[:, None]).astype(float)
        found = estimators.sample_mean(stream(0), judged(y, binary=True), interval=interval, level=0.05)
        for alpha in alphas:
            held = binom.pmf(counts, n, alpha)[(found.low <= alpha) & (alpha <= found.high)].sum()
            yield Row(
                f"coverage of shares, {interval}", f"n={n} alpha={alpha:g}", bound, float(held), 0.0, 0, "at least"
            )


def published_shares() -> Iterator[Row]:
    """Sum up what normal intervals, the former default, cover of a share of .98: far less."""
    for row in independent_shares(alphas=(0.98,), interval="normal"):
        yield row._replace(bound=WILSON, side="control below")


def skewed_means(
    worlds: int, numbers: Sequence[int] = (20,), laws: Sequence[str] = tuple(T_LEAST), interval: str = "t"
) -> Iterator[Row]:
    """Measure how often intervals of a mean hold where scores are normal, heavy-tailed, or skewed."""
    least = BOOTSTRAP_T_LEAST if interval == "bootstrap_t" else T_LEAST
    for law in (law for law in laws if law in least):
        for n in numbers:
            y = SCORES[law](stream(1, "skewed", law, n), (worlds, n))
            found = estimators.sample_mean(stream(2), judged(y), interval=interval, level=0.05)
            yield _coverage(f"coverage of means, {interval}", f"{law} n={n}", least[law], found, 0.0)


def corrected_means(worlds: int, n: int = 20, laws: Sequence[str] = tuple(T_LEAST)) -> Iterator[Row]:
    """Measure how often t intervals of means hold that a metric of correlation .6 corrects, with 500 more outputs."""
    for law in laws:
        for name, more in (("control_variates", {"coefficient": "plug_in"}), ("ppi", {})):
            of = _with_metric(law, (worlds, n), 0.6, 500)
            found = getattr(estimators, name)(stream(2), of, interval="t", level=0.05, **more)
            yield _coverage(f"coverage of {name}, t", f"{law} n={n}", T_LEAST[law], found, 0.0)


def skewness_is_noticed(worlds: int, n: int = 20) -> Iterator[Row]:
    """Measure how often lognormal scores are called too skewed for their number, and normal ones are."""
    for law, bound, side in (("lognormal", 0.8, "at least"), ("normal", 0.12, "at most")):
        y = SCORES[law](stream(3, "noticed", law), (worlds, n))
        found = estimators.sample_mean(stream(2), judged(y), interval="t", level=0.05)
        yield _share("skewness noticed", f"{law} n={n}", bound, found.skewed)._replace(side=side)


def shares_of_documents(
    worlds: int, numbers: Sequence[int] = NUMBERS, alphas: Sequence[float] = ALPHAS
) -> Iterator[Row]:
    """Measure how often Wilson's intervals hold where five outputs make a document and agree by .3."""
    for n in numbers:
        for alpha in alphas:
            of = _in_documents(_adequate(worlds, n, alpha), binary=True)
            found = estimators.sample_mean(stream(2), of, interval="by_scale", level=0.05)
            setting = f"documents of 5, n={n} alpha={alpha:g}"
            yield _coverage("coverage of shares, by_scale", setting, SHARES_OF_DOCUMENTS_LEAST, found, alpha)


def means_of_documents(worlds: int, numbers: Sequence[int] = NUMBERS) -> Iterator[Row]:
    """Measure how often t intervals hold where five outputs make a document, with a metric and without."""
    for n in numbers:
        of = _documents_with_metric((worlds, n), 0.6)
        for name, more in _ESTIMATORS:
            if name == "sample_mean" or n >= 8 * SIZE:
                found = getattr(estimators, name)(stream(2), of, interval="t", level=0.05, **more)
                setting = f"documents of 5, n={n}"
                yield _coverage(f"coverage of {name}, t", setting, DOCUMENTS_LEAST, found, 0.0)


def documents_judged_in_part(worlds: int, n_documents: int = 20) -> Iterator[Row]:
    """Measure coverage where two of five outputs of a document are judged, and the metric rates them all."""
    whole, part = _documents_with_metric((worlds, n_documents * SIZE), 0.6), np.arange(n_documents * SIZE) % SIZE < 2
    unseen = np.where(part, 0.0, whole.g).reshape(worlds, n_documents, SIZE).sum(2)
    seen = {"y": whole.y[:, part], "g": whole.g[:, part], "document": whole.document[:, part]}
    mixed = Parts(*(np.concatenate(both, -1) for both in (
        (np.broadcast_to(np.arange(n_documents), unseen.shape), whole.parts.document),
        (np.full(n_documents, SIZE - 2), whole.parts.n),
        (unseen, whole.parts.total),
    )))  # fmt: skip
    found = estimators.ppi(stream(2), replace(whole, **seen, parts=mixed), interval="t", level=0.05)
    setting = f"2 of 5 outputs judged in {n_documents} documents"
    yield _coverage("coverage of ppi, t", setting, DOCUMENTS_LEAST, found, 0.0)


def documents_forgotten(worlds: int, n: int = 100) -> Iterator[Row]:
    """Measure what intervals cover that take outputs of a document for independent: the former ones, far less."""
    shares = replace(_in_documents(_adequate(worlds, n, 0.5), binary=True), document=None)
    found = estimators.sample_mean(stream(2), shares, interval="normal", level=0.05)
    name, setting = "coverage, documents forgotten, normal", f"documents of 5, n={n}"
    bound = SHARES_OF_DOCUMENTS_LEAST
    yield _coverage(name, f"{setting} alpha=0.5", bound, found, 0.5)._replace(side="control below")
    of = replace(_documents_with_metric((worlds, n), 0.6), document=None, parts=None)
    for part, more in _ESTIMATORS:
        found = getattr(estimators, part)(stream(2), of, interval="normal", level=0.05, **more)
        yield _coverage(f"{name}, {part}", setting, DOCUMENTS_LEAST, found, 0.0)._replace(side="control below")


def levels_of_differences(worlds: int, n: int = 50) -> Iterator[Row]:
    """Measure how often two equal systems are called different on the same documents, with a metric and without."""
    pairs = _documents_with_metric((2 * worlds, n), 0.6)
    for name, more in _ESTIMATORS:
        for forget in (False, True):
            of = replace(pairs, document=None, parts=None) if forget else pairs
            interval = "normal" if forget else "t"
            found = getattr(estimators, name)(stream(2), of, interval=interval, level=0.05, **more)
            wrong = _told_apart(found, worlds)
            row = _share(f"level of differences, {name}", f"documents of 5, n={n}", LEVEL_AT_MOST, wrong)
            forgotten = {"name": f"{row.name}, documents forgotten", "side": "control above"}
            yield row._replace(**(forgotten if forget else {"side": "at most"}))


def useless_metrics(worlds: int, numbers: Sequence[int] = (100, 200)) -> Iterator[Row]:
    """Measure how much wider a useless metric makes intervals: 1.03 times from 20 documents on (10: 1.05)."""
    for n in numbers:
        of = _documents_with_metric((worlds, n), 0.0)
        human, tuned = (
            getattr(estimators, name)(stream(2), of, interval="t", level=0.05) for name in ("sample_mean", "ppi")
        )
        width, plain = tuned.high - tuned.low, human.high - human.low
        ratio = width.mean() / plain.mean()
        mcse = float(np.std(width - ratio * plain) / plain.mean() / np.sqrt(worlds))
        yield Row(
            "width with a useless metric", f"documents of 5, n={n}", WIDER_AT_MOST, ratio, mcse, worlds, "at most"
        )


def studies_of_documents(worlds: int) -> Iterator[Row]:
    """Measure coverage and level of whole studies, one in each world of two equal systems."""
    alike = {"systems.outputs_per_document": SIZE, "systems.document_agreement": AGREEMENT, "systems.spacing": 0}
    scores = {"raters.scale": "score", "raters.noise": 0.5, "metric": "correlated", "metric.correlation": 0.6}
    fixed = {"systems.test_set": "fixed", "systems.n_items": 200, "budget.metric_ratings": "null"}
    for name, keys in {
        "shares": {"analysis.estimator": "sample_mean", "metric": "none"},
        "scores, ppi": {"analysis.estimator": "ppi", **scores},
        "scores, own inputs": {"analysis.estimator": "ppi", "design.shared_inputs": "false", **scores},
        "half of a test set": {"analysis.estimator": "sample_mean", **scores, **fixed},
        "half of a test set, control variates": {"analysis.estimator": "control_variates", **scores, **fixed},
    }.items():
        found = _outcomes({"systems": "alpha_optimal", "systems.n_systems": 2, **alike, **keys}, worlds)
        held = (found["low"] <= found["true_value"]) & (found["true_value"] <= found["high"])
        setting = f"{name}, documents of 5, n=100"
        yield _share("coverage of studies", setting, DOCUMENTS_LEAST, held.mean(1))
        if "fixed" not in keys.values():
            level = _share("level of studies", setting, LEVEL_AT_MOST, found["significant"][:, 0])
            yield level._replace(side="at most")


PROMISES = (
    lambda: independent_shares(),
    lambda: independent_shares(interval="clopper_pearson"),
    lambda: published_shares(),
    lambda: skewed_means(20_000, NUMBERS),
    lambda: skewed_means(5000, interval="bootstrap_t"),
    lambda: corrected_means(20_000),
    lambda: skewness_is_noticed(10_000),
    lambda: shares_of_documents(10_000),
    lambda: means_of_documents(10_000),
    lambda: documents_judged_in_part(10_000),
    lambda: documents_forgotten(10_000),
    lambda: levels_of_differences(20_000),
    lambda: useless_metrics(5000),
    lambda: studies_of_documents(4000),
)
"""What a table of promises calls."""


def _outcomes(keys: dict[str, Any], worlds: int) -> dict[str, Any]:
    config = compose([f"{key}={value}" for key, value in (keys | {"worlds": worlds, "studies": 1}).items()])
    blocks = [run_block(config, places(world, 1)).arrays for world in numbers(worlds)]
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def judged(y: Floats, *, binary: bool = False) -> Judged:
    """Take `y[world, n]` for the judgements of so many systems that share nothing."""
    none = np.full(len(y), np.nan)
    return Judged(y, None, binary, None, None, None, none, np.zeros(len(y)), None)


SCORES = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "t3": lambda rng, shape: rng.standard_t(3, shape),
    "exponential": lambda rng, shape: rng.standard_exponential(shape) - 1,
    "lognormal": lambda rng, shape: np.exp(rng.standard_normal(shape)) - np.exp(0.5),
}
"""Laws of mean 0."""

_SD = {"normal": 1.0, "t3": np.sqrt(3), "exponential": 1.0, "lognormal": np.sqrt((np.e - 1) * np.e)}
_ESTIMATORS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("sample_mean", {}),
    ("control_variates", {"coefficient": "plug_in"}),
    ("ppi", {}),
)


def _with_metric(law: str, shape: tuple[int, int], correlation: float, n_rest: int) -> Judged:
    rng = stream(4, "metric", law)
    noise = np.sqrt(1 / correlation**2 - 1) * _SD[law]
    y, others = SCORES[law](rng, shape), SCORES[law](rng, (shape[0], n_rest))
    g, rest = y + noise * rng.standard_normal(shape), others + noise * rng.standard_normal(others.shape)
    return replace(judged(y), g=g, rest=(n_rest, rest.mean(1), rest.var(1, ddof=1)))


def _alike(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    common = np.repeat(rng.standard_normal((shape[0], shape[1] // SIZE)), SIZE, axis=1)
    return np.asarray(np.sqrt(AGREEMENT) * common + np.sqrt(1 - AGREEMENT) * rng.standard_normal(shape))


def _adequate(worlds: int, n: int, alpha: float) -> Floats:
    return np.asarray(_alike(stream(5, "adequate", n, str(alpha)), (worlds, n)) < ndtri(alpha), float)


def _in_documents(y: Floats, *, binary: bool = False) -> Judged:
    return replace(judged(y, binary=binary), document=np.broadcast_to(np.arange(y.shape[1]) // SIZE, y.shape))


def _documents_with_metric(shape: tuple[int, int], correlation: float, n_rest: int = 500) -> Judged:
    """Draw scores and a metric of documents, and 100 documents that only the metric has seen."""
    rng, own = stream(6, "documents", *shape), np.sqrt(1 - correlation**2)
    y, others = _alike(rng, shape), _alike(rng, (shape[0], n_rest))
    g, rest = (correlation * part + own * _alike(rng, part.shape) for part in (y, others))
    k = n_rest // SIZE
    documents = np.broadcast_to(shape[1] + np.arange(k), (shape[0], k))
    parts = Parts(documents, np.full(k, SIZE), rest.reshape(shape[0], k, SIZE).sum(2))
    return replace(_in_documents(y), g=g, rest=(n_rest, rest.mean(1), rest.var(1, ddof=1)), parts=parts)


def _told_apart(found: Estimates, worlds: int) -> np.ndarray:
    """Hold the systems 2k and 2k + 1 against each other, on the same inputs."""
    wrong = np.zeros(worlds, bool)
    for k in range(worlds):
        both = slice(2 * k, 2 * k + 2)
        one = Estimates(*(None if part is None else part[both] for part in _fields(found)))
        gap = one.value[:1] - one.value[1:]
        wrong[k] = two_sided_p_values(gap, pair_errors(one, shared=True))[0] <= 0.05
    return wrong


def _fields(found: Estimates) -> tuple[Any, ...]:
    names = ("value", "sd", "low", "high", "influence", "own", "by_document", "freedom")
    return tuple(getattr(found, name) for name in names)


def _coverage(name: str, setting: str, bound: float, found: Estimates, truth: float) -> Row:
    return _share(name, setting, bound, (found.low <= truth) & (truth <= found.high))


def _share(name: str, setting: str, bound: float, held: np.ndarray) -> Row:
    # Not 0 where all hold: what never happened in n worlds may happen in one of them.
    share = held.mean()
    spread = max(float(np.var(held)), 1 / len(held))
    return Row(name, setting, bound, float(share), float(np.sqrt(spread / len(held))), len(held), "at least")
