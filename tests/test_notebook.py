"""The verbs of notebooks against the command line: the same bits, numbers and errors, and nothing printed."""

from __future__ import annotations

import ast
import csv
import inspect
import json
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import fake_studies
import nbformat
import numpy as np
import pytest
import xarray as xr
from nbclient import NotebookClient

import simlab
from simlab.answers.verify import StoreCheck
from simlab.cli import answer
from simlab.commands.words import word
from simlab.comparing.contrasts import flatten_marks
from simlab.config.overrides import parse
from simlab.store import filling
from simlab.types import InputError

TINY = {"systems.n_systems": 4, "systems.n_documents": 21, "systems.n_segments": 42, "worlds": 2, "studies": 6}
AXES = {"design.grouping": ["pseudo_side_by_side", "ungrouped"], "design.documents": [8, 12]}
WORDS = [f"{key}={value}" for key, value in TINY.items()]
TYPED = [*WORDS, "design.grouping=pseudo_side_by_side,ungrouped", "design.documents=8,12"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lay a store with the command line."""
    folder = tmp_path_factory.mktemp("typed") / "store"
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder.parent)
        assert answer(["sweep", "item_grouping", *TYPED, "--out", str(folder), "--jobs", "1"]) == 0
    return folder


def typed(capsys: pytest.CaptureFixture[str], *line: object, code: int = 0) -> Any:
    """Return what a command answers as JSON."""
    capsys.readouterr()
    assert answer([*map(str, line), "--format", "json"]) == code
    return json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *line: object) -> str:
    """Return what the command line says of a mistake."""
    capsys.readouterr()
    assert answer([*map(str, line)]) == 2
    return capsys.readouterr().err.removeprefix("simlab: ").strip()


def listed(dataset: xr.Dataset, axes: Sequence[str]) -> list[dict[str, Any]]:
    """List a dataset over axes as JSON has it."""
    stacked = dataset.expand_dims("one").stack(row=("one", *axes)).reset_coords()
    names = [name for name in map(str, stacked.variables) if name not in ("row", "one")]
    columns = [stacked[name].values.tolist() for name in names]
    fixed = {name: about.attrs["held_fixed"] for name, about in dataset.items() if "held_fixed" in about.attrs}
    more = {"held_fixed": fixed} if fixed else {}
    return [finite(dict(zip(names, row, strict=True)) | more) for row in zip(*columns, strict=True)]


def fixed_of(measure: str, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Write what one measure holds fixed as a query writes it of several."""
    return [{**row, "held_fixed": {measure: row["held_fixed"]}} for row in rows]


def finite(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with null for what is not a number, as JSON has it."""
    return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in row.items()}


def test_a_sweep_has_the_bits_of_the_command_line(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = simlab.sweep("item_grouping", TINY, AXES, out="store", jobs=1)
    assert capsys.readouterr() == ("", "")
    assert fake_studies.digest(Path("store")) == fake_studies.digest(store)
    assert (store / "README.txt").read_bytes() == Path("store/README.txt").read_bytes()
    assert list(results.sizes)[:2] == ["grouping", "documents"]
    assert results["srp"].dims == ("grouping", "documents")
    assert results["srp"].variable._in_memory
    assert not results["estimate"].variable._in_memory
    assert results["estimate"].attrs["units"] == "points"
    with simlab.open_results("store") as opened:
        xr.testing.assert_identical(opened.load(), results.load())


def test_words_and_mappings_are_the_same_sweep_and_go_to_the_same_folder() -> None:
    first, second = (inspect.unwrap(simlab.sweep)("item_grouping", *given) for given in (TYPED, [TINY, AXES]))
    assert (first.sweep, first.folder) == (second.sweep, second.folder)


def test_a_run_takes_keywords_and_returns_its_measures(capsys: pytest.CaptureFixture[str]) -> None:
    settings = {key: value for key, value in TINY.items() if "." in key}
    one = simlab.run(settings, "design.documents=8", worlds=2, studies=6, measure=["srp", "kendall"], jobs=1)
    assert [path.name for path in Path("outputs").glob("run-*")]
    assert one["srp"].dims == ()
    rows = typed(capsys, "query")
    assert listed(simlab.query(), ()) == rows
    assert simlab.query().to_pandas()["kendall"] == rows[0]["kendall"]
    assert simlab.config_of(one)["design"]["documents"] == 8


def test_what_is_shown_is_that_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("raters.leniency_sd", "srp", "item_grouping"):
        records = typed(capsys, "show", name)
        shown = simlab.show(name)
        assert json.loads(json.dumps(shown.records)) == records  # type: ignore[union-attr]
        assert answer(["show", name]) == 0
        assert capsys.readouterr().out == f"{shown!r}\n"
    study = simlab.show({"design.documents": 20}, config=True)
    assert answer(["show", "design.documents=20", "--config"]) == 0
    assert capsys.readouterr().out == f"{study}\n"


def test_what_verify_finds_is_that_of_the_command_line(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [simlab.verify(store).serialise()] == typed(capsys, "verify", store)
    replayed = simlab.verify(store, replay="1.1.3").serialise()
    assert replayed | {"seconds": 0} == typed(capsys, "verify", store, "--replay", "1.1.3") | {"seconds": 0}
    assert replayed["same"] is True
    shutil.copytree(store, "damaged")
    next(
        path
        for path in Path("damaged").rglob("*")
        if "srp" in path.parts and path.name != "zarr.json" and path.is_file()
    ).write_bytes(b"torn")
    damaged = simlab.verify("damaged")
    assert isinstance(damaged, StoreCheck)
    assert not damaged.sound
    assert [damaged.serialise()] == typed(capsys, "verify", "damaged", code=3)
    assert capsys.readouterr() == ("", "")


def test_a_calculation_is_a_sweep_too() -> None:
    results = simlab.sweep("measurable_difference", {"n_metric": [0, 1000]}, quick=True, out="calculated")
    assert results["measurable_difference"].dims == ("n_human", "n_metric")
    assert Path("calculated/README.txt").is_file()


def test_a_query_is_that_of_the_command_line(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = typed(capsys, "query", store, "documents=12", "--measure", "srp,power,cost")
    capsys.readouterr()
    answered = simlab.query(store, measure=["srp", "power", "cost"], documents=12)
    assert capsys.readouterr() == ("", "")
    assert listed(answered, ("grouping", "documents")) == rows
    assert answered["cost"].attrs["units"] == "currency"
    frame = answered.to_dataframe()
    assert frame.loc[("ungrouped", 12), "cost"] == rows[1]["cost"]
    by_key = simlab.query(store, {"design.documents": [12]}, "grouping=ungrouped", measure="srp,power,cost")
    xr.testing.assert_identical(by_key, answered.isel(grouping=[1]))
    with simlab.open_results(store) as dataset:
        xr.testing.assert_identical(simlab.query(dataset, "documents=12", measure="srp,power,cost"), answered)
        costs = dataset["cost"].values[1, 1]
        assert frame.loc[("ungrouped", 12), "cost"] == pytest.approx(costs.mean())
        means = costs.reshape(2, 6).mean(axis=1)
        assert frame.loc[("ungrouped", 12), "cost_mcse"] == pytest.approx(means.std(ddof=1) / math.sqrt(2))


def test_a_comparison_is_that_of_the_command_line(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # So small studies find hardly anything: their SRP is that of emptiness, and none is called best.
    words = ("--by", "grouping", "--measure", "srp", "--baseline", "ungrouped")
    rows = fixed_of("srp", flatten_marks(typed(capsys, "compare", store, *words, code=3)))
    compared = simlab.compare(store, by="grouping", measure="srp", baseline="ungrouped")
    assert listed(compared, ("documents", "grouping")) == rows
    assert compared["difference"].attrs["units"] == compared["srp"].attrs["units"] == "1"
    assert compared.attrs == {
        "by": "grouping", "measure": "srp", "cluster": "world", "paired": True, "differing": "",
        "conditional": 0,
    }  # fmt: skip
    assert compared.to_dataframe().loc[(8, "pseudo_side_by_side"), "difference"] == rows[0]["difference"]
    numbers = simlab.compare(store, by="documents", baseline=12, grouping="ungrouped")
    assert numbers["difference"].values[0, 0] != 0
    assert np.isnan(numbers["difference"].values[0, 1])


def test_the_best_costs_the_least(store: Path) -> None:
    compared = simlab.compare(store, by="documents", measure="cost")
    assert compared["standing"].sel(grouping="ungrouped").values.tolist()[0] == "best"
    assert float(compared["cost"].sel(grouping="ungrouped", documents=8)) < float(compared["cost"].max())


@pytest.mark.slow
def test_several_stores_are_compared_as_on_the_command_line(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    simlab.run(TINY, {"design.documents": 10, "seed": 2}, out="other", jobs=1)
    rows = fixed_of("srp", flatten_marks(typed(capsys, "compare", store, "other", "documents=8", "--measure", "srp")))
    compared = simlab.compare([store, "other"], measure="srp", documents=8)
    assert listed(compared, ("design",)) == rows
    assert len(rows) == 3
    assert compared.attrs["paired"] is False
    with pytest.raises(InputError, match=r"no store has the axis document; did you mean documents\?"):
        simlab.compare([store, "other"], document=8)


@pytest.mark.slow
def test_a_figure_is_that_of_the_command_line(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["plot", str(store), "--out", "typed.svg", "--measure", "power"]) == 0
    capsys.readouterr()
    figure = simlab.plot(store, measure="power")
    assert capsys.readouterr() == ("", "")
    assert [path.name for path in Path().iterdir()] == ["typed.svg"]
    assert len(figure.axes) == 1
    simlab.plot(store, measure="power", out="own.svg")
    assert Path("own.svg").read_bytes() == Path("typed.svg").read_bytes()
    assert refused(capsys, "plot", store, "--measure", "pwr").endswith("did you mean power?")


DETECT: list[tuple[list[str], dict[str, Any]]] = [
    (["n_human=100", "n_metric=1000,10000", "rho=.7", "eta=.7", "alpha=.6"], {}),
    (["n_human=100", "n_metric=1000", "correlation=.5,.8", "alpha=.3,.6", "n_calibration=none,100"], {}),
    (["n_human=100"], {"difference": 0.05}),
    (["n_metric=1000", "accuracy=.7"], {"solve": "n_human", "difference": 0.02}),
    (["rho=.8", "eta=.9"], {"solve": "mix", "difference": 0.05, "prices": "human=1,metric=.01"}),
]


@pytest.mark.parametrize(("settings", "options"), DETECT, ids=[" ".join(settings) for settings, _ in DETECT])
def test_what_can_be_detected_is_as_on_the_command_line(
    settings: list[str], options: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = typed(capsys, "detect", *settings, *(word for k, v in options.items() for word in (f"--{k}", v)))
    answered = simlab.detect(*settings, **options)
    several = [setting.partition("=")[0] for setting in settings if "," in setting]
    assert list(answered.sizes) == several
    assert listed(answered, several) == rows


def test_numbers_and_lists_say_what_words_say() -> None:
    said = simlab.detect(n_human=100, n_metric=[1000, 10000], rho=0.7, eta=0.7, n_calibration=None)
    xr.testing.assert_identical(said, simlab.detect("n_human=100", "n_metric=1000,10000", {"rho": 0.7, "eta": 0.7}))
    assert said["detectable"].dims == ("n_metric",)
    assert said["detectable"].attrs["units"] == "1"


def test_agreement_is_as_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    table = recorded_table(Path("ratings.tsv"))
    said = typed(capsys, "agreement", table)
    assert said.pop("read")["used"] == 72
    agreed = simlab.agreement(table)
    assert capsys.readouterr() == ("", "")
    rows = [(name, finite(row)) for name, row in agreed.each_row()]
    assert rows == [(name, row) for name, held in said.items() if isinstance(held, list) for row in held]
    with pytest.raises(InputError, match=r"figure\.gif"):
        simlab.agreement(table, plot="figure.gif")


def recorded_table(path: Path) -> Path:
    """Write ratings of three systems on eight documents by three raters."""
    rng = np.random.default_rng(1)
    with path.open("w", newline="") as file:
        lines = csv.writer(file, delimiter="\t")
        lines.writerow(["system", "document", "segment", "rater", "score"])
        for document in range(8):
            for rater in range(3):
                for k, system in enumerate("abc"):
                    lines.writerow([system, f"d{document}", document, f"r{rater}", int(rng.poisson(1 + k))])
    return path


def test_metrics_are_fitted_as_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(2)
    rows = [(s, i, int(h), h + rng.normal()) for s in "ab" for i in range(60) for h in [rng.random() < 0.6]]
    text = "system,item,human,metric\n" + "".join(f"{s},{i},{h},{m:.3f}\n" for s, i, h, m in rows)
    Path("outputs.csv").write_text(text)
    said = simlab.fit_metric("outputs.csv")
    assert [path.name for path in Path().iterdir()] == ["outputs.csv"]
    assert said.files == {}
    line = typed(capsys, "fit-metric", "outputs.csv", "--out", "typed.yaml")
    learned = said.learned.reset_coords()
    assert (
        listed(learned, ())
        if not learned.sizes
        else [{key: learned[key].values[k].item() for key in line["learned"][0]} for k in range(learned.sizes["row"])]
        == line["learned"]
    )
    assert list(said.notes) == line["notes"]
    simlab.fit_metric("outputs.csv", out="own.yaml")
    assert Path("own.yaml").read_text() == Path("typed.yaml").read_text() == next(iter(said.texts.values()))


EXAMPLE = Path(__file__).parents[1] / "examples" / "notebook.ipynb"


def stale(book: nbformat.NotebookNode) -> list[str]:
    """Return what an example should not hold: kept outputs, and verbs that simlab does not have."""
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    named = {name for cell in code for name in re.findall(r"\bsimlab\.(\w+)", cell.source)}
    for cell in code:
        ast.parse(cell.source)
    return sorted([*(named - set(simlab.__all__)), *(cell.id for cell in code if cell.outputs or cell.execution_count)])


def test_the_example_is_a_notebook_without_outputs_whose_verbs_there_are() -> None:
    book = nbformat.read(EXAMPLE, 4)
    nbformat.validate(book)
    assert stale(book) == []
    book.cells[1].source += "\nsimlab.swep()"
    book.cells[1].execution_count = 1
    assert stale(book) == [book.cells[1].id, "swep"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_the_example_walks_from_a_sweep_to_a_campaign_that_is_carried_out_again(here: Path) -> None:
    book = nbformat.read(EXAMPLE, 4)
    NotebookClient(book, timeout=500, kernel_name="python3").execute()
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    said = "".join(output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in outputs)
    assert "did you mean design.documents?" in said
    assert "campaign 2.3.3: 0 of 15 pairs found" in said
    assert "<Concluded: 0 of 15 pairs of systems claimed" in said
    assert "the same bits" in said
    assert [path.name for path in here.iterdir()] == ["outputs"]


@pytest.mark.slow
def test_a_fitted_world_is_that_of_the_command_line() -> None:
    simlab.fit(recorded_table(Path("ratings.tsv")), out="own.yaml")
    assert answer(["fit", "ratings.tsv", "--out", "typed.yaml"]) == 0
    assert Path("typed.yaml").read_bytes() == Path("own.yaml").read_bytes()


@pytest.mark.long
def test_a_backtest_is_that_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    rows = typed(capsys, "backtest", "--quick")
    dataset = simlab.backtest(quick=True).reset_coords()
    assert [{key: dataset[key].values[k].item() for key in rows[0]} for k in range(dataset.sizes["prediction"])] == rows
    assert set(dataset.variables) == set(rows[0])
    assert capsys.readouterr() == ("", "")


MISTAKES: list[tuple[list[str], Callable[[], object]]] = [
    (["run", "design.documets=20"], lambda: simlab.run({"design.documets": 20})),
    (["run", "design.documents=many"], lambda: simlab.run({"design.documents": "many"})),
    (["run", "design.documents=500"], lambda: simlab.run("design.documents=500")),
    (["run", "design.documents=8,12"], lambda: simlab.run("design.documents=8,12")),
    (["run", "seed=-1"], lambda: simlab.run(seed=-1)),
    (["sweep", "item_groupin"], lambda: simlab.sweep("item_groupin")),
    (["sweep", "nowhere.yaml"], lambda: simlab.sweep(Path("nowhere.yaml"))),
    (["sweep", "item_grouping", "seed=1,2"], lambda: simlab.sweep("item_grouping", seed=[1, 2])),
    (["query", "nowhere"], lambda: simlab.query("nowhere")),
    (["query", "STORE", "document=8"], lambda: simlab.query("STORE", document=8)),
    (["query", "STORE", "documents=9"], lambda: simlab.query("STORE", documents=9)),
    (["query", "STORE", "--measure", "srpp"], lambda: simlab.query("STORE", measure="srpp")),
    (["compare", "STORE", "--by", "groupin"], lambda: simlab.compare("STORE", by="groupin")),
    (["plot", "STORE", "--out", "a.gif"], lambda: simlab.plot("STORE", out="a.gif")),
    (["detect", "n_humans=100"], lambda: simlab.detect(n_humans=100)),
    (["detect", "n_human=100", "--difference", "2"], lambda: simlab.detect(n_human=100, difference=2)),
    (["fit", "nowhere.tsv"], lambda: simlab.fit("nowhere.tsv")),
    (["fit", "--out", "world.txt"], lambda: simlab.fit(out="world.txt")),
    (["agreement", "nowhere.tsv"], lambda: simlab.agreement("nowhere.tsv")),
    (["backtest", "--pilot-share", "2"], lambda: simlab.backtest(pilot_share=2.0)),
    (["fit-metric", "nowhere.csv"], lambda: simlab.fit_metric("nowhere.csv")),
]


@pytest.mark.parametrize(("line", "call"), MISTAKES, ids=[" ".join(line) for line, _ in MISTAKES])
def test_a_mistake_is_raised_in_the_words_of_the_command_line(
    here: Path, store: Path, capsys: pytest.CaptureFixture[str], line: list[str], call: Callable[[], object]
) -> None:
    Path("STORE").symlink_to(store)
    text = refused(capsys, *line)
    with pytest.raises(simlab.InputError) as raised:
        call()
    assert " ".join(str(raised.value).split()) == text
    assert capsys.readouterr() == ("", "")
    assert [path.name for path in here.iterdir()] == ["STORE"]


WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: simlab.run(jobs=0), "jobs=0 must be a whole number >= 1"),
    (lambda: simlab.run(30), "30 is no setting; write 'design.documents=30'"),  # type: ignore[arg-type]
    (lambda: simlab.run({"design.documents": {1}}), "a value is a text, a number"),
    (lambda: simlab.sweep("item_grouping", {"design.documents": []}), "design.documents holds no value"),
    (lambda: simlab.fit(law="chains"), "--law chains is unknown; choose from auto"),
    (lambda: simlab.fit(law=["auto"]), "--law [auto] is unknown; did you mean auto?"),  # type: ignore[arg-type]
    (lambda: simlab.assign("my", items="i.csv", form="cvs"), "form=cvs is unknown; did you mean csv?"),  # type: ignore[arg-type]
    (lambda: simlab.fit(better="up"), "better=up is unknown; choose from higher, lower"),  # type: ignore[typeddict-item]
    (lambda: simlab.fit_metric("x.csv", references=2.5), "references=2.5 must be a whole number"),  # type: ignore[arg-type]
    (lambda: simlab.plan(systems=True), "systems=true must be a whole number"),
    (lambda: simlab.fit(seed=1.5), "seed=1.5 must be a whole number >= 0"),  # type: ignore[arg-type]
    (lambda: simlab.fit(seed=-1), "seed=-1 must be a whole number >= 0"),
    (lambda: simlab.backtest(splits=0), "splits=0 must be a whole number >= 1"),
    (lambda: simlab.detect(solve="n_humans", difference=0.1), "did you mean n_human"),  # type: ignore[arg-type]
    (lambda: simlab.compare("nowhere"), "name the axis with --by"),
    (lambda: simlab.compare(["a", "b"], by="grouping"), "give both of these, or neither"),
    (lambda: simlab.config_of(xr.Dataset()), "no attribute config"),
    (lambda: simlab.query(), "nothing was run here yet"),
]


@pytest.mark.parametrize(("call", "message"), WRONG, ids=[message for _, message in WRONG])
def test_what_only_python_can_say_wrongly_is_refused(here: Path, call: Callable[[], object], message: str) -> None:
    with pytest.raises(simlab.InputError) as raised:
        call()
    assert message in str(raised.value)
    assert not list(here.iterdir())


def test_a_folder_that_may_not_be_read_is_said_in_one_line(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(folder: Path) -> Path:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr("simlab.store.opening.valid_store", forbidden)
    with pytest.raises(simlab.InputError, match=r"^here: permission denied$"):
        simlab.query("here")


def test_a_comparison_of_what_a_query_gave_says_what_it_lacks(store: Path) -> None:
    with pytest.raises(simlab.InputError, match="need srp_influence, which this dataset lacks; give the whole store"):
        simlab.compare(simlab.query(store, measure="srp"), by="grouping", measure="srp")


def test_campaigns_that_failed_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def with_failures(sweep: Any, folder: Path, measures: Any, jobs: int | None, **changes: Any) -> Any:
        return fill(sweep, folder, measures, jobs, **changes, block=raising)

    def raising(config: Any, places: Any) -> Any:
        if places[0].world:
            raise ZeroDivisionError("by zero")
        return blocks.run_block(config, places)

    from simlab.studies import blocks

    fill = filling.fill
    monkeypatch.setattr(filling, "fill", with_failures)
    with pytest.warns(UserWarning, match="failed: world 1, .*ZeroDivisionError: by zero") as told:
        one = simlab.run(TINY, {"design.documents": 8}, out="store", jobs=1)
    assert {warning.filename for warning in told} == {__file__}
    assert int(one["srp_n"]) == 6


def test_progress_is_shown_where_it_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    simlab.run(TINY, {"design.documents": 8}, out="store", jobs=1, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "12 of 12 campaigns" in err


@pytest.mark.parametrize(
    "value",
    ["ungrouped", "a,b (1).tsv", 'a "b" \\', "20", "null", "", "it's", "ä", True, None, 3, -0.5, 1e-9, 10**7],
)
def test_a_value_survives_being_written_as_a_word(value: object) -> None:
    setting = parse(word("systems.path", value, axes=True))
    assert setting.values == (value,)
    assert type(setting.values[0]) is type(value)


def test_lists_are_axes_in_a_sweep_and_lists_in_a_run() -> None:
    assert parse(word("k", [1, 2], axes=True)).values == (1, 2)
    assert parse(word("k", [1], axes=True)).swept
    assert parse(word("k", np.array([0.5, 1.0]), axes=True)).values == (0.5, 1.0)
    assert parse(word("k", range(3), axes=True)).values == (0, 1, 2)
    assert parse(word("k", [None, "a,b"], axes=True)).values == (None, "a,b")
    assert parse(word("k", [1, 2], axes=False)).values == ([1, 2],)
    assert parse(word("k", np.eye(2), axes=True)).values == ([[1.0, 0.0], [0.0, 1.0]],)
    assert parse(word("measure", ["srp", "kendall"], axes=True)).values == (["srp", "kendall"],)
    assert word("k", Path("a/b.yaml"), axes=True) == "k=a/b.yaml"


def test_importing_simlab_is_light_and_names_its_verbs() -> None:
    code = """
import sys, time
began = time.process_time()
import simlab
took = time.process_time() - began
heavy = {"numpy", "xarray", "zarr", "typer", "yaml", "scipy", "hydra", "jax", "matplotlib"} & set(sys.modules)
print(took, heavy or "", *dir(simlab))
"""
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    words_of = [run.stdout.split() for run in runs]
    assert min(float(one[0]) for one in words_of) < 0.15
    assert words_of[0][1:] == sorted(simlab.__all__)


def test_type_checkers_see_what_there_is() -> None:
    """Hold the imports that only type checkers follow against the names that are imported when used."""
    assert files("simlab").joinpath("py.typed").is_file()
    tree = ast.parse(Path(simlab.__file__).read_text(encoding="utf-8"))
    imported = {
        alias.name: node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    named = {name: home for name, home in imported.items() if str(home).startswith("simlab.")}
    assert sorted([*named, "__version__"]) == simlab.__all__
    assert all(getattr(simlab, name) is getattr(import_module(str(home)), name) for name, home in named.items())


def test_every_verb_says_what_it_gives_raises_and_shows() -> None:
    for name in (
        "run",
        "sweep",
        "query",
        "compare",
        "plot",
        "fit",
        "fit_metric",
        "backtest",
        "conclude",
        "detect",
        "agreement",
        "quote",
        "timeline",
        "assign",
    ):
        text = getattr(simlab, name).__doc__
        assert "InputError" in text, name
        assert ">>> " in text, name
        assert f"simlab.{name}(" in text, name
    assert simlab.InputError is InputError
    with pytest.raises(AttributeError, match="no attribute 'swep'"):
        _ = simlab.swep
