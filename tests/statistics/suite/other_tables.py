"""Thirty more rows, of laws that were written after the test was chosen and share nothing with those of the suite.

    uv run python tests/statistics/suite/other_tables.py build
    uv run python tests/statistics/suite/other_tables.py run --tables 50

A latent score has lenient raters of a gamma law, documents of a Gumbel law that lie in topics, tastes of a Laplace
law, of two camps of raters, or of a few strong dislikes, and logistic noise that may be autocorrelated or drift along
the ratings of a rater. Scores are beta, 1 to 7 with thresholds of each rater's own, penalties for Poisson errors, or
points of which some outputs are botched. Loads are Dirichlet's; in some rows half of all ratings are missing, more of
them where a lenient rater meets an easy document.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import itertools
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[2])]

from simlab.types import Floats, Ints  # noqa: E402
from tests.statistics.suite.candidate_tests import TESTS  # noqa: E402
from tests.statistics.suite.run import Block, judge, score_found  # noqa: E402
from tests.statistics.suite.suite_tables import Table  # noqa: E402

SEED = 771_204_559
ROWS, DIGEST, FOUND = (HERE / name for name in ("other_rows.csv", "other_digest.txt", "other_found.csv"))
EFFECTS = ("null",) * 9 + ("partial",) * 9 + ("power",) * 12
SCALES = ("beta", "ordinal", "errors", "botched")
TASTES = ("laplace", "camps", "dislikes")
NOISES = ("logistic", "autocorrelated", "drift")
LENIENT, DIFFICULT, TOPIC, OUTPUT = 0.7, 0.6, 0.5, 0.4
NOISE = float(np.pi / np.sqrt(3))
"""Standard deviations of latent scores; noise is standard logistic."""

LAG, SLOPE, PRECISION, MAJOR = 0.6, 0.8, 12.0, 5.0
"""Autocorrelation of neighbouring ratings, slopes of drift, precision of beta scores, penalty of a major error."""

KNOWN_TABLES, TRUTH_DRAWS, APART, WIDEST = 400, 200_000, 5.0, 5.0
"""Tables of the oracle, draws of an expected score, errors between groups of equal systems, range of latent means."""

DIGESTED = (0, 9, 20, 29)


class OtherRow(NamedTuple):
    """A row: `seats` raters rate each document (0: one rater an output); `alpha` is Dirichlet's, large is even."""

    number: int
    systems: int
    raters: int
    documents: int
    seats: int
    alpha: float
    scale: str
    tastes: str
    noise: str
    topics: int
    taste: float
    skipped: int
    effect: str
    target: float
    planted: float = 0.0
    oracle: float = float("nan")
    oracle_width: float = float("nan")


def draw_rows() -> list[OtherRow]:
    """Draw the rows, without what is planted in them."""
    rng, rows = np.random.default_rng(SEED), []
    effects = rng.permutation(np.array(EFFECTS))
    for number, effect in enumerate(effects):
        skipped = int(number % 5 == 4)
        systems, raters = int(rng.integers(3, 26)), int(rng.integers(6, 41))
        if skipped:
            systems, raters = min(systems, 8), min(raters, 15)
        seats = int(rng.choice([0, 1, 1, 2]))
        most = 2500 // (systems * max(seats, 1))
        documents = int(np.clip(rng.integers(12, 121), max(12, raters // max(seats, 1)), max(most, raters)))
        rows.append(
            OtherRow(
                number, systems, raters, documents, seats, float(rng.choice([0.7, 2.0, 50.0])),
                SCALES[number % 4], TASTES[number // 4 % 3], NOISES[int(rng.integers(3))],
                int(rng.choice([0, 5, 12])), float(rng.choice([0.15, 0.4, 0.8])), skipped, str(effect),
                float(rng.choice([0.35, 0.5, 0.65])) if effect == "power" else float("nan"),
            )
        )  # fmt: skip
    return rows


@lru_cache(maxsize=4)
def meeting(row: OtherRow) -> tuple[Ints, Ints, Ints]:
    """Return system, document and rater of each rating before any is missing; a row has one deal."""
    rng = np.random.default_rng([SEED, row.number, 1])
    share = rng.dirichlet(np.full(row.raters, row.alpha))
    n = row.documents * (row.seats or row.systems)
    load = 1 + rng.multinomial(n - row.raters, share) if n >= row.raters else rng.multinomial(n, share)
    # Seats of a document are far apart on the list, so that no rater sits there twice but one with most of the work.
    listed = np.repeat(rng.permutation(row.raters), load)
    if not row.seats:
        document, system = (of.ravel() for of in np.indices((row.documents, row.systems)))
        return system, document, rng.permutation(listed)
    seat = listed.reshape(row.seats, row.documents)[:, rng.permutation(row.documents)]
    if row.seats == 2:
        twice = seat[0] == seat[1]
        seat[1, twice] = (seat[1, twice] + 1) % row.raters
    at, document, system = (of.ravel() for of in np.indices((row.seats, row.documents, row.systems)))
    return system, document, seat[at, document]


def means(row: OtherRow) -> Floats:
    """Return the latent means of systems."""
    rng = np.random.default_rng([SEED, row.number, 2])
    if row.effect == "null":
        return np.zeros(row.systems)
    if row.effect == "partial":
        groups = 2 if row.systems < 6 else 3
        return row.planted * rng.permutation(np.arange(row.systems) % groups).astype(float)
    gaps = np.cumsum(rng.exponential(size=row.systems))
    return np.asarray(row.planted * rng.permutation((gaps - gaps.mean()) / gaps.std()))


def botched_share(row: OtherRow) -> Floats:
    """Return the share of each system's outputs that are botched, which its mean makes up for."""
    return np.random.default_rng([SEED, row.number, 3]).uniform(0.02, 0.2, row.systems)


def draw(row: OtherRow, seed: int) -> Table:
    """Draw a table."""
    rng = np.random.default_rng([SEED, row.number, 4, seed])
    system, document, rater = meeting(row)
    lenient = LENIENT * (rng.gamma(2.0, size=row.raters) - 2) / np.sqrt(2)
    easy = DIFFICULT * (rng.gumbel(size=row.documents) - np.euler_gamma) / (np.pi / np.sqrt(6))
    if row.topics:
        easy += TOPIC * rng.uniform(-np.sqrt(3), np.sqrt(3), row.topics)[rng.integers(row.topics, size=row.documents)]
    output = OUTPUT * rng.laplace(size=(row.documents, row.systems)) / np.sqrt(2)
    if row.skipped:
        odds = lenient[rater] / LENIENT + easy[document] / DIFFICULT + rng.logistic(size=len(rater))
        # Each system keeps what it has of the whole: what is missing depends on raters and documents alone.
        stays = odds <= np.median(odds)
        system, document, rater = system[stays], document[stays], rater[stays]
    tastes = draw_tastes(row, rng)
    latent = means(row)[system] + lenient[rater] + easy[document] + output[document, system] + tastes[rater, system]
    latent += draw_noise(row, rng, rater)
    if row.scale == "botched":
        bad = rng.random((row.documents, row.systems)) < botched_share(row)
        latent += (
            6 * botched_share(row)[system]
            - 2 * rng.gamma(3.0, size=bad.shape)[document, system] * bad[document, system]
        )
        return Table(system, document, rater, latent)
    thresholds = draw_thresholds(rng, row.raters)[rater]
    strict = rng.gamma(4.0, 0.25, row.raters)[rater]
    return Table(system, document, rater, to_scale(row.scale, rng, latent, thresholds, strict))


def draw_tastes(row: OtherRow, rng: np.random.Generator) -> Floats:
    """Draw what raters think of systems, `[rater, system]`; equal systems have one law."""
    shape = (row.raters, row.systems)
    if row.tastes == "camps":
        sign = np.random.default_rng([SEED, row.number, 5]).choice([-1.0, 1.0], row.systems)
        return np.asarray(row.taste * rng.choice([-1.0, 1.0], row.raters)[:, None] * sign)
    if row.tastes == "dislikes":
        return np.asarray(row.taste * (0.15 * 3 - np.where(rng.random(shape) < 0.15, rng.exponential(3.0, shape), 0.0)))
    return np.asarray(row.taste * rng.laplace(size=shape) / np.sqrt(2))


def draw_noise(row: OtherRow, rng: np.random.Generator, rater: Ints) -> Floats:
    """Draw the noise of ratings that each rater gives in an order of the rater's own."""
    noise = rng.logistic(size=len(rater))
    if row.noise == "logistic":
        return noise
    slope = SLOPE * rng.standard_normal(row.raters)
    for one in range(row.raters):
        turn = rng.permutation(np.flatnonzero(rater == one))
        if row.noise == "drift":
            noise[turn] += slope[one] * np.linspace(-1, 1, len(turn))
            continue
        for before, now in itertools.pairwise(turn):
            noise[now] = LAG * noise[before] + np.sqrt(1 - LAG**2) * noise[now]
    return noise


def draw_thresholds(rng: np.random.Generator, n: int) -> Floats:
    """Draw the six thresholds of each rater, `[rater, threshold]`."""
    return np.asarray(-4 + 8 * np.cumsum(rng.dirichlet(np.full(7, 6.0), n), axis=1)[:, :6])


def to_scale(scale: str, rng: np.random.Generator, latent: Floats, thresholds: Floats, strict: Floats) -> Floats:
    """Turn latent scores into scores."""
    if scale == "beta":
        mean = 0.001 + 0.998 / (1 + np.exp(-0.6 * latent - 0.5))
        return np.asarray(100 * rng.beta(PRECISION * mean, PRECISION * (1 - mean)))
    if scale == "ordinal":
        return np.asarray(1.0 + (latent[:, None] > thresholds).sum(1))
    rate = strict * np.exp(np.clip(-0.5 * latent, None, 3.0))
    return np.asarray(-(rng.poisson(rate) + MAJOR * rng.poisson(0.3 * rate)).astype(float))


@lru_cache(maxsize=4)
def expected(row: OtherRow) -> Floats:
    """Return expected scores over raters and documents at large: those of one law at each latent mean."""
    location = means(row)
    if row.scale == "botched":
        return location
    rng = np.random.default_rng([SEED, 6])
    n = TRUTH_DRAWS
    # A crowd of raters who each meet one document of their own.
    crowd = row._replace(raters=n, systems=1, noise="logistic")
    latent = LENIENT * (rng.gamma(2.0, size=n) - 2) / np.sqrt(2)
    latent += DIFFICULT * (rng.gumbel(size=n) - np.euler_gamma) / (np.pi / np.sqrt(6))
    if row.topics:
        latent += TOPIC * rng.uniform(-np.sqrt(3), np.sqrt(3), n)
    latent += OUTPUT * rng.laplace(size=n) / np.sqrt(2) + draw_tastes(crowd, rng)[:, 0] + rng.logistic(size=n)
    if row.noise == "drift":
        latent += SLOPE * rng.standard_normal(n) * rng.uniform(-1, 1, n)
    thresholds, strict = draw_thresholds(rng, n), rng.gamma(4.0, 0.25, n)
    values, back = np.unique(location, return_inverse=True)
    mean = [to_scale(row.scale, np.random.default_rng(7), latent + at, thresholds, strict).mean() for at in values]
    return np.asarray(np.array(mean)[back])


def true_differences(row: OtherRow) -> Floats:
    """Return the true difference of each pair, first less second."""
    first, second = np.triu_indices(row.systems, 1)
    return np.asarray(expected(row)[first] - expected(row)[second])


def weights(row: OtherRow, system: Ints, document: Ints, rater: Ints) -> Floats:
    """Return weights `[system, rating]` of ratings in estimates: least squares at the latent components."""
    n = len(system)
    labels = [(rater, LENIENT**2), (document, DIFFICULT**2 + TOPIC**2 * bool(row.topics))]
    labels += [(rater * row.systems + system, row.taste**2), (document * row.systems + system, OUTPUT**2)]
    covariance = NOISE**2 * np.eye(n)
    for label, variance in labels:
        covariance += variance * (label[:, None] == label)
    design = (system[:, None] == np.arange(row.systems)).astype(float)
    solved = np.linalg.solve(covariance, design)
    return np.asarray(np.linalg.solve(design.T @ solved, solved.T))


def estimates(row: OtherRow, tables: int) -> Floats:
    """Return estimates of systems, `[table, system]`, in tables of seeds that no test sees."""
    fixed = None if row.skipped else weights(row, *meeting(row))
    out = []
    for seed in range(10**6, 10**6 + tables):
        drawn = draw(row, seed)
        out.append((weights(row, *drawn[:3]) if fixed is None else fixed) @ drawn.score)
    return np.array(out)


def plant(row: OtherRow) -> OtherRow:
    """Return a row with the unit of its means, and what knowing all variances finds there."""
    from scipy.special import ndtr

    first, second = np.triu_indices(row.systems, 1)
    n = KNOWN_TABLES // 4 if row.skipped else KNOWN_TABLES

    def known(at: OtherRow) -> tuple[Floats, Floats, float]:
        found = estimates(at, n)
        gap = found[:, first] - found[:, second]
        error = gap.std(0, ddof=1)
        bound = float(np.quantile(np.abs((gap - gap.mean(0)) / error).max(1), 0.95))
        return gap, error, bound

    _, error, bound = known(row._replace(effect="null"))
    if row.effect != "null":
        width = float(np.ptp(means(row._replace(planted=1.0))))
        most = np.inf if row.scale == "botched" else WIDEST / width
        low, high = 0.01, min(most, 20.0)
        for _ in range(12):
            middle = float(np.sqrt(low * high))
            z = np.abs(true_differences(row._replace(planted=middle))) / error
            reached = np.median(z[z > 0]) >= APART if row.effect == "partial" else ndtr(z - bound).mean() >= row.target
            low, high = (low, middle) if reached else (middle, high)
        row = row._replace(planted=float(f"{high:.4g}"))
    gap, error, bound = known(row)
    true = true_differences(row)
    right = (np.abs(gap) > bound * error) & (np.sign(gap) == np.sign(true))
    power = float(right[:, true != 0].mean()) if true.any() else float("nan")
    return row._replace(oracle=round(power, 4), oracle_width=float(f"{2 * bound * np.median(error):.4g}"))


def write_rows(rows: Sequence[OtherRow]) -> None:
    """Write the rows."""
    with ROWS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([OtherRow._fields, *rows])


def read_rows() -> list[OtherRow]:
    """Read the rows."""
    kinds = dict.fromkeys(("number", "systems", "raters", "documents", "seats", "topics", "skipped"), int)
    words = dict.fromkeys(("scale", "tastes", "noise", "effect"), str)
    with ROWS.open(encoding="utf-8", newline="") as file:
        return [
            OtherRow(**{k: {**kinds, **words}.get(k, float)(v) for k, v in line.items()})
            for line in csv.DictReader(file)
        ]


def digest() -> str:
    """Return the digests of rows and of some tables, whose scores are rounded."""
    rows, tables = read_rows(), hashlib.sha256()
    for number in DIGESTED:
        drawn = draw(rows[number], 0)
        for column in (*drawn[:3], np.round(drawn.score * 1e6)):
            tables.update(np.asarray(column).astype("<i8").tobytes())
    return f"rows {hashlib.sha256(ROWS.read_bytes()).hexdigest()}\ntables {tables.hexdigest()}\n"


def run(row: OtherRow, tables: int) -> Block:
    """Run the moderated test on a row's tables."""
    true = true_differences(row)
    here = np.ones(len(true), bool)
    each = np.array([score_found(TESTS["moderated"](*draw(row, seed)), true, here) for seed in range(tables)])
    wrong, covered, power, width = each.T
    sums = (float(power.sum()), float((power**2).sum()), float(width.sum()))
    return Block("moderated", row.number, 0, tables, int(wrong.sum()), int(covered.sum()), *sums, 0.0)


def report(rows: Sequence[OtherRow], blocks: Sequence[Block]) -> Iterator[str]:
    """Yield a line a row."""
    yield (
        "row,systems,raters,documents,seats,alpha,scale,tastes,noise,skipped,effect,"
        "tables,level,coverage,power,power_mcse,oracle,width,oracle_width"
    )
    for block in blocks:
        row, found = rows[block.row], judge([block])
        yield ",".join(
            str(x)
            for x in (
                *(row.number, row.systems, row.raters, row.documents, row.seats, row.alpha, row.scale, row.tastes),
                *(row.noise, row.skipped, row.effect, found.n, round(found.level, 4), round(found.coverage, 4)),
                *(
                    round(found.power, 4),
                    round(found.power_mcse, 4),
                    row.oracle,
                    f"{found.width:.4g}",
                    row.oracle_width,
                ),
            )
        )


def main() -> None:
    """Build the rows, or run the test on them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("build", "run"))
    parser.add_argument("--tables", type=int, default=50, help="tables a row")
    asked = parser.parse_args()
    if asked.what == "build":
        rows = []
        for row in draw_rows():
            rows.append(plant(row))
            print(rows[-1], flush=True)
        write_rows(rows)
        DIGEST.write_text(digest(), encoding="utf-8")
        return
    rows = read_rows()
    blocks = []
    for row in rows:
        blocks.append(run(row, asked.tables))
        FOUND.write_text("\n".join(report(rows, blocks)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
