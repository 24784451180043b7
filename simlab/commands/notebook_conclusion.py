"""Answer of `simlab.conclude` in notebooks: `label_conclusion` makes a `Concluded` of the command's answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simlab.commands.flags import File, make_path
from simlab.commands.notebook_answers import lay_out_records
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from simlab.answers.conclude import Conclusion
    from simlab.commands.conclude import ConcludeAnswer


@dataclass(frozen=True, slots=True, repr=False)
class Concluded:
    """Conclusion from a table, as datasets of systems and pairs.

    `systems` (over `system`: n, estimate, low, high, rank_low, rank_high) and `pairs` (over `pair`: `first`, `second`,
    difference, low, high, p_value, adjusted, direction, verdict, and `more_*`: how many more settle it) are datasets;
    estimates and differences are in the unit of the attribute `units`. `promise` describes the guarantee on all claims
    together, and whether it holds; `warnings` are limits of the conclusion. `record` is the answer of `simlab conclude
    --format json`, `text` that for a terminal.
    """

    systems: xr.Dataset
    pairs: xr.Dataset
    promise: Mapping[str, Any]
    warnings: tuple[str, ...]
    record: Mapping[str, Any]
    text: str
    found: Conclusion

    def __repr__(self) -> str:
        """Name how many pairs there are, and how many are claimed."""
        claimed = sum(pair.verdict != 0 for pair in self.found.pairs)
        return f"<Concluded: {claimed} of {len(self.found.pairs)} pairs of systems claimed; .text is the page>"

    def _repr_html_(self) -> str | None:
        """Return the page, for notebooks."""
        return self.found._repr_html_()

    def plot(self, out: File | None = None, *, style: str = "screen", width: str | None = None) -> Figure:
        """Draw systems, pairs, raters and metrics; `style` and `width` as for `simlab.plot`.

        Raises InputError for a name that no format of figures has, and for a look that is none.
        """
        from simlab.commands.conclude import draw
        from simlab.drawing.figures import files, page_style

        with page_style.figure_style(page_style.look(style, width)):
            return files.write(lambda: draw(self.found), make_path(out))

    def paragraph(self) -> str:
        """Return the paragraph on methods and findings, with references."""
        from simlab.commands.conclude import write_paragraph

        return write_paragraph(self.found)


def label_conclusion(answered: ConcludeAnswer) -> Concluded:
    """Return a conclusion as notebooks get it; raise InputError for a check of a table, and for a plan without one."""
    from simlab.answers.conclude import Conclusion
    from simlab.commands.conclude import page

    if not isinstance(conclusion := answered.result, Conclusion):
        raise InputError("notebooks conclude from a table; name one, and leave check out")
    return Concluded(
        _set_unit(lay_out_records("system", [system.model_dump() for system in conclusion.systems]), conclusion.unit),
        _set_unit(
            lay_out_records("pair", [_pair(pair) for pair in conclusion.pairs], ("first", "second")), conclusion.unit
        ),
        conclusion.promise.model_dump(),
        tuple(conclusion.warnings),
        conclusion.serialise(),
        page(conclusion),
        conclusion,
    )


def _pair(pair: Any) -> dict[str, Any]:
    """Flatten a pair to a row of numbers and texts; `more_*` is NaN where it is not known what settles the pair."""
    fields = {**pair.model_dump(), "pair": f"{pair.first} - {pair.second}", "within": pair.within or ""}
    fields["family"] = pair.family or ""
    more, _ = pair.more, fields.pop("more")
    for name in ("median", "low", "high"):
        fields[f"more_{name}"] = float("nan") if more is None else getattr(more, name)
    return {**fields, "more_unit": "" if more is None else more.unit}


def _set_unit(dataset: xr.Dataset, unit: str) -> xr.Dataset:
    for name in ("estimate", "difference", "low", "high"):
        if name in dataset:
            dataset[name].attrs["units"] = unit
    return dataset
