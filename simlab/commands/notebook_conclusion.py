"""Conclude from a table in a notebook: the verb, and what it answers with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from simlab.commands.flags import File, Rows, path_of, told_of
from simlab.commands.notebook_answers import listed
from simlab.commands.typed import mendable
from simlab.tables.held import Alike
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from simlab.answers.conclude import Conclusion


@dataclass(frozen=True, slots=True, repr=False)
class Concluded:
    """Hold what may be concluded from a table.

    `systems` (over `system`: n, estimate, low, high, rank_low, rank_high) and `pairs` (over `pair`: `first`, `second`,
    difference, low, high, p_value, adjusted, direction, verdict, and `more_*`: how many more settle it) are datasets;
    estimates and differences are in the unit of the attribute `units`. `promise` says what is promised of the claims,
    and whether it holds, `warnings` what limits the conclusion. `record` is what `simlab conclude --format json` says,
    `text` its page.
    """

    systems: xr.Dataset
    pairs: xr.Dataset
    promise: Mapping[str, Any]
    warnings: tuple[str, ...]
    record: Mapping[str, Any]
    text: str
    found: Conclusion

    def __repr__(self) -> str:
        """Say what was claimed of how many pairs."""
        claimed = sum(one.verdict != 0 for one in self.found.pairs)
        return f"<Concluded: {claimed} of {len(self.found.pairs)} pairs of systems claimed; .text is the page>"

    def _repr_html_(self) -> str | None:
        """Return the page, for notebooks."""
        return self.found._repr_html_()

    def plot(self, out: File | None = None, *, style: str = "screen", width: str | None = None) -> Figure:
        """Draw order, pairs, raters and metrics; `style` and `width` as for `simlab.plot`.

        Raises InputError for a name that no format of figures has, and for a look that is none.
        """
        from simlab.drawing.figures import conclusion, files, look

        with look.worn(look.look(style, width)):
            return files.write(lambda: conclusion.draw(self.found), path_of(out))

    def paragraph(self) -> str:
        """Return the paragraph on methods and findings, with references."""
        from simlab.drawing.text import paragraphs

        return paragraphs.paragraph(self.found)


def conclude(
    table: File,
    *words: File,
    plan: File | None = None,
    promise: Literal["fixed", "anytime"] | None = None,
    level: float | None = None,
    metric: Sequence[str] | str | None = None,
    family: Literal["all", "against", "best", "ranks", "fdr"] | None = None,
    against: str | None = None,
    margin: float | None = None,
    exclude: Sequence[str] | str = (),
    adequate_from: float | None = None,
    threshold: float | None = None,
    columns: Mapping[str, str] | None = None,
    better: Literal["higher", "lower"] | None = None,
    scale: tuple[float, float] | None = None,
    people: File | None = None,
    where: Rows | None = None,
    alike: Alike = "refuse",
    wide: Sequence[str] = (),
    decimal: Literal[",", "."] | None = None,
    seed: int = 0,
    repetition: bool = True,
    look: bool = False,
    progress: bool = False,
) -> Concluded:
    """Conclude from a table of ratings, preferences, or outputs that humans and metrics scored, under a promise.

    `words` are a second table, and KEY=VALUE for keys of the analysis. Options are those of `simlab conclude`;
    `columns`, `better`, `scale`, `people` and `where` those of `fit`; `repetition=False` is `--no-repetition`.

    Raises InputError, before anything is estimated, for a table that cannot be read and for what is asked wrongly.

    >>> found = simlab.conclude("ratings.csv", against="baseline")  # doctest: +SKIP
    >>> found.pairs.to_dataframe()[["first", "second", "difference", "verdict"]]  # doctest: +SKIP
    >>> found.plot("order.png")  # doctest: +SKIP
    """
    from simlab.commands import conclude as conclusions
    from simlab.commands.notes import note
    from simlab.concluding.concluding import conclude as concluded

    if seed < 0:
        raise InputError(f"seed={seed} must be a whole number >= 0")
    metrics = metric if metric is None or isinstance(metric, str) else ",".join(metric)
    with mendable():
        first, wanted = conclusions.asked(
            [str(word) for word in (table, *words)],
            path_of(plan),
            promise,
            level,
            metrics,
            family,
            against,
            margin,
            [exclude] if isinstance(exclude, str) else list(exclude),
            adequate_from,
            threshold,
            seed,
            told_of(columns, better, scale, people, where, alike, wide, decimal),
            again=repetition,
            look=look,
        )
        if first is None:
            raise InputError("no table is named; conclude takes one, or two")
        return labelled(concluded(first, wanted, note if progress else _silent))


def labelled(found: Conclusion) -> Concluded:
    """Label a conclusion."""
    from simlab.drawing.text import conclusions as text

    return Concluded(
        _in_unit(listed("system", [one.model_dump() for one in found.systems]), found.unit),
        _in_unit(listed("pair", [_pair(one) for one in found.pairs], ("first", "second")), found.unit),
        found.promise.model_dump(),
        tuple(found.warnings),
        found.plain(),
        text.page(found),
        found,
    )


def _pair(pair: Any) -> dict[str, Any]:
    """Flatten a pair; what would settle it is NaN where that is not known."""
    held = {**pair.model_dump(), "pair": f"{pair.first} - {pair.second}", "within": pair.within or ""}
    held["family"] = pair.family or ""
    more, _ = pair.more, held.pop("more")
    for name in ("median", "low", "high"):
        held[f"more_{name}"] = float("nan") if more is None else getattr(more, name)
    return {**held, "more_unit": "" if more is None else more.unit}


def _in_unit(dataset: xr.Dataset, unit: str) -> xr.Dataset:
    for name in ("estimate", "difference", "low", "high"):
        if name in dataset:
            dataset[name].attrs["units"] = unit
    return dataset


def _silent(line: str) -> None:
    """Say nothing of what takes a while."""
