"""What a dataset of xarray that comes from a store can be asked: `dataset.simlab`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simlab.commands import sweeps
from simlab.commands.flags import Setting

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

NAMES = {"": "value"} | {f"_{name}": name for name in ("mcse", "n", "clusters", "low", "high", "failed", "reason")}
"""What stands beside a measure `m`, as `m_mcse` and so on, and how it is called where only one measure is meant."""


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
        told = sweeps.query(self._dataset, *conditions, measure=[name], **axes)
        names = {f"{name}{end}": short for end, short in NAMES.items() if f"{name}{end}" in told}
        found = told[list(names)].rename(names)
        found["value"].attrs["ancillary_variables"] = "mcse n"
        return found

    def query(self, *conditions: Setting, **asked: Any) -> xr.Dataset:
        """Take the cells that meet conditions, in order: see `simlab.query`, whose `store` is this dataset.

        >>> simlab.open_results("outputs/item_grouping").simlab.query("srp>=.7", sort="cost", top=5)  # doctest: +SKIP
        """
        return sweeps.query(self._dataset, *conditions, **asked)

    def compare(self, *conditions: Setting, **asked: Any) -> xr.Dataset:
        """Compare the designs along an axis: see `simlab.compare`, whose `store` is this dataset.

        >>> simlab.open_results("outputs/item_grouping").simlab.compare(by="grouping")  # doctest: +SKIP
        """
        found: xr.Dataset = sweeps.compare(self._dataset, *conditions, **asked)  # type: ignore[assignment]
        return found

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
