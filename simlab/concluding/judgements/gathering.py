"""Gather the scores that humans and metrics gave to outputs, from one table or from two, over the same documents.

`gather` returns `OutputEvidence`: one entry per output, with the mean of its human ratings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from simlab.concluding.options import ConcludeOptions
from simlab.fitting_metrics.confusion import mean_rating
from simlab.messages import clip, number_naturally, pluralise, suggest
from simlab.tables import judged_outputs, reading
from simlab.tables.cells import load_answers
from simlab.tables.judged_outputs import JudgedOutputs
from simlab.tables.rating_table import Ratings
from simlab.types import Array, Bools, Floats, InputError, Ints

_Key = tuple[str, str, str]

NOBODY = "the table does not name documents: each item is one of its own"


def overlay_tables(table: Path, second: Path, wanted: ConcludeOptions) -> tuple[JudgedOutputs, bool]:
    """Return the outputs of the humans' `table` and of a metric's, `second`, and True where lower is better.

    Outputs are the same where system, document and item are.
    Raises InputError for several metrics, a second table that names raters, and tables that share no output.
    """
    if len(wanted.metrics) != 1:
        named = ", ".join(wanted.metrics)
        raise InputError(f"--metric {clip(named, 80)}: {clip(second)} holds scores of one metric; name one")
    people, metric = reading.read(table, wanted.column_overrides), reading.read(second)
    if metric.rater_known:
        raise InputError(f"{clip(second)}: names raters, and a metric's scores have none; is it the second table?")
    human_keys, metric_keys = _keys(people), _keys(metric)
    if not set(human_keys) & set(metric_keys):
        both = f"{clip(table)} and {clip(second)}"
        raise InputError(f"{both}: share no output (system, document and item); are both of one test set?")
    outputs = {key: k for k, key in enumerate(dict.fromkeys([*human_keys, *metric_keys]))}
    scores = np.full(len(outputs), np.nan)
    scores[[outputs[key] for key in metric_keys]] = metric.score
    at = np.array([outputs[key] for key in human_keys], np.int64)
    return _outputs(list(outputs), people, at, wanted.metrics[0], scores, metric.rows), people.lower_is_better


def _outputs(keys: list[_Key], people: Ratings, at: Array, name: str, scores: Floats, rows: int) -> JudgedOutputs:
    """Hold the outputs of `keys`, human ratings of `at` among them."""
    systems, documents = ({key: k for k, key in enumerate(dict.fromkeys(key[part] for key in keys))} for part in (0, 1))
    items = {key: k for k, key in enumerate(dict.fromkeys(key[1:] for key in keys))}
    raters = people.rater_names if people.rater_known else ()
    return JudgedOutputs(
        np.array([systems[key[0]] for key in keys], np.int64),
        np.array([items[key[1:]] for key in keys], np.int64),
        tuple(systems),
        len(items),
        judged_outputs.pad_ratings(at, people.score, len(keys)),
        {name: scores},
        len(documents),
        raters,
        people.rows + rows,
        people.gaps,
        notes=people.notes,
        scale=people.scale,
        document=np.array([documents[key[1]] for key in keys], np.int64),
        rater=judged_outputs.padded_places(at, people.rater, len(keys)),
        logins=raters,
        where=people.where,
        left_out=people.left_out,
        unused=people.unused,
        far=people.far,
        how=people.how,
    )


def _keys(ratings: Ratings) -> list[tuple[str, str, str]]:
    """Name the output of each rating: system, document, item."""
    systems, documents, items = ratings.system_names, ratings.document_names, ratings.item_names
    return [
        (systems[system], documents[document], items[item])
        for system, document, item in zip(
            ratings.system.tolist(), ratings.document[ratings.item].tolist(), ratings.item.tolist(), strict=True
        )
    ]


@dataclass(frozen=True, slots=True)
class OutputEvidence:
    """Outputs with scores: `system[output]`, `item[output]`, `document[output]`, and the mean rating `human[output]`.

    `human` and `metrics[name][output]` are NaN where there is no score. `labels`: human ratings are labels 0 and 1, and
    means are shares. `noise[output]` is the variance of the mean rating over repeated answers of the same raters (None:
    not known). `read` and `line` describe the table, to programs and to people.
    """

    system_names: tuple[str, ...]
    system: Ints
    item: Ints
    document: Ints
    n_documents: int
    human: Floats
    metrics: Mapping[str, Floats]
    labels: bool
    lower_is_better: bool
    read: Mapping[str, Any]
    line: str
    notes: tuple[str, ...]
    noise: Floats | None = None

    @property
    def rated(self) -> Bools:
        """Return which outputs humans rated."""
        return np.isfinite(self.human)


def gather(table: Path, wanted: ConcludeOptions) -> OutputEvidence:
    """Read outputs with scores from one table, or humans' scores from `table` and a metric's from `wanted.second`.

    Raises InputError for malformed tables, for columns that are asked for and missing, and where humans rated nothing.
    """
    if wanted.second is None:
        outputs, lower = _read_one_table(table, wanted), wanted.column_overrides.better == "lower"
        lower_is_better = None if wanted.column_overrides.better is None else lower
    else:
        outputs, lower = overlay_tables(table, wanted.second, wanted)
        lower_is_better = lower
    kept, left_out = _exclude_raters(outputs, wanted.exclude)
    if not np.isfinite(kept.human).any():
        raise InputError(
            f"{clip(table)}: no output has a human score, and a metric alone says nothing of them; fill human"
        )
    line, read = (
        judged_outputs.describe(kept, lower_is_better=lower_is_better),
        judged_outputs.record(kept, lower_is_better=lower),
    )
    evidence = _evidence(kept, wanted.adequate_from, lower=lower)
    return replace(evidence, line=line, read=read, notes=(*outputs.notes, *left_out, *evidence.notes))


def _evidence(outputs: JudgedOutputs, adequate_from: float | None, *, lower: bool) -> OutputEvidence:
    """Lay outputs out: systems in natural order, documents numbered, ratings as labels where these are asked for."""
    rated = outputs.human[np.isfinite(outputs.human)]
    as_labels = _label_adequacy(outputs, adequate_from, lower=lower)
    document, n_documents, notes = _documents(outputs)
    names = tuple(number_naturally(outputs.system_names))
    place = np.array([names.index(name) for name in outputs.system_names], np.int64)
    return OutputEvidence(
        system_names=names,
        system=place[outputs.system],
        item=outputs.item,
        document=document,
        n_documents=n_documents,
        human=mean_rating(as_labels),
        metrics=outputs.metrics,
        labels=judged_outputs.labels(rated) or adequate_from is not None,
        lower_is_better=lower and adequate_from is None,
        read={},
        line="",
        notes=notes,
        noise=_noise(as_labels.human, outputs.system),
    )


def _read_one_table(table: Path, wanted: ConcludeOptions) -> JudgedOutputs:
    scored = judged_outputs.name_columns(
        load_answers(table, judged_outputs.FORM, wanted.column_overrides), wanted.column_overrides.columns
    )
    if not judged_outputs.holds(scored.header):
        header = clip(", ".join(scored.header), 120)
        raise InputError(
            f"{scored.where}: columns {header} are no table of {judged_outputs.FORM}; name them with --columns "
            "ours=yours,..., or give the metric's scores as a second table"
        )
    there = judged_outputs.metric_columns(scored.header, (), scored.where)
    for name in wanted.metrics:
        if name not in there:
            advice = suggest(name, there, "it has", 200) if there else "it has none beside humans"
            raise InputError(f"--metric {clip(name, 40)}: {scored.where} has no such metric; {advice}")
    return judged_outputs.read_table(scored, wanted.metrics, wanted.column_overrides)


def _exclude_raters(outputs: JudgedOutputs, exclude: Sequence[str]) -> tuple[JudgedOutputs, tuple[str, ...]]:
    """Leave the ratings of some raters out; raise InputError for one that the table does not name."""
    if not exclude:
        return outputs, ()
    rater = np.full(outputs.human.shape, -1) if outputs.rater is None else outputs.rater
    for name in exclude:
        if name not in outputs.logins:
            advice = suggest(name, outputs.logins, "it has", 200) if outputs.logins else "the table names none"
            raise InputError(f"--exclude {clip(name, 40)}: is no rater of this table; {advice}")
    places = [outputs.logins.index(name) for name in exclude]
    out: Bools = np.isin(rater, places)
    note = f"left out: {pluralise(int(out.sum()), 'rating')} by {', '.join(exclude)} (--exclude)"
    return replace(outputs, human=np.where(out, np.nan, outputs.human)), (note,)


def _label_adequacy(outputs: JudgedOutputs, adequate_from: float | None, *, lower: bool) -> JudgedOutputs:
    """Turn human scores into labels: 1 for those at the cutoff `adequate_from` or better, else 0; None leaves them."""
    if adequate_from is None:
        return outputs
    good = outputs.human <= adequate_from if lower else outputs.human >= adequate_from
    return replace(outputs, human=np.where(np.isfinite(outputs.human), good.astype(float), np.nan))


def _noise(human: Floats, system: Ints) -> Floats | None:
    """Return the variance of each output's mean rating over what its raters might have said as well.

    It is that of ratings of an output, pooled over a system's outputs with several; None where some system has none.
    """
    rated = np.isfinite(human)
    n = rated.sum(1)
    mean = np.where(rated, human, 0.0).sum(1) / np.maximum(n, 1)
    square = np.where(rated, (human - mean[:, None]) ** 2, 0.0).sum(1)
    free = np.bincount(system, np.maximum(n - 1, 0))
    if not free[np.unique(system[n > 0])].all():
        return None
    pooled = np.bincount(system, square) / np.maximum(free, 1)
    return np.asarray(np.where(n > 0, pooled[system] / np.maximum(n, 1), np.nan))


def _documents(outputs: JudgedOutputs) -> tuple[Ints, int, tuple[str, ...]]:
    """Number the documents; an item that names none is one of its own."""
    named = outputs.document
    if named is None or (named < 0).all():
        return outputs.item, outputs.n_items, (NOBODY,)
    own = np.where(named >= 0, named, named.max() + 1 + outputs.item)
    document = np.unique(own, return_inverse=True)[1].astype(np.int64)
    lost = int((named < 0).sum())
    notes = (f"{pluralise(lost, 'output')} name no document: each such item is one of its own",) if lost else ()
    return document, int(document.max()) + 1, notes
