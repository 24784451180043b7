"""Answers of `simlab.fit`, `simlab.fit_metric` and `simlab.detect` in notebooks: records and labelled datasets.

`label_fit` takes a `FitResult` and returns a `FittedWorld`, `label_grid` takes `Detections` and returns a dataset;
`lay_out_records` makes a dataset of any rows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlab.answers.detect import DIFFERENCES, POWERS, Detections
from simlab.comparing.contrasts import column, label_records
from simlab.store.units import KEYS

if TYPE_CHECKING:
    import xarray as xr

    from simlab.answers.fit import Fit
    from simlab.commands.fit import FitResult
    from simlab.fitting.laws import SampledPosterior

UNITS = {
    **KEYS,
    **dict.fromkeys((*DIFFERENCES, *POWERS, "difference", "correlation", "threshold"), "1"),
    "n_systems": "systems",
    **dict.fromkeys(("predicted", "low", "high", "observed", "observed_mcse"), "1"),
    "price": "currency",
    "documents": "documents",
    "ratings_per_item": "ratings",
}


@dataclass(frozen=True, slots=True, repr=False)
class FittedWorld:
    """A world fitted to a pilot, and its report.

    `components` are over `component` (sd, low and high of a 95 % interval in points; NaN where the pilot says nothing,
    and `assumed` then), `checks` over `trait` (the real pilot against simulated ones: real, simulated, low, high,
    inside), `failed` names those that lie outside. `answer` is what `simlab fit --format json` says, `world` the file,
    `posterior` all that chains kept, as ArviZ reads it: the groups `posterior` and `sample_stats` over chain and draw,
    parameters on the scale of the law. Draws of the law mqm are independent, and stand in one chain.
    """

    components: xr.Dataset
    checks: xr.Dataset
    world: Mapping[str, Any]
    fit: Fit
    posterior: xr.DataTree

    def __repr__(self) -> str:
        """Name the law, and the checks that failed."""
        return f"<FittedWorld: law {self.law}; checks that failed: {', '.join(self.failed) or 'none'}>"

    def _repr_html_(self) -> str | None:
        """Return the page, for notebooks."""
        return self.fit._repr_html_()

    @property
    def law(self) -> str:
        """The law that was fitted."""
        return self.fit.law

    @property
    def failed(self) -> tuple[str, ...]:
        """Name the checks that failed."""
        return tuple(check.name for check in self.fit.failed)

    @property
    def not_identified(self) -> tuple[str, ...]:
        """Name the components of which the pilot says nothing."""
        return self.fit.not_identified

    @property
    def diagnosis(self) -> Mapping[str, Any]:
        """Return how well chains mixed."""
        return self.fit.diagnosis

    @property
    def answer(self) -> Mapping[str, Any]:
        """The answer as `simlab fit --format json` prints it."""
        return self.fit.serialise()

    def write(self, out: str | os.PathLike[str]) -> Path:
        """Write the world for `systems=fitted systems.path=OUT`; raises InputError for a name that is not .yaml."""
        from simlab.commands.fit import check_names
        from simlab.fitting import report

        check_names(Path(out), None)
        report.write(Path(out), self.world)
        return Path(out)


@dataclass(frozen=True, slots=True, repr=False)
class FittedMetrics:
    """Metrics fitted to a table, with the file of each.

    `learned` is over `row`: value, low and high of a 95 % interval, by `metric` and `what`, and what it rests on.
    `texts[metric]` is the content of a metric's file, `files[metric]` its path (empty without `out`, nothing written),
    `next` are commands that put written files to use.
    """

    learned: xr.Dataset
    notes: tuple[str, ...]
    texts: Mapping[str, str]
    files: Mapping[str, Path]
    next: tuple[str, ...]

    def __repr__(self) -> str:
        """Name the metrics, and how many numbers were learned of them."""
        return f"<FittedMetrics: {len(self.learned.row)} numbers; files of {', '.join(self.texts)}>"


def label_fit(result: FitResult) -> FittedWorld:
    """Return a fit as notebooks get it: datasets of components and checks, and the draws of chains."""
    fit = result.fit
    components = [{"component": component.name, **dict(component)} for component in fit.components]
    checks = [{"trait": check.name, **dict(check)} for check in fit.checks.all]
    for row in (*components, *checks):
        del row["name"]
    tree = label_draws(result.posterior, {"system": result.world["systems"], "rater": result.world["raters"]})
    return FittedWorld(
        lay_out_records("component", components), lay_out_records("trait", checks), result.world, fit, tree
    )


def label_draws(drawn: SampledPosterior | None, names: Mapping[str, Sequence[str]]) -> xr.DataTree:
    """Return the draws of chains as a tree for ArviZ; without groups where nothing was sampled (None).

    `names[dim]` are the coordinates of a dimension: names of systems, or of raters.
    """
    import xarray as xr

    if drawn is None:
        return xr.DataTree()
    sites = {name: (("chain", "draw", *drawn.dims.get(name, ())), value) for name, value in drawn.draws.items()}
    posterior = xr.Dataset(sites)
    chains = {"chain": range(posterior.sizes["chain"]), "draw": range(posterior.sizes["draw"])}
    coords = {dim: list(of) for dim, of in names.items() if dim in posterior.dims}
    stats = xr.Dataset({name: (("chain", "draw"), value) for name, value in drawn.stats.items()}, chains)
    return xr.DataTree.from_dict({"posterior": posterior.assign_coords({**chains, **coords}), "sample_stats": stats})


def label_grid(detections: Detections, given: Mapping[str, Sequence[Any]]) -> xr.Dataset:
    """Return the detections of all combinations of settings as a dataset; settings with several values are axes.

    `given[key]` lists the values of a setting; combinations go through them, the last key fastest.
    """
    rows = [{name: value for name, value in row.items() if name != "unit"} for _, row in detections.each_row()]
    axes = {key: values for key, values in given.items() if len(values) > 1}
    # Counts are whole numbers in the rows, and as they were read in what was given.
    values = {key: list(dict.fromkeys(row[key] for row in rows)) if key in rows[0] else axes[key] for key in axes}
    answer = attach_units(label_records(rows, values))
    for name in (*DIFFERENCES, "difference") if detections.rows[0].unit else ():
        if name in answer:
            answer[name].attrs["units"] = "points"
    return answer


def lay_out_records(dim: str, records: Sequence[Mapping[str, Any]], about: Sequence[str] = ()) -> xr.Dataset:
    """Label records along one dimension; a field of its name is the coordinate, those in `about` lie beside it."""
    import xarray as xr

    fields = {name: (dim, column([record[name] for record in records])) for name in (records[0] if records else ())}
    return xr.Dataset(fields).set_coords([name for name in (*about, dim) if name in fields])


def attach_units(dataset: xr.Dataset) -> xr.Dataset:
    """Attach the unit of each number."""
    for name, variable in dataset.variables.items():
        if str(name) in UNITS and variable.dtype.kind in "if":
            dataset[name].attrs["units"] = UNITS[str(name)]
    return dataset
