"""Fit a law of one's own: a NumPyro model of how ratings come about, sampled by NUTS.

Call `own_law` with the path of the model, MODULE:FUNCTION; it returns a `FittableLaw`.

The model is a function that takes those of these arguments that it names: `n_systems`, `n_documents`, `n_segments`,
`n_raters` (numbers); `system`, `document`, `segment`, `rater` (one index for each rating, from 0; documents consist of
segments); `score` (one number for each rating, on the scale of the table, or None where scores are to be drawn). It has
these sites:

* `score`, observed where scores are given: a distribution for each rating, on the scale of the table.
* What belongs to systems, documents, segments or raters stands in `numpyro.plate("systems", n_systems)`, and so on.
  Sites in the plates `documents`, `segments` and `ratings` are drawn anew with other documents, sites in the plate
  `raters` with other raters, both from what the model says given all the rest; all else keeps its posterior draw.

What is drawn is rounded to the steps of the table's scores and held between the ends of its scale.
"""

from __future__ import annotations

import inspect
import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple
from zlib import compress

import numpy as np

from simlab.analysis.chains import make_chains
from simlab.effort import current_effort
from simlab.fitting.laws import FittableLaw, Fitted, SampledPosterior
from simlab.fitting.scales.chain import gaussian_scale
from simlab.fitting.scales.fitting import effective_draws, split_rhat
from simlab.messages import clip, name_things, show
from simlab.parts import resolve
from simlab.rng import stream
from simlab.tables.rating_table import Ratings
from simlab.types import Array, Floats, InputError, Ints
from simlab.world.laws.scales import Scale, convert_to_scores

ARGUMENTS = (
    *("n_systems", "n_documents", "n_segments", "n_raters"),
    *("system", "document", "segment", "rater", "score"),
)
"""Names of the arguments that a model may take."""
SCORE = "score"
"""Name of the site of scores."""
PLATES = {"systems": "system", "documents": "document", "segments": "segment", "raters": "rater", "ratings": "rating"}
"""Plates, and the names of their dimensions."""
OF_DOCUMENTS = frozenset({"documents", "segments", "ratings"})
"""Plates whose sites are drawn anew with other documents."""
_PATH = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*)*:[A-Za-z]\w*", re.ASCII)
KEPT_DRAWS = 40
"""Draws of which answers are kept for worlds."""
EACH, SIMULATED = 4, 32
"""Answers that are kept of each rating: one at random of each quarter of so many simulated ones."""
AT_LARGE = 16
"""Raters at large whose answers are kept beside those of the pilot's."""
KEPT_ANSWERS, DOCUMENTS = 6_000_000, (20, 300)
"""Answers that a file keeps at most, as long as they are about so many documents at least; and at most."""
# The largest number that two bytes hold.
MOST_STEPS = 65_535

Model = Callable[..., None]


@dataclass(frozen=True, slots=True)
class OwnEffects:
    """A draw of a law of one's own: the values of sites that stay when documents are drawn anew.

    `of_raters` names those that belong to raters; `scale` is what scores are rounded to.
    """

    sites: Mapping[str, Array]
    of_raters: frozenset[str]
    scale: Scale

    def forget_raters(self) -> OwnEffects:
        """Leave out the sites of raters, so that other raters are drawn as the model says of raters at large."""
        return replace(self, sites={name: value for name, value in self.sites.items() if name not in self.of_raters})


class Site(NamedTuple):
    """A latent site: the plates in which it stands, and its shape."""

    plates: tuple[str, ...]
    shape: tuple[int, ...]


def own_law(path: str) -> FittableLaw:
    """Make a law of the model at MODULE:FUNCTION, which is imported now.

    Raises InputError for what is no such path, or no function, and where it cannot be imported.
    """
    if not _PATH.fullmatch(path):
        raise InputError(f"--law {show(path)}: write a law of your own as MODULE:FUNCTION, such as my_laws:beta_raters")
    module, _, name = path.partition(":")
    try:
        model = resolve(f"{module}.{name}", [module])
    except InputError as error:
        raise InputError(f"--law {path}: {str(error).partition(': ')[2] or error}") from error
    strange = [one for one in inspect.signature(model).parameters if one not in ARGUMENTS]
    if strange or SCORE not in inspect.signature(model).parameters:
        what = f"it asks for {strange[0]}" if strange else "it does not ask for score"
        raise InputError(f"--law {path}: {what}; a law takes score and what else it needs of {', '.join(ARGUMENTS)}")
    simulate = _Simulator(model)
    return FittableLaw(
        path,
        lambda ratings: None,
        partial(fit, path, model),
        partial(answer, simulate),
        _no_world,
        partial(content, path, simulate),
    )


def fit(path: str, model: Model, ratings: Ratings, *, seed: int = 0, draws: int = 100, rough: bool = False) -> Fitted:
    """Sample the model that `path` (MODULE:FUNCTION) names, given a table, by chains of `current_effort().nuts`.

    Returns `draws` draws; `rough` changes nothing here. Raises InputError for a model that lacks a site, has one of a
    wrong shape, or fails.
    """
    import jax

    sites = validate_sites(path, model, ratings)
    given = arguments(model, ratings, ratings.score)
    effort = current_effort().nuts
    key = int(stream(seed, "fit", "own").integers(2**31))
    sampler = make_chains(lambda: model(**given), chains=effort.chains, warmup=effort.warmup, draws=effort.kept)
    try:
        sampler.run(jax.random.PRNGKey(key), extra_fields=("diverging", "accept_prob", "num_steps", "energy"))
    except Exception as error:
        raise InputError(f"--law {path}: cannot be sampled: {_first_line(error)}") from error
    draws_by_site = {name: np.asarray(value, float) for name, value in sampler.get_samples(group_by_chain=True).items()}
    draws_by_site = {name: value for name, value in draws_by_site.items() if name in sites}
    stats = {name: np.asarray(value) for name, value in sampler.get_extra_fields(group_by_chain=True).items()}
    staying = {name for name, site in sites.items() if not OF_DOCUMENTS & set(site.plates)}
    of_raters = frozenset(name for name in staying if "raters" in sites[name].plates)
    scale = gaussian_scale(ratings)
    n_chains, kept = next(iter(draws_by_site.values())).shape[:2]
    picked = [divmod(int(at), kept) for at in np.linspace(0, n_chains * kept - 1, draws).round()]
    return Fitted(
        law=path,
        ratings=ratings,
        effects=[OwnEffects({name: draws_by_site[name][at] for name in staying}, of_raters, scale) for at in picked],
        components={},
        not_identified=_list_unidentified(ratings, sites),
        unknown=frozenset({"leniency_sd", "rater_system_sd", "rater_document_sd"} if ratings.n_raters == 1 else ()),
        diagnosis=_diagnose_chains(draws_by_site, stats),
        posterior=SampledPosterior(draws_by_site, {name: _dims(name, site) for name, site in sites.items()}, stats),
    )


def arguments(model: Model, design: Ratings, score: Floats | None) -> dict[str, Any]:
    """Return the arguments that a model takes of a design and of its scores `[rating]` (None: they are drawn)."""
    every = {
        "n_systems": design.n_systems,
        "n_documents": design.n_documents,
        "n_segments": len(design.document),
        "n_raters": design.n_raters,
        "system": design.system,
        "document": design.document[design.item],
        "segment": design.item,
        "rater": design.rater,
        "score": score,
    }
    return {name: every[name] for name in inspect.signature(model).parameters}


def validate_sites(path: str, model: Model, ratings: Ratings) -> dict[str, Site]:
    """Return the latent sites of a model, traced on a table and on a larger design that shows what belongs to whom.

    Raises InputError for a model that fails, lacks the site `score`, or has one whose shape does not follow the plates.
    """
    where = f"--law {path}"
    sites, score = _trace_model(where, model, arguments(model, ratings, ratings.score))
    if score is None:
        raise InputError(f"{where}: has no site named score; end it with numpyro.sample('score', ..., obs=score)")
    if not score["is_observed"]:
        raise InputError(f"{where}: its site score does not observe the scores; give it obs=score")
    shape, wanted = (*score["fn"].batch_shape, *score["fn"].event_shape), ratings.score.shape
    if shape != wanted:
        raise InputError(f"{where}: its site score has shape {shape}; the table has {wanted[0]} ratings, give one each")
    if not sites:
        raise InputError(f"{where}: has no latent site beside score; there is nothing to learn from ratings")
    for plate in OF_DOCUMENTS - {"ratings"} | {"raters"}:
        _check_shapes(where, model, ratings, sites, plate)
    return sites


def _check_shapes(where: str, model: Model, ratings: Ratings, sites: Mapping[str, Site], plate: str) -> None:
    """Refuse a site that grows with documents, or raters, and does not stand in their plate."""
    given = arguments(model, ratings, None)
    if f"n_{plate}" not in given:
        return
    larger, score = _trace_model(where, model, given | {f"n_{plate}": given[f"n_{plate}"] + 1})
    if score is not None and score["is_observed"]:
        raise InputError(f"{where}: its site score is observed where no score is given; give it obs=score")
    for name, site in sites.items():
        if plate not in site.plates and larger[name].shape != site.shape:
            raise InputError(
                f"{where}: the site {name} has a value for each of the {plate} and does not stand in their plate; "
                f'write it within numpyro.plate("{plate}", n_{plate})'
            )


def _trace_model(where: str, model: Model, given: Mapping[str, Any]) -> tuple[dict[str, Site], Any]:
    """Run a model once, and return its latent sites and that of the scores."""
    import jax
    from numpyro import handlers

    try:
        trace = handlers.trace(handlers.seed(model, jax.random.PRNGKey(0))).get_trace(**given)
    except Exception as error:
        raise InputError(f"{where}: the model fails: {_first_line(error)}") from error
    sites = {
        name: Site(tuple(one.name for one in sorted(site["cond_indep_stack"], key=lambda one: one.dim)), _shape(site))
        for name, site in trace.items()
        if site["type"] == "sample" and not site["is_observed"] and name != SCORE
    }
    return sites, trace.get(SCORE)


def _shape(site: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(np.shape(site["value"]))


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return clip(f"{type(error).__name__}: {lines[0] if lines else ''}", 200)


def _dims(name: str, site: Site) -> tuple[str, ...]:
    """Name the dimensions of a site: those of its plates, then its own."""
    own = len(site.shape) - len(site.plates)
    return (*(PLATES.get(plate, plate) for plate in site.plates), *(f"{name}_dim_{k}" for k in range(own)))


def _diagnose_chains(draws: Mapping[str, Floats], stats: Mapping[str, Array]) -> dict[str, float]:
    """Return the worst R-hat and fewest effective draws of all sites, and how many transitions diverged."""
    single = [np.moveaxis(values.reshape(*values.shape[:2], -1), -1, 0) for values in draws.values()]
    columns = [column.T for values in single for column in values]
    n_chains, kept = next(iter(draws.values())).shape[:2]
    return {
        "r_hat": max(split_rhat(values) for values in columns),
        "effective_draws": min(effective_draws(values) for values in columns),
        "draws": float(n_chains * kept),
        "chains": float(n_chains),
        "divergences": float(stats["diverging"].sum()),
    }


def _list_unidentified(ratings: Ratings, sites: Mapping[str, Site]) -> Sequence[str]:
    plates = {plate for site in sites.values() for plate in site.plates}
    sentences = []
    if ratings.n_raters == 1:
        sentences.append("one rater: how far raters differ is what the priors say")
    for plate in ("documents", "raters"):
        if plate not in plates:
            sentences.append(f"the law has no site in the plate {plate}: to it all of them are alike")
    return sentences


class _Simulator:
    """Answer designs by a model, compiled once for each."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._compiled: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def __call__(
        self, rng: np.random.Generator, effects: OwnEffects, design: Ratings, each: int = 1
    ) -> tuple[Floats, OwnEffects]:
        """Draw scores `[each, rating]`; return with them effects that fix the documents, to ask other raters about."""
        import jax

        key = jax.random.PRNGKey(int(rng.integers(2**31)))
        drawn, sites = self._compile_once(design, frozenset(effects.sites), each)(key, dict(effects.sites))
        return convert_to_scores(effects.scale, np.asarray(drawn, float)), replace(effects, sites=sites)

    def _compile_once(self, design: Ratings, names: frozenset[str], each: int) -> Callable[..., Any]:
        arrays = design.system, design.item, design.rater, design.document
        of = (names, each, design.n_systems, design.n_raters, *(hash(np.asarray(one).tobytes()) for one in arrays))
        if of not in self._compiled:
            self._compiled[of] = _compile_model(self.model, arguments(self.model, design, None), each)
        return self._compiled[of]


def _compile_model(model: Model, given: Mapping[str, Any], each: int) -> Callable[..., Any]:
    import jax
    from numpyro import handlers

    def run(key: Any, sites: dict[str, Any]) -> Any:
        latent, own = jax.random.split(key)
        seeded = handlers.seed(handlers.substitute(model, data=sites), latent)
        trace = handlers.trace(seeded).get_trace(**given)
        others = {
            name: site["value"]
            for name, site in trace.items()
            if site["type"] == "sample"
            and name != SCORE
            and not {"raters", "ratings"} & {one.name for one in site["cond_indep_stack"]}
        }
        return trace[SCORE]["fn"].sample(own, (each,)), others

    return jax.jit(run)


def answer(simulate: _Simulator, rng: np.random.Generator, effects: OwnEffects, design: Ratings) -> Floats:
    """Draw new documents and answers for the same systems and raters: one score per rating of the design."""
    return np.asarray(simulate(rng, effects, design)[0][0])


def _no_world(*given: Any, **named: Any) -> Any:
    raise InputError("a law of one's own draws worlds from its file only: `simlab fit TABLE --law LAW --out FILE.yaml`")


def content(path: str, simulate: _Simulator, fitted: Fitted) -> Mapping[str, Any]:
    """Return the content of the world's file: answers to documents that the model draws, one set for each draw."""
    pilot, rng = fitted.ratings, stream(0, "fit", "own", "kept")
    n_draws = min(KEPT_DRAWS, len(fitted.effects))
    sizes = np.bincount(pilot.document, minlength=pilot.n_documents)
    a_document = n_draws * pilot.n_systems * (pilot.n_raters + AT_LARGE) * EACH * sizes.mean()
    sizes = rng.choice(sizes, int(np.clip(KEPT_ANSWERS / a_document, *DOCUMENTS)))
    at = np.linspace(0, len(fitted.effects) - 1, n_draws).round().astype(int)
    answers = np.stack([_draw_kept_answers(rng, simulate, fitted.effects[k], pilot, sizes) for k in at])
    least, step = float(answers.min()), fitted.effects[0].scale.step
    # Scores without steps are cut into as many as two bytes hold; equal answers have no range to cut.
    step = step or float(np.ptp(answers)) / MOST_STEPS or 1.0
    code = np.rint((answers - least) / step)
    if code.max() > MOST_STEPS:
        step, code = float(np.ptp(answers)) / MOST_STEPS, np.rint((answers - least) * MOST_STEPS / np.ptp(answers))
    code = code.astype("u1" if code.max() < 256 else "<u2")
    return {
        "law": "own",
        "model": path,
        "diagnosis": {name: float(value) for name, value in fitted.diagnosis.items()},
        "kept": {
            "draws": n_draws,
            "document_sizes": sizes.tolist(),
            "raters_at_large": AT_LARGE,
            "each": EACH,
            "least": least,
            "step": step,
            "bytes": int(code.itemsize),
            "answers": b64encode(compress(code.tobytes(), 6)).decode("ascii"),
        },
    }


def _draw_kept_answers(
    rng: np.random.Generator, simulate: _Simulator, effects: OwnEffects, pilot: Ratings, sizes: Ints
) -> Floats:
    """Draw answers of the pilot's raters, then of raters at large, to new documents: `[system, item, rater, each]`."""
    own, known = simulate(rng, effects, _crossed_design(pilot, sizes, pilot.n_raters), SIMULATED)
    at_large, _ = simulate(rng, known, _crossed_design(pilot, sizes, AT_LARGE), SIMULATED)
    shape = SIMULATED, pilot.n_systems, int(sizes.sum()), -1
    scores = np.concatenate([own.reshape(shape), at_large.reshape(shape)], axis=-1)
    quarters = np.sort(scores, axis=0).reshape(EACH, SIMULATED // EACH, *scores.shape[1:])
    chosen = rng.integers(quarters.shape[1], size=(EACH, 1, *scores.shape[1:]))
    return np.asarray(np.moveaxis(np.take_along_axis(quarters, chosen, axis=1)[:, 0], 0, -1))


def _crossed_design(pilot: Ratings, sizes: Ints, n_raters: int) -> Ratings:
    """Lay out a design in which every rater rates every output of new documents once: systems, items, raters."""
    n_items = int(sizes.sum())
    system, item, rater = np.indices((pilot.n_systems, n_items, n_raters)).reshape(3, -1)
    return replace(
        pilot,
        system=system,
        item=item,
        rater=rater,
        document=np.repeat(np.arange(len(sizes)), sizes),
        document_names=name_things("document", len(sizes)),
        item_names=name_things("item", n_items),
        rater_names=name_things("rater", n_raters),
    )
