"""Between which designs a plan chooses: the usual levers, those that are typed, and lists of designs."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import pytest

from simlab.planning.bench import Composer
from simlab.planning.ground import GivenSettings, stand_on_preset, stand_on_world
from simlab.planning.levers import MOST_SIZES, RATIO, choose_designs, geometric_sizes
from simlab.planning.terms import Design, Ground, family, size_of
from simlab.types import InputError

GROUPING, EACH, TEST, SIZE = "design.grouping", "design.ratings_per_item", "analysis.test", "design.documents"


@pytest.fixture(scope="module")
def preset() -> Ground:
    return stand_on_preset(GivenSettings(("budget.total=500",)))


def designs(ground: Ground, over: str | None = None, candidates: Path | None = None) -> list[Design]:
    return choose_designs(ground, Composer(ground.words), over, candidates)


def values(found: list[Design], key: str) -> list[Any]:
    return list(dict.fromkeys(dict(design)[key] for design in found))


@pytest.mark.parametrize(("low", "high"), [(1, 1), (10, 11), (10, 29), (10, 200), (1, 999999), (20, 30)])
def test_sizes_rise_by_like_ratios(low: int, high: int) -> None:
    sizes = geometric_sizes(low, high)
    assert (sizes[0], sizes[-1]) == (low, high)
    assert sizes == sorted(set(sizes))
    assert len(sizes) <= MOST_SIZES
    if low >= 10 and high <= 200:
        assert all(second / first <= RATIO + 1 / first for first, second in itertools.pairwise(sizes))


def test_the_usual_levers(preset: Ground) -> None:
    found = designs(preset)
    assert values(found, GROUPING) == ["pseudo_side_by_side", "ungrouped"]
    assert values(found, EACH) == [1, 2]
    assert values(found, "analysis.normalization") == ["none", "zscore"]
    assert values(found, SIZE) == geometric_sizes(10, 29)
    assert len({family(design) for design in found}) == 8
    assert len(found) == len(set(found)) == 8 * len(geometric_sizes(10, 29))


def test_one_analysis_goes_with_all_designs(preset: Ground) -> None:
    assert not any(TEST in dict(design) for design in designs(preset))
    alone = stand_on_preset(GivenSettings(("budget.total=500",), raters=1))
    assert EACH not in dict(designs(alone)[0])
    assert values(designs(alone), GROUPING) == ["pseudo_side_by_side"]


@pytest.mark.parametrize(
    ("over", "found"),
    [
        ("design.documents=20,10", [{SIZE: 10}, {SIZE: 20}]),
        ("design.documents= 10 , 20", [{SIZE: 10}, {SIZE: 20}]),
        ("design.documents=25..27", [{SIZE: 25}, {SIZE: 27}]),
        ("design.grouping=ungrouped,pseudo_side_by_side", [{GROUPING: "ungrouped"}, {GROUPING: "pseudo_side_by_side"}]),
        ("design.grouping", [{GROUPING: "pseudo_side_by_side"}, {GROUPING: "ungrouped"}]),
        ("design.load_entropy=.9,null", [{"design.load_entropy": 0.9}, {"design.load_entropy": None}]),
        (
            "design.grouping=ungrouped,design.ratings_per_item=1,2",
            [{GROUPING: "ungrouped", EACH: 1}, {GROUPING: "ungrouped", EACH: 2}],
        ),
        ("raters.pool_size", [{"raters.pool_size": n} for n in (6, 8, 10, 15)]),
    ],
)
def test_typed_levers(preset: Ground, over: str, found: list[dict[str, Any]]) -> None:
    assert [dict(design) for design in designs(preset, over)] == found


def test_the_pool_of_a_fitted_world_is_its_own_key(fitted_world: Path) -> None:
    ground = stand_on_world(fitted_world, GivenSettings(("budget.total=300",), raters=6))
    found = designs(ground, "raters.pool_size=6,9")
    assert [dict(design) for design in found] == [{"systems.n_raters": 6}, {"systems.n_raters": 9}]
    assert values(designs(ground), "analysis.normalization") == ["none", "zscore"]


@pytest.mark.parametrize(
    ("over", "said"),
    [
        ("decision.level", r"--over decision.level: a looser level finds more .* fix it"),
        ("decision.level=.05,.1", "--over decision.level: a looser level"),
        ("seed", "--over seed: all designs meet the same worlds"),
        ("worlds=3", "--over worlds: a plan takes as many worlds as it needs"),
        ("studies=3", "--over studies"),
        ("pools=2", "--over pools"),
        ("measure", "--over measure: what is measured is no choice"),
        ("design.documnts=10", r"design.documnts is no key of this study; did you mean design.documents\?"),
        ("design.documents=20..10", "a range goes from the smaller to the larger"),
        ("design.documents=0..10", "a range goes from the smaller to the larger"),
        ("design.documents=10,10", "holds 10 twice"),
        ("design.documents=abc", "must be a whole number"),
        ("design.documents=1.5", "must be a whole number"),
        ("design.documents,design.documents=10", "design.documents is named twice"),
        ("design.overlap", "say between which values: design.overlap=A,B"),
        ("design.grouping=ungruped", r"did you mean ungrouped\?"),
        ("", "'' is no key of this study"),
        ("=", "'' is no key of this study"),
        (",", "is no key of this study"),
        ("a b", "'a b' is no key of this study"),
        ("design.documents=10;20", "cannot be read"),
        ("design.documents=3", "the design design.documents=3: design.documents=3 is fewer than 6"),
        ("design.documents=10,100", "the design design.documents=100: design.documents=100 exceeds the 29 documents"),
        ("design.ratings_per_item=1,9", r"the design design.ratings_per_item=9: .*exceeds the 3 raters of a bucket"),
        ("raters.pool_size=2,6", "the design raters.pool_size=2: raters.raters_per_bucket=3 exceeds the pool"),
        (
            "analysis.test",
            "the design analysis.test=by_rater: decision.multiplicity=max_t needs a test of all pairs at once",
        ),
        (
            "raters.leniency_sd=1,2,3,4,5,6,7,8,9,raters.residual_sd=1,2,3,4,5,6,7,8,9,"
            "raters.rater_system_sd=1,2,3,4,5,6,7,8,9,design.documents=10..20",
            "more than 5,000 designs",
        ),
    ],
)
def test_what_is_no_lever_is_refused_in_one_line(preset: Ground, over: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as refused:
        designs(preset, over)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 600


def test_designs_from_a_table_and_from_a_list_are_the_same(preset: Ground, tmp_path: Path) -> None:
    table, listed = tmp_path / "designs.csv", tmp_path / "designs.yaml"
    table.write_text("design.grouping,design.documents,design.ratings_per_item\nungrouped,12,\n,20,2\n")
    listed.write_text(
        "- {design.grouping: ungrouped, design.documents: 12}\n- design.documents: 20\n  design.ratings_per_item: 2\n"
    )
    wanted = [{GROUPING: "ungrouped", SIZE: 12}, {SIZE: 20, EACH: 2}]
    for file in (table, listed):
        assert [dict(design) for design in designs(preset, None, file)] == wanted
    assert [size_of(design) for design in designs(preset, None, table)] == [12, 20]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("d.csv", None, "cannot be read; name a .csv or a .yaml file"),
        ("d.csv", "", "holds no designs"),
        ("d.csv", "design.documents\n", "holds no designs"),
        ("d.csv", "design.documents\n\xff", "cannot be read"),
        ("d.csv", "design.documents,design.grouping\n12,ungrouped,3\n", "a row has more fields than the first"),
        ("d.csv", "design.documents\n12\n3\n", "the design design.documents=3: design.documents=3 is fewer than 6"),
        ("d.csv", "design.documnts\n12\n", "design.documnts"),
        ("d.csv", "documents\n12\n", "documents is no key"),
        ("d.yaml", "[", "is no YAML"),
        ("d.yaml", "", "holds no designs"),
        ("d.yaml", "design.documents: 12\n", "holds no designs"),
        ("d.yaml", "- 12\n", "holds no designs"),
        ("d.yaml", "- {}\n", "holds no designs"),
        ("d.yaml", "- design.documents: [12, 13]\n", "design.documents"),
        ("d.yaml", "- design: {documents: 12}\n", "design"),
        ("d.yaml", "- design.documents: 12\n- design.ratings_per_item: 9\n", "the design design.ratings_per_item=9"),
        ("d.yaml", "- decision.level: 0.1\n", "a looser level"),
    ],
)
def test_a_broken_list_is_refused_in_one_line(
    preset: Ground, tmp_path: Path, name: str, text: str | None, said: str
) -> None:
    file = tmp_path / name
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said) as refused:
        designs(preset, None, file)
    assert "--candidates" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_levers_and_lists_exclude_each_other(preset: Ground, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--over and --candidates both say"):
        designs(preset, "design.documents", tmp_path / "d.csv")


def test_sizes_end_where_the_world_does(preset: Ground) -> None:
    sizes = values(designs(preset, "design.documents"), SIZE)
    assert sizes[-1] == 29
    assert math.isclose(sizes[0], 10)
