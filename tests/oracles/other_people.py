"""Predict from one campaign what a repetition by other people shows, and hold that against campaigns carried out.

`uv run python -m tests.oracles.other_people` fits ESA-1 (WMT23 English-German, beside this repository) and prints the
figures of docs/trust.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simlab.analysis.significance import patterns
from simlab.fitting.backtest.campaigns import find_significant_pairs
from simlab.fitting.scales.outputs import OutputDraw, fit_outputs
from simlab.rng import stream
from simlab.tables.rating_table import ColumnOverrides, Ratings
from simlab.tables.reading import read
from simlab.types import Floats, Frame, Ints
from simlab.world.laws.fixed import fixed_ratings
from simlab.world.laws.scales import ScaleEffects, draw_raters, draw_world, latent_draw
from simlab.world.recorded import make_world
from tests.shared_data import SHARED

FOLDER = SHARED / "esa"
DOCUMENTS = (10, 20, 40)
DRAWS, LEVEL = 60, 0.05
MEASURES = ("significant", "confirmed", "srp")


class Repeated(NamedTuple):
    """Hold what a study and its repetition show, over draws of documents: `[world]` each.

    `significant` is the share of pairs that the repetition tells apart; of the claims of either the other confirms a
    share `confirmed`, and all of them with probability `srp`.
    """

    significant: Floats
    confirmed: Floats
    srp: Floats


def campaign(name: str) -> Ratings:
    """Read a campaign, logins being told to be people."""
    people = ColumnOverrides(people=FOLDER / "Annotators_mapping.csv")
    return read(FOLDER / f"240315rc5{name}.scores.csv", people)


def totals(value: Floats, frame: Frame) -> Floats:
    """Add up segments by document, `[document, system]`, from `value[system, item, slot]`; gaps count as the others."""
    rated = np.isfinite(value)
    score = np.nansum(value, axis=2) / np.maximum(rated.sum(2), 1)
    came = rated.any(2).astype(float)
    by_document = (frame.document == np.arange(frame.n_documents)[:, None]).astype(float)
    return np.asarray((by_document @ score.T) / (by_document @ came.T) * by_document.sum(1)[:, None])


def repeated(first: Floats, second: Floats, n: int, draws: int = DRAWS) -> Repeated:
    """Draw n documents at random, often; each time both campaigns `[world, document, system]` have the same ones."""
    rng = stream(1, "documents", n)
    found = [_once(rng, first, second, rng.choice(first.shape[1], n, replace=False)) for _ in range(draws)]
    claims, kept, stable, share = (np.sum([one[k] for one in found], axis=0) for k in range(4))
    return Repeated(share / draws, kept / np.maximum(claims, 1), stable / (2 * draws))


def _once(rng: np.random.Generator, first: Floats, second: Floats, chosen: Ints) -> tuple[Floats, ...]:
    signs = patterns(rng, len(chosen), 500)
    (a, up_a), (b, up_b) = (find_significant_pairs(total[:, chosen], signs, LEVEL) for total in (first, second))
    same = np.sign(up_a) == np.sign(up_b)
    kept = (a & same).sum(1) + (b & same).sum(1)
    stable = (same | ~a).all(1).astype(int) + (same | ~b).all(1)
    return a.sum(1) + b.sum(1), kept, stable, b.mean(1)


def by_others(pilot: Sequence[OutputDraw], frame: Frame, seed: int = 0) -> Floats:
    """Draw what other people in the same seats say of the pilot's own outputs: totals `[world, document, system]`."""
    return np.stack([_by_others(stream(seed, "repetition", k), *one, frame) for k, one in enumerate(pilot)])


def anew(effects: Sequence[ScaleEffects], frame: Frame, seed: int = 0) -> Floats:
    """Draw what other people say of outputs of other documents, which the pilot tells nothing of: a control."""
    rngs = [stream(seed, "repetition", k) for k in range(len(effects))]
    pairs = zip(rngs, effects, strict=True)
    return np.stack([_by_others(rng, one, latent_draw(rng, one, frame.document), frame) for rng, one in pairs])


def _by_others(rng: np.random.Generator, effects: ScaleEffects, seen: Floats, frame: Frame) -> Floats:
    others = draw_raters(rng, effects, frame.n_raters)
    ratings = fixed_ratings(draw_world(rng, others, frame, potential=True, seen=seen))
    if ratings is None:
        raise ValueError("a world with fixed ratings has them")
    return totals(ratings.value, frame)


def observed(name: str) -> Floats:
    """Return the totals of a campaign, `[1, document, system]`, higher being better."""
    world = make_world(campaign(name))
    ratings = fixed_ratings(world)
    if ratings is None:
        raise ValueError("a campaign has ratings")
    return (-1 if world.frame.lower_is_better else 1) * totals(ratings.value, world.frame)[None]


def main() -> None:
    """Fit, predict, and print all that is compared; ESA-1's own share is that of the study that is given."""
    table = campaign("ESA")
    real, frame = observed("ESA"), make_world(table).frame
    others = by_others(fit_outputs("gaussian", table), frame)
    for n in DOCUMENTS:
        expected = repeated(real, others, n)
        print(f"{n:3} ESA-1 itself tells {float(repeated(real, real, n).significant[0]):.3f} apart")
        for judge in ("MQM", "GEMBA"):
            found = repeated(real, observed(judge), n)
            for measure in MEASURES:
                values, seen = getattr(expected, measure), float(getattr(found, measure)[0])
                low, high = np.quantile(values, (0.05, 0.95))
                said = f"predicted {values.mean():.3f} [{low:.2f}, {high:.2f}] found {seen:.3f}"
                print(f"{n:3} {judge:5} {measure:11} {said}")


if __name__ == "__main__":
    main()
