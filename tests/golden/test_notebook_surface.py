"""Hold signatures, attributes and dimensions of what notebooks get against notebook.yaml.

`uv run python tests/golden/test_notebook_surface.py` records them anew.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import test_refusals
import xarray as xr
import yaml

import simlab
from simlab.commands.accessor import Accessor

RECORDED = Path(__file__).with_name("notebook.yaml")
TINY = {"systems.n_systems": 3, "systems.n_documents": 12, "systems.n_segments": 24, "worlds": 2, "studies": 2}
ON_A_CLOCK = {
    "design.documents": 8,
    "design.collection": "crowd",
    "budget.price_per_hour": 20,
    "budget.currency": "EUR",
}
CALLS: Mapping[str, Callable[[], object]] = {
    "run": lambda: simlab.run(TINY, ON_A_CLOCK, out="ran", jobs=1),
    "sweep": lambda: simlab.sweep("item_grouping", TINY, {"design.documents": [8]}, out="swept", jobs=1),
    "sweep of a calculation": lambda: simlab.sweep("measurable_difference", {"n_metric": [0, 9]}, quick=True, out="c"),
    "open_results": lambda: simlab.open_results("ran"),
    "config_of": lambda: simlab.config_of(simlab.open_results("ran")),
    "query": lambda: simlab.query("store", measure="srp,power"),
    "compare": lambda: simlab.compare("store", by="grouping", measure="power"),
    "compare stores": lambda: simlab.compare(["ran", "store"], measure="power", documents=8, grouping="ungrouped"),
    "plot": lambda: simlab.plot("store"),
    "quote": lambda: simlab.quote(TINY, ON_A_CLOCK),
    "timeline": lambda: simlab.timeline("ran"),
    "show": lambda: simlab.show("raters.leniency_sd"),
    "verify": lambda: simlab.verify("ran"),
    "verify a campaign": lambda: simlab.verify("ran", replay="0.1.0"),
    "merge": lambda: simlab.merge("merged", "store"),
    "export": lambda: simlab.export("ran", out="exported.csv"),
    "report": lambda: simlab.report("store"),
    "detect": lambda: simlab.detect(n_human=[100, 200]),
    "detect mix": lambda: simlab.detect(rho=0.8, eta=0.9, solve="mix", difference=0.05, prices="human=1,metric=.01"),
    "agreement": lambda: simlab.agreement("ratings.csv"),
    "mutt make": lambda: simlab.mutt("sentences.jsonl", make="corrupted.jsonl"),
    "mutt": lambda: simlab.mutt("trials.jsonl", metrics="bleu"),
    "fit": lambda: simlab.fit("ratings.csv", law="gaussian"),
    "fit_metric": lambda: simlab.fit_metric("judged.csv"),
    "conclude": lambda: simlab.conclude("ratings.csv"),
    "conclude preferences": lambda: simlab.conclude("votes.csv"),
    "assign": lambda: simlab.assign("dealt", items="items.csv"),
}
"""Each in one folder, in this order; plan and backtest take minutes, so only their signatures are held."""


def surface() -> dict[str, Any]:
    """Describe all public names of simlab."""
    return {
        "signatures": {name: signature(value) for name, value in _public() if inspect.isfunction(value)},
        "classes": {name: members(value) for name, value in _public() if inspect.isclass(value)}
        | {"xarray.Dataset.simlab": members(Accessor)},
    }


def _public() -> Iterator[tuple[str, Any]]:
    yield from ((name, getattr(simlab, name)) for name in simlab.__all__)


def members(kind: type) -> dict[str, str]:
    """Return the fields of a class by their types, and its public methods by their signatures."""
    fields = {one.name: str(one.type) for one in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else {}
    own = {name: value for name, value in vars(kind).items() if not name.startswith("_") and name not in fields}
    return fields | {name: signature(one) for name, one in own.items() if inspect.isfunction(one)}


def signature(function: Callable[..., object]) -> str:
    """Write a signature without the quotation marks of annotations that are texts."""
    return str(inspect.signature(function)).replace("'", "").replace('"', "")


def described(result: Any) -> Any:
    """Describe a result by its type, and by dimensions, variables and attributes where it has these."""
    if isinstance(result, xr.Dataset):
        values = {str(name): ", ".join(map(str, one.dims)) for name, one in result.variables.items()}
        attrs = ", ".join(sorted(map(str, result.attrs)))
        return {"dims": ", ".join(map(str, result.sizes)), "variables": values, "attrs": attrs}
    if dataclasses.is_dataclass(result):
        fields = {one.name: described(getattr(result, one.name)) for one in dataclasses.fields(result)}
        return {"type": type(result).__name__} | {name: one for name, one in fields.items() if not name.startswith("_")}
    if isinstance(result, Mapping):
        return {"keys": sorted(map(str, result))}
    if isinstance(result, list | tuple) and not hasattr(result, "_fields"):
        return {type(result).__name__: sorted({type(one).__name__ for one in result})}
    return type(result).__name__


def results() -> dict[str, Any]:
    """Describe what each call gives in this folder, with the inputs of refusals.yaml."""
    test_refusals.make_inputs()
    return {name: described(call()) for name, call in CALLS.items()}


def recorded() -> dict[str, Any]:
    content: dict[str, Any] = yaml.load(RECORDED.read_text(encoding="utf-8"), yaml.CSafeLoader)
    return content


def test_signatures_and_attributes_are_the_recorded_ones() -> None:
    assert surface() == {name: recorded()[name] for name in ("signatures", "classes")}


def test_every_verb_is_called() -> None:
    called = {name.split()[0] for name in recorded()["results"]}
    assert set(recorded()["signatures"]) - called == {"backtest", "plan"}
    assert list(recorded()["results"]) == list(CALLS)


@pytest.mark.slow
def test_results_have_the_recorded_dimensions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert results() == recorded()["results"]


def test_a_change_of_a_result_or_a_signature_is_found() -> None:
    dataset = xr.Dataset({"srp": ("documents", [0.5, 0.75])}, {"documents": [8, 12]}, {"simlab": "1"})
    same = described(dataset)
    assert described(dataset.copy()) == same
    for other in (dataset.rename(documents="segments"), dataset.rename(srp="power"), dataset.drop_attrs()):
        assert described(other) != same

    @dataclasses.dataclass
    class Fitted:
        law: str

        def write(self, out: str) -> Path:
            return Path(out)

    assert members(Fitted) == {"law": "str", "write": "(self, out: str) -> Path"}
    assert described(Fitted("gaussian")) == {"type": "Fitted", "law": "str"}


def main() -> None:
    """Record signatures, attributes and dimensions anew."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        content = surface() | {"results": results()}
    RECORDED.write_text(
        "# What notebooks get: signatures, public attributes and dimensions (test_notebook_surface.py).\n"
        + yaml.safe_dump(content, sort_keys=False, width=120),
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
