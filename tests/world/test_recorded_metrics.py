"""What real metrics say of real outputs, counted by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from metric_tables import METRIC, csv, segment_files
from places import places

from simlab.config import compose, compose_sweep
from simlab.config.recorded_worlds import understood_metrics
from simlab.studies.blocks import run_block
from simlab.studies.checks import check
from simlab.studies.worlds import draw_world
from simlab.types import InputError, World

# Pairs are A-B, A-C, B-C; segments 1, 2, 4, 5 that humans rated, then 3; 0, 1, 2 are >, =, <.
BY_SIGN = [[0, 2, 0, 1, 0], [0, 0, 0, 2, 0], [0, 0, 0, 2, 2]]
BY_MARGIN = [[1, 1, 1, 1, 0], [0, 0, 0, 2, 0], [0, 0, 0, 2, 1]]
"""Differences up to .2 are draws: .1, .1, .05, 0 of A and B, and .2 of B and C on the third segment."""


PATIENT = ("decision=human_only", "decision.level=1e-9")
"""A rule that asks for every rating, whatever the metric says."""


def config(path: Path, *more: str) -> dict[str, Any]:
    rule = () if "decision=human_only" in more else ("decision=bayes",)
    return compose(["systems=recorded", f"systems.path={path}", "metric=recorded", *rule, *more])


def world(path: Path, *more: str) -> World:
    return draw_world(config(path, "metric.column=bleu", *more), 0)


@pytest.mark.parametrize(("margin", "wanted"), [(0.0, BY_SIGN), (0.2, BY_MARGIN)])
def test_scores_are_compared_with_a_margin(tmp_path: Path, margin: float, wanted: list[list[int]]) -> None:
    law = world(csv(tmp_path), f"metric.margin={margin}").metric
    assert law.recorded.tolist() == wanted
    assert law.rest_document.tolist() == [0]


BY_SIZE = [[1, 3, 0, 1, 2], [0, 0, 0, 4, 2], [0, 0, 1, 4, 4]]
"""Halves of the 13 differences that are no draws (.05 to .7, cut at .4): 0 and 4 are the large ones."""


def test_sizes_of_differences_are_cut_where_half_are_larger(tmp_path: Path) -> None:
    law = world(csv(tmp_path), "metric.bins=2").metric
    difference = np.array([[0.1, -0.1, 0.05, 0, 0.7], [0.6, 0.4, 0.3, -0.7, 0.5], [0.5, 0.5, 0.25, -0.7, -0.2]])
    size = np.abs(difference) > np.median(np.abs(difference[difference != 0]))
    assert law.recorded.tolist() == (2 - np.sign(difference) * (1 + size)).astype(int).tolist()
    assert (law.bins, law.draws) == (2, True)
    assert world(csv(tmp_path), "metric.bins=1").metric.recorded.tolist() == BY_SIGN


def test_lower_scores_can_be_the_better_ones(tmp_path: Path) -> None:
    turned = 2 - np.array(BY_SIGN)
    assert world(csv(tmp_path), "metric.better=lower").metric.recorded.tolist() == turned.tolist()


def test_files_of_segment_scores_say_the_same_as_a_table(tmp_path: Path) -> None:
    human = segment_files(tmp_path, {"bleu": METRIC})
    assert world(human).metric.recorded.tolist() == BY_SIGN


def test_outputs_that_humans_never_rated_have_the_metrics_word_alone(tmp_path: Path) -> None:
    more = ["metric.column=bleu", "budget.annotations_per_pair=5", "budget.batch_size=5", *PATIENT]
    found = run_block(config(csv(tmp_path), *more), places(0, 1)).arrays
    # Of 4, 3, 3 ratings that there are every one was asked for; the third segment was never asked about.
    assert found["used"].tolist() == [[4, 3, 3]]
    assert found["ratings_possible"].tolist() == [10]


def test_what_a_metric_says_of_outputs_that_humans_rated_counts_once(tmp_path: Path) -> None:
    """Follow the counts: all of the metric's words before anybody is asked, those of the third segment at the end."""
    from simlab.studies.kinds import find_kind
    from simlab.studies.preferences.evidence import count_evidence

    kind = find_kind("compare")
    asked = config(csv(tmp_path), "metric.column=bleu", "budget.annotations_per_pair=5", *PATIENT)
    prepared = kind.prepare(asked)
    made, (place,) = draw_world(asked, 0), places(0, 1)
    noise = kind.draw(prepared, made, kind.lay(prepared, made, place), place)
    (campaign,) = kind.collect(prepared, made, None, iter([noise]), [place])
    evidence = count_evidence(prepared, campaign.collected)
    assert evidence.metric[:, 0].tolist() == [[3, 1, 1], [4, 0, 1], [3, 0, 2]]
    assert evidence.metric[:, -1].tolist() == [[1, 0, 0], [1, 0, 1], [0, 0, 2]]  # C has no human on segment 5
    assert evidence.confusion[0, -1].tolist() == [[1, 0, 1], [0, 1, 0], [0, 1, 0]]
    assert evidence.confusion.sum((2, 3))[:, -1].tolist() == [4, 3, 3]


def test_the_metric_of_a_table_is_looked_for_where_the_ratings_are(tmp_path: Path) -> None:
    path = csv(tmp_path)
    section = config(path, "metric.column=bleu", 'systems.columns="score=score,segment=segment"')["metric"]
    assert section["path"] == str(path)
    assert section["columns"] == "segment=segment"
    assert section["sha256"] == config(path, "metric.column=bleu")["systems"]["sha256"]


def test_each_metric_of_a_sweep_has_the_digest_of_its_own_file(tmp_path: Path) -> None:
    human = segment_files(tmp_path, {"bleu": METRIC, "ter": {**METRIC, "A": METRIC["B"]}})
    words = ["systems=recorded", f"systems.path={human}", "metric=recorded", "decision=bayes"]
    for more in ([], [f"metric.path={human}"]):
        sweep = compose_sweep("preference_protocol", [*words, *more, "metric.column=bleu,ter", "worlds=1"])
        bleu, ter = (cell.config["metric"]["sha256"] for cell in sweep.cells())
        assert bleu == config(human, "metric.column=bleu")["metric"]["sha256"] != ter
    with pytest.raises(InputError, match=r"sha256|digest|changed"):
        draw_world(config(human, "metric.column=bleu", f"metric.sha256={'0' * 64}"), 0)


def test_it_is_said_what_is_understood_of_metrics(tmp_path: Path) -> None:
    path = csv(tmp_path)
    (line,) = understood_metrics([config(path, "metric.column=bleu")])
    assert "bleu: 4 of 4 segments compared that humans rated, and 1 that they did not; higher is better" in line
    assert understood_metrics([config(path, "metric.column=none")]) == []


def test_the_word_none_gives_humans_alone_and_ideal_a_metric_with_humans_as_its_oracle(tmp_path: Path) -> None:
    without = draw_world(config(csv(tmp_path), "metric.column=none"), 0)
    assert without.metric is None
    made_up = draw_world(config(csv(tmp_path), "metric.column=ideal"), 0).metric
    assert made_up.n_outputs == 5
    assert made_up.mu[0].tolist() == [[0.8, 0.25, 0.1], [0.1, 0.5, 0.1], [0.1, 0.25, 0.8]]


def test_a_metric_of_the_built_in_table_is_that_of_the_files_it_was_made_of() -> None:
    folder = Path(__file__).parents[3] / "shared/data/wmt23_ende"
    if not folder.is_dir():
        pytest.skip("needs the published segment scores, which are not here")
    names = "AIRC,GPT4-5shot,Lan-BridgeMT,NLLB_Greedy,NLLB_MBR_BLEU,ONLINE-A,ONLINE-B,ONLINE-G,ONLINE-M,ONLINE-W"
    where = "systems.path=simlab:wmt23_ende", f"systems.path={folder / 'en-de.mqm.seg.score'}"
    asked = "systems=recorded", "metric=recorded", "metric.column=COMET-refA", f"systems.names=[{names}]"
    ours, theirs = (draw_world(compose([*asked, "decision=bayes", of]), 0) for of in where)
    np.testing.assert_array_equal(ours.metric.recorded, theirs.metric.recorded)
    assert ours.frame.item_names == theirs.frame.item_names


REFUSED = {
    "systems=recorded metric=recorded metric.column=bleu decision=bayes": "needs a metric",
    "systems=preference metric=recorded metric.path={table} metric.column=bleu": "choose systems=recorded",
    "systems=recorded systems.path={table} metric=recorded decision=bayes": "needs a metric",
    "systems=recorded systems.path={table} metric=recorded metric.column=blue decision=bayes": "did you mean bleu?",
    "systems=recorded systems.path=simlab:wmt20 metric=none decision=human_only": "no table built into simlab",
    "question=rate systems=recorded systems.path={table} metric=recorded metric.column=bleu": "needs them all",
    "question=rate systems=recorded systems.path={full} metric=recorded metric.column=ideal": "choose question=compare",
    "question=rate systems=recorded systems.path={full} metric=recorded metric.column=bleu metric.margin=1": "to 0",
    "systems=recorded systems.path={table} metric=recorded metric.column=bleu decision=bayes worlds=2": "one world",
    "systems=recorded systems.path={table} metric=recorded metric.column=ideal metric.bins=2": "gives no scores",
    "systems=recorded systems.path={table} metric=recorded metric.column=bleu metric.bins=4": "metric.bins",
    "question=rate systems=recorded systems.path={full} metric=recorded metric.column=bleu metric.bins=2": "one by one",
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_is_refused_in_a_line(tmp_path: Path, words: str) -> None:
    table, full = csv(tmp_path, metric={**METRIC, "A": ("", *METRIC["A"][1:])}), csv(tmp_path, name="full.csv")
    with pytest.raises(InputError) as caught:
        check(compose(words.format(table=table, full=full).split()))
    assert REFUSED[words] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_ratings_are_corrected_by_what_the_metric_says_of_every_segment(tmp_path: Path) -> None:
    words = ["question=rate", "systems=recorded", f"systems.path={csv(tmp_path)}", "metric=recorded"]
    scored = draw_world(compose([*words, "metric.column=bleu"]), 0)
    np.testing.assert_array_equal(scored.metric[0], [0.9, 0.5, 0.7, 0.2])
