"""Hold pass rates on the published trials against the published table; sentences stay where they are."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence, Set

import pytest
from shared_data import SHARED

from simlab.answers.mutt import PassRate
from simlab.metric_tests import agreement, corruptions, files, lexicon, metrics, pass_rates, scoring
from simlab.metric_tests.scoring import ScorePairs
from simlab.metric_tests.words import words
from simlab.rng import stream
from simlab.types import InputError

MUTT = SHARED / "mutt"
METRICS = {"bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l", "cider"}
TRIALS = {"neg_subj": 336, "det_sub": 65, "near_syms": 240, "passive": 214, "shuffled": 14, "swap_chunks": 500,
          "double_PP": 202}  # fmt: skip

pytestmark = pytest.mark.needs_shared("mutt")


def published(names: Set[str] = frozenset(METRICS)) -> dict[tuple[str, str, int], float]:
    """Return percents by corruption, metric and number of references."""
    found, corruption = {}, ""
    for line in (MUTT / "PUBLISHED.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            corruption = line[3:].strip()
        elif row := re.fullmatch(r"\| (\w+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", line):
            for n, percent in zip((5, 10, 20), row.groups()[1:], strict=True):
                found[corruption, row[1].lower(), n] = float(percent)
    return {cell: percent for cell, percent in found.items() if cell[1] in names}


@pytest.fixture(scope="module")
def pairs() -> list[ScorePairs]:
    return scoring.score(files.read(MUTT).trials, metrics.list_built_in_metrics(["bleu", "rouge_l", "cider"]))


@pytest.fixture(scope="module")
def rates(pairs: list[ScorePairs]) -> dict[tuple[str, str, int], PassRate]:
    return measured(pairs)


def measured(pairs: Sequence[ScorePairs]) -> dict[tuple[str, str, int], PassRate]:
    rates = pass_rates.pass_rates(pairs, tolerance=0.15)
    return {(row.corruption, row.metric, row.references): row for row in rates.rows}


@pytest.mark.slow
def test_published_cells_come_out_to_the_printed_digit(rates: dict[tuple[str, str, int], PassRate]) -> None:
    cells = published()
    assert len(cells) == 120
    far = {cell: 100 * rates[cell].pass_rate - percent for cell, percent in cells.items()}
    # Printed to a tenth of a point, so that rounding alone makes a difference of half of it.
    assert max(map(abs, far.values())) <= 0.05 + 1e-9, far


@pytest.mark.long
@pytest.mark.skipif(shutil.which("java") is None, reason="METEOR needs Java, which is not here")
def test_published_cells_of_meteor_come_out_to_the_printed_digit() -> None:
    cells = published({"meteor"})
    assert len(cells) == 21
    rates = measured(scoring.score(files.read(MUTT).trials, metrics.list_built_in_metrics(["meteor"])))
    far = {cell: 100 * rates[cell].pass_rate - percent for cell, percent in cells.items()}
    assert max(map(abs, far.values())) <= 0.05 + 1e-9, far


@pytest.mark.slow
def test_no_verdict_on_these_trials_hangs_on_a_near_tie(pairs: list[ScorePairs]) -> None:
    """Rounding does decide some where it is taken for a difference: a control."""
    assert not any(row.near_ties for row in measured(pairs).values())
    exact = [held for held in pairs if held.trials.corruption == "swap_chunks" and held.metric == "cider"]
    rounded = sum(int(pass_rates.passes(held, tolerance=0.15).sum()) for held in exact)
    assert sum(int((held.original > held.corrupted).sum()) for held in exact) > rounded


@pytest.mark.slow
def test_metrics_agree_about_kinds_of_corruptions_more_than_within_them(pairs: list[ScorePairs]) -> None:
    """What docs/metric.md says of BLEU-4 and CIDEr with five references."""
    five = [held for held in pairs if held.trials.n_references == 5 and held.metric in ("bleu_4", "cider")]
    rows = {row.corruption: row for row in agreement.metric_agreement(five, tolerance=0.15).rows}
    for name, value, error in (("agreement", 0.898, 0.008), ("correlation", 0.759, 0.019)):
        assert getattr(rows["all"], name) == pytest.approx(value, abs=0.0006)
        assert getattr(rows["all"], f"{name}_error") == pytest.approx(error, abs=0.0006)
    within = {name: rows[name].correlation for name in ("passive", "near_syms", "det_sub", "swap_chunks")}
    expected = {"passive": 0.049, "near_syms": 0.473, "det_sub": 0.489, "swap_chunks": 0.578}
    assert within == pytest.approx(expected, abs=0.0006)


def test_rules_make_published_corruptions_word_for_word() -> None:
    """As often as docs/metric.md says, of what a rule can mean."""
    made = {}
    for held in files.read(MUTT, [5]).trials:
        if held.corruption in ("neg_subj", "double_PP", "passive", "shuffled", "det_sub"):
            rule = corruptions.RULES[held.corruption]
            ours = [
                corruptions.corrupt(stream(1, held.corruption, name), text, rule, lexicon.OWN)
                for name, text in zip(held.name, held.original, strict=True)
            ]
            pairs_of = zip(ours, held.corrupted, strict=True)
            made[held.corruption] = sum(text is not None and words(text) == words(theirs) for text, theirs in pairs_of)
    det_sub = made.pop("det_sub")
    assert made == {"neg_subj": 308, "double_PP": 188, "passive": 156, "shuffled": 9}
    assert det_sub == pytest.approx(34, abs=5 * 4)  # which determiner it is, chance says


@pytest.mark.slow
def test_every_trial_is_scored(rates: dict[tuple[str, str, int], PassRate]) -> None:
    assert {(cell[0], row.n) for cell, row in rates.items()} == set(TRIALS.items())
    assert not any(row.unscored for row in rates.values())


@pytest.mark.slow
def test_words_in_another_order_are_the_same_words(rates: dict[tuple[str, str, int], PassRate]) -> None:
    """BLEU-1 was not published for these, for it cannot tell: a control that must fail."""
    assert all(rates[name, "bleu_1", n].passed == 0 for name in ("shuffled", "swap_chunks") for n in (5, 10, 20))


def test_a_tolerance_of_nothing_passes_no_paraphrase() -> None:
    pairs = scoring.score(files.read(MUTT, [5]).trials, metrics.list_built_in_metrics(["rouge_l"]))
    (rate,) = (row.pass_rate for row in pass_rates.pass_rates(pairs, tolerance=0.0).rows if row.corruption == "passive")
    assert rate < 0.084 - 0.05


def test_other_numbers_of_references_are_refused() -> None:
    with pytest.raises(InputError, match=r"_r7\.json is missing; choose --references among 5, 10, 20"):
        files.read(MUTT, [7])
