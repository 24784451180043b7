"""Check what a declared study means: values as typed and as written, sweeps as shipped, files by their content."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from shipped import CALCULATIONS, SWEEPS

from simlab.config import canonical_text, compose, compose_calculation, compose_sweep, load_sweep
from simlab.config.overrides import read
from simlab.config.sweepfile import RUN, apply_preset, load
from simlab.studies.checks import check
from simlab.studies.kinds import identify_kind
from simlab.types import RATE, InputError

SCALARS = {
    "1e-3": 0.001,
    "1E3": 1000.0,
    "010": "010",
    "on": "on",
    "yes": "yes",
    "no": "no",
    "null": None,
    "None": "None",
    "1_000": 1000,
    ".5": 0.5,
    "5.": 5.0,
    "-1": -1,
    "true": True,
    "False": False,
    '"20"': "20",
    "'20'": "20",
    "0x10": "0x10",
    "1:30": "1:30",
    "2020-01-01": "2020-01-01",
    "a b": "a b",
    "[1,2]": [1, 2],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def in_file(folder: Path, text: str) -> object:
    (folder / "s.yaml").write_text(f"aim: a\naxes: {{design.documents: [20]}}\nset:\n  decision.level: {text}\n")
    return load(folder / "s.yaml").settings[1].values[0]


@pytest.mark.parametrize("text", SCALARS)
def test_a_value_means_the_same_typed_and_in_a_file(text: str, folder: Path) -> None:
    for value in (read("decision.level", text).values[0], in_file(folder, text)):
        assert value == SCALARS[text]
        assert type(value) is type(SCALARS[text])


@pytest.mark.parametrize("text", ["~", "inf", "nan", "{a: 1}", "${oc.env:HOME}", "="])
def test_what_is_refused_typed_is_refused_in_a_file(text: str, folder: Path) -> None:
    with pytest.raises(InputError):
        read("decision.level", text)
    with pytest.raises(InputError, match=r"s\.yaml"):
        in_file(folder, text)


@pytest.mark.parametrize("text", ["10,20,30", "range(10,40,10)", "choice(10,20,30)", "[10, 20, 30]"])
def test_an_axis_is_written_in_many_ways(text: str, folder: Path) -> None:
    (folder / "s.yaml").write_text(f"aim: a\naxes:\n  design.documents: {text}\n")
    axes = compose_sweep("./s.yaml").axes
    assert [axis.values for axis in axes] == [(10, 20, 30)]
    if not text.startswith("["):
        assert compose_sweep("item_grouping", [f"design.documents={text}"]).axes[1] == axes[0]


def test_what_is_typed_counts_before_its_option_as_behind_it() -> None:
    typed = ["raters.tail=5", "raters=esa", "systems=esa"]
    assert compose(typed)["raters"]["tail"] == 5
    assert canonical_text(compose(typed)) == canonical_text(compose(typed[::-1]))
    # A file's key of another option is forgotten.
    file = replace(RUN, settings=(read("raters", "expert_pool"), read("raters.severity_sd", "0.3")))
    assert "severity_sd" not in compose_sweep(file, typed).base["raters"]


def test_a_whole_number_is_good_for_a_number() -> None:
    assert canonical_text(compose(["budget.price_per_rating=2"])) == canonical_text(
        compose(["budget.price_per_rating=2.0"])
    )


def test_an_axis_keeps_one_value_as_a_dimension() -> None:
    axes = compose_sweep("item_grouping", ["design.documents=20", "design.grouping=ungrouped"]).axes
    assert [(axis.name, axis.values) for axis in axes] == [("grouping", ("ungrouped",)), ("documents", (20,))]


def test_an_axis_whose_name_a_store_needs_goes_by_its_full_key(folder: Path) -> None:
    (folder / "s.yaml").write_text("aim: a\naxes: {systems.n_systems: [4, 5], design.documents: [20]}\n")
    assert [axis.name for axis in compose_sweep("./s.yaml").axes] == ["systems_n_systems", "documents"]


@pytest.mark.parametrize("name", [name for name in SWEEPS if name not in CALCULATIONS])
@pytest.mark.parametrize("quick", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_shipped_sweep_composes_and_its_first_cell_can_be_studied(name: str, quick: bool) -> None:
    sweep = compose_sweep(name, quick=quick)
    assert sweep.aim
    assert sweep.finding
    config = next(sweep.cells()).config
    assert check(config).n_systems > 1
    # A finding says what a test found: another default must not change which.
    if identify_kind(config).question == RATE:
        assert {"analysis.test", "decision"} <= {setting.key for setting in load_sweep(name).settings}


def test_a_study_of_ratings_judges_all_pairs_at_once_for_raters_like_these() -> None:
    plain, named = canonical_text(compose()), compose(["analysis.test=moderated", "decision=max_t"])
    assert canonical_text(named) == plain
    assert canonical_text(compose(["analysis.test=permutation", "decision=significance"])) != plain


def test_what_a_file_sets_within_its_options_holds_for_those_that_are_picked() -> None:
    (cell,) = compose_sweep("preference_naive", ["metric=mu_matrix"]).cells()
    assert cell.config["metric"]["n_outputs"] == 11_000
    (*_, other) = compose_sweep("metric_assisted_ranking", ["metric=correlated"]).cells()
    assert "rho" not in other.config["metric"]  # the control: keys of an option that was not picked are left out


@pytest.mark.parametrize("name", CALCULATIONS)
def test_a_shipped_calculation_composes(name: str) -> None:
    asked = compose_calculation(load_sweep(name), quick=True)
    assert asked.aim
    assert asked.finding
    assert asked.axes
    with pytest.raises(InputError, match=f"{name} is a calculation"):
        compose_sweep(name)


def test_what_is_typed_of_the_raters_of_a_table_counts() -> None:
    raters = compose(["raters.tie_margin=0.1", "systems=recorded", "decision=human_only"])["raters"]
    assert raters == {"_target_": "simlab.world.oracles.compared_scores", "tie_margin": 0.1}


def test_worlds_and_studies_do_not_name_a_cell() -> None:
    assert canonical_text(compose(["worlds=2", "studies=9", "engine.jobs=1"])) == canonical_text(compose())
    assert canonical_text(compose(["seed=2"])) != canonical_text(compose())


def table(shift: int) -> str:
    rows = [f"{s}\td{d}\t1\t{r}\t{(d + shift) % 5}" for s in ("a", "b") for d in range(8) for r in "xyz"]
    return "\n".join(["system\tdocument\tsegment\trater\tscore", *rows, ""])


def test_a_file_is_known_by_its_content(folder: Path) -> None:
    study = ["systems=recorded", "systems.path=t.tsv", "worlds=1"]
    (folder / "t.tsv").write_text(table(0))
    before = compose(study)
    (folder / "t.tsv").write_text(table(1))
    after = compose(study)
    assert before["systems"]["sha256"] != after["systems"]["sha256"]
    assert canonical_text(before) != canonical_text(after)
    assert canonical_text(after) == canonical_text(compose([*study, f"systems.sha256={after['systems']['sha256']}"]))
    assert check(after | {"design": after["design"] | {"documents": 8}}).n_documents == 8
    with pytest.raises(InputError, match=r"t\.tsv has changed since the sweep began"):
        check(before)


def test_files_on_an_axis_are_known_by_their_content(folder: Path) -> None:
    for shift, name in enumerate(("t.tsv", "u.tsv")):
        (folder / name).write_text(table(shift))
    (folder / "s.yaml").write_text("aim: a\naxes: {systems.path: [t.tsv, u.tsv]}\nset: {systems: recorded}\n")
    cells = list(compose_sweep("./s.yaml").cells())
    assert [compose(["systems=recorded", f"systems.path={cell.values[0]}"])["systems"] for cell in cells] == [
        cell.config["systems"] for cell in cells
    ]


@pytest.mark.parametrize("digest", ["abc", "0" * 64])
def test_a_digest_that_is_not_the_files_is_refused(digest: str, folder: Path) -> None:
    (folder / "t.tsv").write_text(table(0))
    with pytest.raises(InputError, match="digest is not"):
        check(compose(["systems=recorded", "systems.path=t.tsv", f'systems.sha256="{digest}"']))


def test_a_digest_without_a_file_is_refused() -> None:
    with pytest.raises(InputError, match=r"systems\.path"):
        check(compose(["systems=recorded", "systems.sha256=abc"]))


PRESETS = "aim: a\naxes: {design.documents: [20, 40]}\npresets: {large: {worlds: 9, design.documents: [30, 40]}}\n"


def test_a_preset_takes_the_place_of_what_its_file_sets(folder: Path) -> None:
    (folder / "s.yaml").write_text(PRESETS)
    sweep = compose_sweep(apply_preset(load_sweep("./s.yaml"), "large"), ["studies=3"])
    assert (sweep.worlds, sweep.studies, sweep.axes[0].values) == (9, 3, (30, 40))
    assert sweep.command == "simlab sweep s.yaml --preset large studies=3"
    assert compose_sweep("./s.yaml").worlds == 5
