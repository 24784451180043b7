"""Lay the scores of a metric over those of humans, where each has a table of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from simlab.concluding.wanted import Wanted
from simlab.messages import legible
from simlab.tables import judged, reading
from simlab.tables.held import Ratings
from simlab.tables.judged import Outputs
from simlab.types import Array, Floats, InputError

_Key = tuple[str, str, str]


def overlaid(table: Path, second: Path, wanted: Wanted) -> tuple[Outputs, bool]:
    """Return the outputs of either table, and whether lower is better: one is a system, a document and an item.

    Raises InputError for several metrics, a second table that names raters, and tables that share no output.
    """
    if len(wanted.metrics) != 1:
        named = ", ".join(wanted.metrics)
        raise InputError(f"--metric {legible(named, 80)}: {legible(second)} holds scores of one metric; name one")
    people, metric = reading.read(table, wanted.told), reading.read(second)
    if metric.rater_known:
        raise InputError(f"{legible(second)}: names raters, and a metric's scores have none; is it the second table?")
    human_keys, metric_keys = _keys(people), _keys(metric)
    if not set(human_keys) & set(metric_keys):
        both = f"{legible(table)} and {legible(second)}"
        raise InputError(f"{both}: share no output (system, document and item); are both of one test set?")
    outputs = {key: k for k, key in enumerate(dict.fromkeys([*human_keys, *metric_keys]))}
    said = np.full(len(outputs), np.nan)
    said[[outputs[key] for key in metric_keys]] = metric.score
    at = np.array([outputs[key] for key in human_keys], np.int64)
    return _outputs(list(outputs), people, at, wanted.metrics[0], said, metric.rows), people.lower_is_better


def _outputs(keys: list[_Key], people: Ratings, at: Array, name: str, said: Floats, rows: int) -> Outputs:
    """Hold the outputs of `keys`, human ratings of `at` among them."""
    systems, documents = ({key: k for k, key in enumerate(dict.fromkeys(key[part] for key in keys))} for part in (0, 1))
    items = {key: k for k, key in enumerate(dict.fromkeys(key[1:] for key in keys))}
    raters = people.rater_names if people.rater_known else ()
    return Outputs(
        np.array([systems[key[0]] for key in keys], np.int64),
        np.array([items[key[1:]] for key in keys], np.int64),
        tuple(systems),
        len(items),
        judged.padded(at, people.score, len(keys)),
        {name: said},
        len(documents),
        raters,
        people.rows + rows,
        people.gaps,
        notes=people.notes,
        scale=people.scale,
        document=np.array([documents[key[1]] for key in keys], np.int64),
        rater=judged.padded_places(at, people.rater, len(keys)),
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
