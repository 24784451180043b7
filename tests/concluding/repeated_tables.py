"""Hold what a table lets one expect of its repetition against repetitions from the truth it was drawn from."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from simlab.concluding.ratings.repetitions import RepeatedStudy, repetition, replace_scores
from simlab.concluding.ratings.table_world import DRAWS
from simlab.config import compose_sweep
from simlab.config.sweepfile import RUN
from simlab.fitting.repetitions import table_world
from simlab.studies.ratings.concluding import conclude, measure_leads
from simlab.studies.ratings.preparing import PreparedRatings, prepare
from simlab.tables import reading
from simlab.tables.rating_table import Ratings
from simlab.types import Collected, Floats, Frame, Seen, Streams
from simlab.world.laws.scales import ScaleEffects, draw_flat_answers, draw_raters, draw_repeated_answers
from tests.pilots import Pilot, Truth, law_of, pilot, write

WAYS = "same", "new_documents", "new_raters", "new_study"


@dataclass(frozen=True, slots=True)
class Compared:
    """Hold one way to repeat a table: predicted chance and interval, and the share of true repetitions."""

    way: str
    predicted: float
    low: float
    high: float
    true: float


@functools.cache
def analysis(*words: str) -> PreparedRatings:
    """Bind an analysis of ratings: max-T over all pairs."""
    sweep = compose_sweep(RUN, ["decision.multiplicity=max_t", *words])
    return prepare(next(sweep.cells()).config)


def collected(ratings: Ratings) -> Collected:
    """Lay a table out as a study has it."""
    frame = Frame(
        document=ratings.document,
        bucket=np.zeros(ratings.n_documents, np.int64),
        rater=np.zeros((ratings.n_systems, len(ratings.item_names), 0), np.int64),
        system_names=ratings.system_names,
        document_names=ratings.document_names,
        rater_names=ratings.rater_names,
        lower_is_better=ratings.lower_is_better,
    )
    seen = Seen(ratings.system, ratings.item, ratings.rater, ratings.score, ratings.errors)
    paid = {"ratings": float(len(ratings.score)), "cost": 0.0}
    return Collected(frame, None, None, seen, None, {}, paid, Streams(1, ("table",)))


def table_of(held: Pilot) -> Ratings:
    """Read a pilot as its owner would hand it over."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "pilot.csv"
        write(held, file)
        return reading.read(file)


def study_of(ratings: Ratings, *words: str) -> RepeatedStudy:
    """Conclude from a table by max-T over permutations."""
    prepared, seen = analysis(*words), collected(ratings)
    outcome = conclude(prepared, [seen])
    verdict = outcome["significant"][0] * outcome["direction"][0]
    return RepeatedStudy(ratings, seen, prepared, verdict, np.ones(len(verdict), bool), False, 0.05)


def compared(seed: int, truth: Truth, repetitions: int = 200) -> Iterator[Compared]:
    """Draw a table and conclude from it; compare what is said of repetitions with true ones."""
    held = pilot(np.random.default_rng(seed), truth, n_systems=6, n_documents=30)
    study = study_of(table_of(held))
    found = repetition(study, table_world(study.ratings, seed, DRAWS), seed)
    if found is None:
        return
    rng = np.random.default_rng(seed + 10_000)
    for way in WAYS:
        true = np.mean([_confirms(study, answers(rng, held, truth, study.ratings, way)) for _ in range(repetitions)])
        one = getattr(found.same_sign, way)
        yield Compared(way, one.value, one.low, one.high, float(true))


def _confirms(study: RepeatedStudy, score: Floats) -> bool:
    claimed = np.flatnonzero(study.verdict)
    found = np.sign(measure_leads(study.prepared, replace_scores(study, score)))
    return bool((found[claimed] == study.verdict[claimed]).all())


def answers(rng: np.random.Generator, held: Pilot, truth: Truth, table: Ratings, way: str) -> Floats:
    """Repeat a table from the truth that it was drawn from, in one of the ways."""
    law = law_of(held, truth)
    design = (table.system, table.item, table.rater, table.document)
    raters = law if way in ("same", "new_documents") else _others(rng, law)
    if way in ("same", "new_raters"):
        return draw_repeated_answers(rng, raters, _in_order(held, table), *design)
    return draw_flat_answers(rng, raters, *design)


def _others(rng: np.random.Generator, law: ScaleEffects) -> ScaleEffects:
    return draw_raters(rng, law, len(law.leniency))


def _in_order(held: Pilot, table: Ratings) -> Floats:
    """Return what documents bring, in the order in which the table numbers them."""
    document = [int(name.removeprefix("d")) - 1 for name in table.document_names]
    return held.seen[:, document]
