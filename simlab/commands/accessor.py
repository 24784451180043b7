"""Accessor `dataset.simlab`: methods of xarray datasets that come from a store, the folder that a sweep filled.

`register` adds it to xarray; a cell is one value of each axis of the sweep.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from simlab.commands import stores, sweeps
from simlab.commands.flags import Setting
from simlab.commands.query_statistics import read_base
from simlab.comparing import cell_datasets
from simlab.store.query import ensure_measures
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

NAMES = {"": "value"} | {f"_{name}": name for name in ("mcse", "n", "clusters", "low", "high", "failed", "reason")}
"""Ending of each variable beside a measure `m` (`m_mcse`), and its name in a dataset of a single measure."""


class Accessor:
    """Ask a dataset that `simlab.open_results`, or plain `xarray.open_zarr`, gave for its measures.

    Measures lie in it by one rule: `m`, `m_mcse`, `m_n` (campaigns) and `m_influence`. Each verb is the function of
    simlab of that name; each raises InputError for a dataset that does not come from a store.
    """

    def __init__(self, dataset: xr.Dataset) -> None:
        """Hold a dataset."""
        self._dataset = dataset

    def measure(self, name: str, *conditions: Setting, **axes: Any) -> xr.Dataset:
        """Take one measure, or stored outcome that has a mean, as `simlab.query` does, by names that it needs no more.

        Returns, over the axes, `value`, its Monte-Carlo standard error `mcse`, the campaigns `n` and the `clusters`
        behind it, `low` and `high` (a 95 % interval) and `failed` (campaigns); where some cell has no value `reason`
        says why. Raises InputError for an axis, a value or a measure that the store does not hold.

        >>> simlab.open_results("outputs/item_grouping").simlab.measure("power", documents=20)  # doctest: +SKIP
        """
        cells = sweeps.query(self._dataset, *conditions, measure=[name], **axes)
        names = {f"{name}{end}": short for end, short in NAMES.items() if f"{name}{end}" in cells}
        renamed = cells[list(names)].rename(names)
        renamed["value"].attrs["ancillary_variables"] = "mcse n"
        return renamed

    def query(self, *conditions: Setting, **asked: Any) -> xr.Dataset:
        """Take the cells that meet conditions, in order: see `simlab.query`, whose `store` is this dataset.

        >>> simlab.open_results("outputs/item_grouping").simlab.query("srp>=.7", sort="cost", top=5)  # doctest: +SKIP
        """
        return sweeps.query(self._dataset, *conditions, **asked)

    def compare(self, *conditions: Setting, **asked: Any) -> xr.Dataset:
        """Compare the designs along an axis: see `simlab.compare`, whose `store` is this dataset.

        >>> simlab.open_results("outputs/item_grouping").simlab.compare(by="grouping")  # doctest: +SKIP
        """
        compared: xr.Dataset = sweeps.compare(self._dataset, *conditions, **asked)  # type: ignore[assignment]
        return compared

    def quantiles(self, measure: str, quantiles: Sequence[float] = (0.1, 0.5, 0.9), *conditions: Setting) -> xr.Dataset:
        """Estimate quantiles over worlds of a measure's true value, with the noise of studies removed.

        Returns, over the axes and `quantile`, `value`, its standard error `mcse` over worlds, `low` and `high` (a 95 %
        interval); over the axes `worlds`, `studies` (the least of a world) and `reliability`, the share of the variance
        of the worlds' means that is no noise. Raises InputError where a cell has fewer than 20 worlds, or one study of
        each, and for what the store does not hold.

        >>> simlab.open_results("outputs/item_grouping").simlab.quantiles("power", [0.1, 0.5])  # doctest: +SKIP
        """
        with self._narrow(measure, conditions) as cells:
            return cell_datasets.world_quantiles(cells, measure, quantiles)

    def share(self, bound: str, *conditions: Setting) -> xr.Dataset:
        """Estimate in what share of worlds a measure's expected value meets a bound (assurance).

        Returns over the axes what `quantiles` returns; raises InputError as it does, and for another bound than
        `MEASURE>=VALUE` or `MEASURE<=VALUE`.

        >>> simlab.open_results("outputs/item_grouping").simlab.share("power>=.8")  # doctest: +SKIP
        """
        wanted = cell_datasets.read_bound(bound)
        with self._narrow(wanted.name, conditions) as cells:
            return cell_datasets.world_shares(cells, wanted)

    def share_better(self, measure: str, margin: float, *conditions: Setting, by: str, baseline: object) -> xr.Dataset:
        """Estimate in what share of worlds each design along an axis beats the baseline by a margin or more.

        Designs are paired world by world and study by study. Returns over the axes, without the baseline, what
        `quantiles` returns; raises InputError as it does.

        >>> store = simlab.open_results("outputs/item_grouping").simlab  # doctest: +SKIP
        >>> store.share_better("power", 0.02, by="grouping", baseline="ungrouped")  # doctest: +SKIP
        """
        with self._narrow(measure, conditions) as cells:
            return cell_datasets.estimate_shares_better(cells, by, measure, margin, baseline)

    def importance(self, measure: str, *conditions: Setting, by: str | None = None) -> xr.Dataset:
        """Share the variance of a measure over the cells out to the axes, with Monte-Carlo noise removed.

        Returns, over `axis`, `main` (what an axis explains alone) and `total` (with its interactions), each with
        `_mcse`, `_low` and `_high` (95 %); with `by`, of the difference between the two designs along that axis. Raises
        InputError where a cell has no value, where cells do not differ by more than their noise, where `by` has other
        than two designs, and for what the store does not hold.

        >>> simlab.open_results("outputs/item_grouping").simlab.importance("power")  # doctest: +SKIP
        """
        with self._narrow(measure, conditions) as cells:
            return cell_datasets.axis_importance(cells, measure, by)

    def sensitivity(
        self, measure: str, *conditions: Setting, around: Mapping[str, object] | str | None = None
    ) -> xr.Dataset:
        """Compare each cell that differs from a base in one axis with it, the axis that moves the measure most first.

        `around` are values of axes, as `{"documents": 40}`; on others the base has the first value of the store.
        Returns, over `setting` (`documents=40`), `axis`, `value` and `mcse`, `difference` from the base with
        `difference_mcse`, `difference_low` and `difference_high` (95 %, paired as `compare` does; NaN for the base
        itself), and of its axis the `swing`, the largest value less the least. Raises InputError where the base, or
        each cell beside it, has no value, where there is no error, and for what the store does not hold.

        >>> simlab.open_results("outputs/item_grouping").simlab.sensitivity("power")  # doctest: +SKIP
        """
        with self._narrow(measure, conditions) as cells:
            return cell_datasets.measure_axis_sensitivity(cells, measure, read_base(cells, around))

    def solve(self, axis: str, *conditions: Setting, **target: float | str) -> xr.Dataset:
        """Estimate from where on along a numeric axis a measure reaches a target, as in `solve("documents", power=.8)`.

        `power="grouping"`: from where on each grouping is as good as the first.

        Returns, over the other axes, `value`, `mcse`, `low` and `high` (a 90 % interval) in the unit of the axis,
        infinite beyond the sweep; `reach` says `crossed`, `not_reached` or `reached_everywhere`, and `side` whether
        the target is met `from` there on or `up_to` there. Of a measure of which less is better the value is to be
        as small as the target. Raises InputError for other than one target, for fewer than three cells with a value,
        and for what the store does not hold.

        >>> simlab.open_results("outputs/item_grouping").simlab.solve("documents", power=0.8)  # doctest: +SKIP
        """
        if len(target) != 1:
            raise InputError(f"solve takes one target, such as power=.8; {len(target)} are given")
        ((measure, value),) = target.items()
        with self._narrow(measure, conditions) as cells:
            if isinstance(value, str):
                return cell_datasets.solve_crossings(cells, axis, measure, value)
            return cell_datasets.solve_axis(cells, axis, cell_datasets.reach(measure, float(value)))

    @contextmanager
    def _narrow(self, measure: str, conditions: Sequence[Setting]) -> Iterator[xr.Dataset]:
        """Yield the dataset of the cells that meet conditions, with the measure."""
        with stores.open_narrowed(self._dataset, stores.split_conditions(conditions)) as cells:
            yield ensure_measures(cells, [measure])

    def plot(self, *conditions: Setting, **asked: Any) -> Figure:
        """Draw the figure of the sweep: see `simlab.plot`, whose `store` is this dataset.

        >>> simlab.open_results("outputs/item_grouping").simlab.plot(measure="power")  # doctest: +SKIP
        """
        return sweeps.plot(self._dataset, *conditions, **asked)


def register() -> None:
    """Give datasets of xarray the attribute `simlab`."""
    import xarray as xr

    if not hasattr(xr.Dataset, "simlab"):
        xr.register_dataset_accessor("simlab")(Accessor)  # type: ignore[no-untyped-call]
