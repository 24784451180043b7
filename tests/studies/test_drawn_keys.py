"""Draw keys of a world world by world: laws that are read, values that stay where they are, bounds that hold."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from scipy.stats import kstest, lognorm, norm, uniform
from shipped import content
from small_studies import CONF, study

from simlab.config import compose, compose_sweep, load_sweep
from simlab.config.explaining import find_ranges, sentences
from simlab.config.sweepfile import RUN, parse
from simlab.planning.ground import compose_study
from simlab.studies.drawn_keys import draw_keys, draw_value, read_key_laws, read_law
from simlab.studies.worlds import address, draw_at, draw_world
from simlab.types import InputError

KEY = "raters.leniency_sd"
WORLDS = range(400)
BUILT_IN = CONF.parent / "simlab/world/data/fitted_sxs_mqm_generalMT2023_ende.yaml"
OF_LAW = {
    "uniform(.1,.5)": uniform(0.1, 0.4),
    "normal(.3,.01)": norm(0.3, 0.01),
    "lognormal(.3,.5)": lognorm(0.5, scale=0.3),
}


def values(law: str, seed: int = 1, key: str = KEY) -> list[float]:
    return [draw_value(read_law(key, law), seed, world, key) for world in WORLDS]


@pytest.mark.parametrize("law", OF_LAW)
def test_values_have_the_law_that_is_named(law: str) -> None:
    assert kstest(values(law), OF_LAW[law].cdf).pvalue > 0.01
    # The control: another law is told from it.
    assert kstest(values(law), uniform(0.1, 0.2).cdf).pvalue < 1e-6
    low, high = read_law(KEY, law).ends
    assert low < min(values(law)) < max(values(law)) < high


def test_laws_share_the_chance_of_a_world_and_keys_do_not() -> None:
    drawn = np.array([values(law) for law in OF_LAW])
    assert (np.argsort(drawn) == np.argsort(drawn[0])).all()
    other = values("uniform(.1,.5)", key="raters.rater_system_sd")
    assert abs(np.corrcoef(drawn[0], other)[0, 1]) < 0.15
    assert values("uniform(.1,.5)", seed=2) != values("uniform(.1,.5)")


def test_a_world_is_the_one_that_has_the_drawn_number() -> None:
    config = study() | {"raters": study()["raters"] | {"leniency_sd": "uniform(0.1,0.9)"}}
    for world in range(3):
        fixed = draw_keys(config, world)
        assert fixed["raters"]["leniency_sd"] == draw_value(read_law(KEY, "uniform(.1,.9)"), 1, world, KEY)
        one, other = (draw_at(address(of), world) for of in (config, fixed))
        np.testing.assert_array_equal(one.truth, other.truth)
        for law in one.answers:
            assert json.dumps(one.answers[law], default=repr) == json.dumps(other.answers[law], default=repr)
    assert read_key_laws(study()) == {}


@pytest.mark.parametrize("design", [{"design.documents": 10}, {"seed": 1, "worlds": 40, "studies": 3}])
def test_neither_designs_nor_more_worlds_move_a_draw(design: dict[str, Any]) -> None:
    words = [f"{key}={value}" for key, value in design.items()]
    one, other = (compose([f"{KEY}=uniform(.1,.5)", *more]) for more in ([], words))
    assert [draw_keys(one, w)["raters"] for w in range(5)] == [draw_keys(other, w)["raters"] for w in range(5)]


def test_laws_are_values_of_an_axis_and_are_always_written_alike() -> None:
    sweep = compose_sweep(None, [f"{KEY}=uniform(.10, .5)"])
    assert sweep.base["raters"]["leniency_sd"] == "uniform(0.1,0.5)"
    again = compose_sweep(None, [f"{KEY}='uniform( 1e-1,0.50 )'"])
    assert again.base == sweep.base
    several = compose_sweep(replace(RUN, one_cell=False), [f"{KEY}=uniform(.1,.5),.3,lognormal(1,.2)"])
    assert several.axes[0].values == ("uniform(0.1,0.5)", 0.3, "lognormal(1,0.2)")


@pytest.mark.parametrize(
    ("word", "line"),
    [
        (f"{KEY}=normal(.3,.1)", "reaches -0.529, and must be a number >= 0 and <= 1000; lognormal(0.3,0.333) stays"),
        (f"{KEY}=uniform(-.1,1)", "reaches -0.1, and must be a number >= 0 and <= 1000; narrow it"),
        ("raters.noise_share=uniform(.5,1.5)", "reaches 1.5, and must be a number >= 0 and <= 1"),
        ("raters.noise_share=lognormal(.5,1)", "uniform(A,B) stays between its ends"),
        (f"{KEY}=uniform(.5,.1)", "the first number must be less than the second"),
        (f"{KEY}=normal(.5,0)", "the second number is a standard deviation and must be above 0"),
        (f"{KEY}=lognormal(-1,1)", "the first number is the median and must be above 0"),
        (f"{KEY}=lognormal(1,99)", "reaches more than 1e+12"),
        (f"{KEY}=uniform(.5)", "a law has two numbers; write uniform(A,B)"),
        (f"{KEY}=uniform(a,b)", "a law has two numbers; write uniform(A,B)"),
        (f"{KEY}=uniform(1e400,2)", "a law has two numbers"),
        (f"{KEY}=gamma(1,2)", "a law from which worlds draw is uniform(A,B), normal(MEAN,SD), lognormal(MEDIAN,SD) or"),
        (f'{KEY}="gamma(1,2)"', "gamma is no law; write uniform(A,B)"),
        (f'{KEY}="__import__(os)"', "__import__ is no law"),
        ("raters.pool_size=uniform(3,9)", "must be a whole number >= 1 and <= 1000000000; worlds draw numbers of"),
        ("design.documents=uniform(10,20)", "worlds draw numbers of systems, raters and metric that are no counts"),
        ("budget.price_per_rating=uniform(1,2)", "worlds draw numbers of systems, raters and metric"),
        ("raters.noise=uniform(1,2)", "must be fresh or potential"),
        (f"{KEY}=posterior()", "names no file; write posterior(FILE), with what `simlab fit` wrote"),
        (f"{KEY}=posterior(no.yaml)", "no.yaml: cannot be opened"),
        (f"{KEY}=posterior({BUILT_IN.parents[3] / 'README.md'})", "give what `simlab fit TABLE --out FILE.yaml` wrote"),
        (f"raters.minor_weight=posterior({BUILT_IN})", "the file has no draws of minor_weight; it has those of "),
        (f'{KEY}="posterior(0123456789ab:1e999)"', "the draws of the file are not there"),
        (f"raters.pool_size=posterior({BUILT_IN})", "must be a whole number"),
        (
            f"systems.system_sd=posterior({BUILT_IN})",
            "the file has no draws of system_sd; it has those of dispersion, ",
        ),
        (f"systems=gaussian raters=esa {KEY}=posterior({BUILT_IN})", "the file is a fit of the law mqm, whose numbers"),
        ("raters.noise=range", "must be fresh or potential"),
        ("raters.pool_size=range", "must be a whole number"),
        ("raters.major_share=range", "its preset names no range of it; write uniform(A,B), "),
        ("raters.major_share=range", "or take one of raters.dispersion, raters.leniency_sd"),
        ("raters=esa raters.tail=range", "its preset names no range of it"),
        ("design.documents=range", "must be a whole number"),
    ],
)
def test_what_is_no_law_of_a_key_is_refused_in_a_line(word: str, line: str) -> None:
    with pytest.raises(InputError) as error:
        compose(word.split(" ") if " " in word and "(" not in word.partition(" ")[0] else [word])
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def test_keys_of_one_file_take_one_draw_together_and_the_file_is_read_once(tmp_path: Path) -> None:
    file = tmp_path / "fit.yaml"
    shutil.copy(BUILT_IN, file)
    draws = yaml.safe_load(file.read_text(encoding="utf-8"))["draws"]
    config = compose([f"raters.{name}=posterior({file})" for name in ("leniency_sd", "noise_share")])
    file.write_text(file.read_text(encoding="utf-8") + "# Changed.\n", encoding="utf-8")
    other = compose([f"{KEY}=posterior({file})"])
    file.unlink()
    drawn = [draw_keys(config, world)["raters"] for world in WORLDS]
    pairs = list(zip(draws["leniency_sd"], draws["noise_share"], strict=True))
    assert all((one["leniency_sd"], one["noise_share"]) in pairs for one in drawn)
    lenient, truth = np.array([one["leniency_sd"] for one in drawn]), np.array(draws["leniency_sd"])
    assert abs(lenient.mean() - truth.mean()) < 4 * truth.std() / len(WORLDS) ** 0.5
    assert len({*lenient}) > 0.9 * len({*truth})
    # The control: another file has draws of its own.
    assert (lenient != [draw_keys(other, world)["raters"]["leniency_sd"] for world in WORLDS]).mean() > 0.9


def test_draws_of_files_are_named_where_they_are_an_axis() -> None:
    with pytest.raises(InputError, match=r"the draws of a file are no value of an axis; name them in a sweep file"):
        compose_sweep(replace(RUN, one_cell=False), [f"{KEY}=posterior({BUILT_IN}),.3"])


def test_a_plan_takes_no_drawn_keys() -> None:
    with pytest.raises(InputError, match=r"leniency_sd=uniform\(0.1,0.5\): plan takes one value of each key"):
        compose_study([f"{KEY}=uniform(.1,.5)"])
    assert compose_study([f"{KEY}=.1"])["raters"]["leniency_sd"] == 0.1


def test_worlds_of_a_law_are_drawn_once() -> None:
    config = study() | {"raters": study()["raters"] | {"leniency_sd": "uniform(0.1,0.9)"}}
    assert draw_world(config, 1) is draw_world(config, 1)


PRESET = {"raters": "expert_pool.yaml", "systems": "mqm.yaml"}
PARTS = {"raters": "simlab.world.raters.mqm_raters", "systems": "simlab.world.systems.mqm"}


def test_a_range_is_the_uniform_law_that_presets_name() -> None:
    low, high = find_ranges("raters", PARTS["raters"])["leniency_sd"]
    assert compose([f"{KEY}=range"]) == compose([f"{KEY}=uniform({low},{high})"]) != compose([])
    both = compose_sweep(replace(RUN, one_cell=False), [f"{KEY}=range,.3"])
    assert both.axes[0].values == (f"uniform({low},{high})", 0.3)


@pytest.mark.parametrize("group", PARTS)
def test_presets_of_a_part_name_the_same_ranges_as_the_built_in_fit_allows(group: str) -> None:
    ranges = find_ranges(group, PARTS[group])
    files = [file for file in (CONF / group).glob("*.yaml") if content(file).get("_target_") == PARTS[group]]
    fit = yaml.safe_load(BUILT_IN.read_text(encoding="utf-8"))["estimates"]
    for name, (low, high) in ranges.items():
        # Ends are rounded to two figures or so.
        assert low <= fit[name]["low"] * 1.05 + 0.005
        assert high >= fit[name]["high"] * 0.99
        assert low <= content(CONF / group / PRESET[group])[name] <= high
        said = {
            sentences(file.read_text(encoding="utf-8"))[name].text.partition("Data leave open")[2] for file in files
        }
        assert len(said) == 1
        assert "(95 % intervals of fits to WMT23 English-German and TED)" in said.pop()
        compose([f"{group}.{name}=range"])
    assert find_ranges(group, "simlab.world.judges.judges") == {}


def test_the_sweep_of_the_papers_advice_draws_from_these_ranges() -> None:
    sweep = compose_sweep(load_sweep("papers_advice"), [])
    for key in ("leniency_sd", "rater_system_sd", "rater_document_sd", "noise_share"):
        low, high = find_ranges("raters", PARTS["raters"])[key]
        assert sweep.base["raters"][key] == f"uniform({low},{high})"


@pytest.mark.parametrize(
    "held", ["{raters.leniency_sd: uniform(.1,.5)}", "\n  raters.leniency_sd: [uniform(.1,.5), 1]"]
)
def test_a_law_that_yaml_cuts_at_its_comma_is_refused_and_in_quotes_it_is_one(held: str) -> None:
    with pytest.raises(InputError, match=r"half of one; put the law in quotes, \"uniform\(A,B\)\""):
        parse("mine", f"axes: {held}")
    whole = parse(
        "mine", "axes: {raters.leniency_sd: ['uniform(.1,.5)', 1]}\nset:\n  raters.noise_share: uniform(.1,.5)"
    )
    assert [setting.values for setting in whole.settings] == [("uniform(.1,.5)", 1), ("uniform(0.1,0.5)",)]
    assert parse("mine", "axes: {design.documents: [10, 20]}\naim: rounds (of one) or two").aim
