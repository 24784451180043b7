"""Answer the questions that are asked of a store, of a table of ratings, and of the collection of sweeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from simlab.commands.launch import note
from simlab.drawing import view
from simlab.drawing.text import cells, tables
from simlab.drawing.text.tables import Form
from simlab.store import opening
from simlab.store.folder import last_store
from simlab.store.query import add_measures, records
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr


def query(folder: Path | None, conditions: Sequence[str], names: Sequence[str] | None, form: Form) -> str:
    """Write the measures of the cells that meet the conditions."""
    with opened(folder, conditions) as dataset:
        dataset, held = _with_measures(dataset, names or ())
        wanted = [view.nearest(name, held, "the measure") for name in names or held]
        found = records(dataset, wanted)
        return cells.table(found, opening.axes_of(dataset), wanted) if form == "table" else tables.write(found, form)


def compare(
    folder: Path | None, conditions: Sequence[str], by: str, measure: str | None, baseline: str | None, form: Form
) -> str:
    """Write the paired differences between the designs along an axis."""
    from simlab.comparing.contrasts import compare as contrasts
    from simlab.drawing.text import comparison

    with opened(folder, conditions) as dataset:
        dataset, _ = _with_measures(dataset, [measure] if measure else [])
        axis, name = view.axis(dataset, by), view.chosen(dataset, measure)
        against = None if baseline is None else view.value_on(dataset, axis, baseline)
        rows = contrasts(dataset, by=axis, measure=name, baseline=against)
        if form != "table":
            return tables.write(comparison.records(rows, axis, name), form)
        return comparison.table(rows, axis, name, str(dataset[name].attrs.get("cluster", "cluster")))


def compare_stores(
    folders: Sequence[Path], conditions: Sequence[str], measure: str | None, baseline: str | None, form: Form
) -> str:
    """Write the differences between the cells of several stores, paired where they met the same worlds."""
    from simlab.comparing import several_stores as joining
    from simlab.comparing.contrasts import compare as contrasts
    from simlab.drawing.text import comparison

    with ExitStack() as stack:
        stores = {}
        for folder in folders:
            dataset = stack.enter_context(opening.open_results(folder))
            own = [c for c in conditions if c.partition("=")[0] in opening.axes_of(dataset)]
            dataset, _ = _with_measures(view.narrowed(dataset, own), [measure] if measure else [])
            stores[folder.name] = dataset
        if len(stores) < len(folders):
            raise InputError("two of these folders have the same name; rename one")
        common = joining.common_measures(stores)
        if not common:
            raise InputError("these stores have no measure in common; name one with --measure")
        name = view.nearest(measure, common, "the measure") if measure else common[0]
        joined, same = joining.join(stores, name)
        if baseline is not None:
            view.nearest(baseline, joined[joining.DESIGN].values.tolist(), "the design")
        rows = contrasts(joined, by=joining.DESIGN, measure=name, baseline=baseline)
        if form != "table":
            return tables.write(comparison.records(rows, joining.DESIGN, name), form)
        text = comparison.table(rows, joining.DESIGN, name, "world")
        return (
            text if same else f"{text}\nNot all stores met the same worlds: differences between those are not paired."
        )


def plot(folder: Path | None, conditions: Sequence[str], out: Path | None, measure: str | None) -> str:
    """Draw the figure of a sweep; return the name of its file."""
    from simlab.drawing.figures import sweeps as figures

    if out is not None:
        figures.check_suffix(out)
    place = _folder(folder)
    with opened(place, conditions) as dataset:
        file = out or place / "figure.png"
        dataset, _ = _with_measures(dataset, [measure] if measure else [])
        figures.plot(dataset, file, measure)
    return str(file)


def verify(folder: Path | None, conditions: Sequence[str]) -> tuple[str, bool]:
    """Check a store; return a line per check and whether all is well."""
    from simlab.engine import ledger
    from simlab.store import calculations
    from simlab.store import verifying as checks
    from simlab.store.measures import measures_of

    if conditions:
        raise InputError(f"verify checks a whole store; leave out {conditions[0]}")
    where = _folder(folder)
    if not (where / ledger.FILE).exists() and (calculated := calculations.verify(where)):
        count, problems = calculated
        end = "they differ" if problems else "the store holds the same"
        return "\n".join([*problems, f"{tables.counted([count], 'measure')} calculated anew: {end}"]), not problems
    with ledger.reading(where) as book:
        sections = (book.declaration() or {})["measure"]
    # Parts of plug-in packages are not at hand here; their values are held against their checksums only.
    own = {name: section for name, section in sections.items() if section["_target_"].startswith("simlab.")}
    found = checks.verify(where, measures_of({"measure": own}))
    parts = [(found.cells, "cell"), (found.blocks, "block"), (found.arrays, "array")]
    checked = f"{', '.join(tables.counted([count], noun) for count, noun in parts)} checked"
    if found.problems:
        return "\n".join([*found.problems, f"{checked}: {tables.counted([len(found.problems)], 'problem')}"]), False
    return f"{checked}: checksums hold, nothing is missing, the store is what the ledger says", True


def _with_measures(dataset: xr.Dataset, names: Sequence[str]) -> tuple[xr.Dataset, tuple[str, ...]]:
    """Add measures that the store does not hold but its outcomes can give; return it and the names it holds now."""
    if all(name in opening.measures_of(dataset) for name in names):
        return dataset, opening.measures_of(dataset)
    from simlab.store.measures import all_measures

    known = all_measures()
    for name in names:
        view.nearest(name, tuple(dict.fromkeys([*opening.measures_of(dataset), *known])), "the measure")
    added = add_measures(dataset, {name: known[name] for name in names if name in known})
    return added, opening.measures_of(added)


def _folder(folder: Path | None) -> Path:
    if folder is not None:
        return folder
    found = last_store()
    note(f"store: {found}")
    return found


@contextmanager
def opened(folder: Path | None, conditions: Sequence[str]) -> Iterator[xr.Dataset]:
    """Open a store narrowed to the cells that meet conditions; say on stderr what its errors leave out."""
    with opening.open_results(_folder(folder)) as dataset:
        yield view.narrowed(dataset, conditions)
        # Only once the answer is there: a mistake is answered by one line.
        if condition := view.condition(dataset):
            note(condition)
