"""Corrupt sentences by rules: what each makes, what it leaves alone, and that nothing is left out in silence."""

from __future__ import annotations

import csv
import doctest
import json
from pathlib import Path
from typing import Any

import pytest

from simlab.cli import answer
from simlab.metric_tests import corruptions, grammar, lexicon, participles, sentences
from simlab.metric_tests.corruptions import RULES
from simlab.metric_tests.trials import KNOWN
from simlab.rng import stream


def corrupted(name: str, sentence: str, seed: int = 0) -> str | None:
    rng = stream(seed, "corruption", name, sentence)
    return corruptions.corrupt(rng, sentence, RULES[name], lexicon.OWN)


@pytest.mark.parametrize(
    ("name", "sentence", "expected"),
    [
        ("neg_subj", "A girl is feeding the ducks.", "There is no girl feeding the ducks."),
        ("neg_subj", "Some girls are feeding ducks", "There are no girls feeding ducks"),
        ("neg_subj", "The girl in a boat is waving", "There is no girl in a boat waving"),
        ("neg_subj", "Someone is feeding the ducks", "There is no one feeding the ducks"),
        ("neg_subj", "A girl and a boy are waving", None),
        ("neg_subj", "No girl is waving", None),
        ("neg_subj", "Rain falls", None),
        ("neg_verb", "A girl is feeding the ducks!", "A girl is not feeding the ducks!"),
        ("neg_verb", "A girl is not feeding the ducks", None),
        ("neg_verb", "There is no girl here", None),
        ("sem_opps", "A girl waits", "A boy waits"),
        ("sem_opps", "It rained", None),
        ("near_syms", "It is a baby", "It is an infant"),
        ("near_syms", "It rained", None),
        ("shuffled", "The goat is chasing a boy", "A boy is chasing the goat"),
        ("shuffled", "A girl is waving to a boy on a boat", "A boy is waving to a girl on a boat"),
        ("shuffled", "A girl is playing a flute", None),
        ("shuffled", "The goats are chasing a boy", None),
        ("double_PP", "A girl is waving from a boat.", "A girl is waving from a boat from a boat."),
        ("double_PP", "He steps out of it on a rope", "He steps out of it out of it on a rope on a rope"),
        ("double_PP", "A girl is waving", None),
        ("remove_prep", "A girl is waving from a boat", "A girl is waving a boat"),
        ("remove_prep", "A girl is looking up", None),
        ("swap_chunks", "A girl is waving", "Is waving a girl"),
        ("swap_chunks", "Rain", None),
        ("det_sub", "A girl is waving", "The girl is waving"),
        ("det_sub", "The owl is sleeping", "An owl is sleeping"),
        ("det_sub", "The owls are sleeping", None),
        ("passive", "A girl is feeding the ducks.", "The ducks are being fed by a girl."),
        ("passive", "The boys were carefully pulling a cart", "A cart was carefully being pulled by the boys"),
        ("passive", "Somebody is slicing a few eggs", "A few eggs are being sliced by somebody"),
        ("passive", "Anna is reading the end of a book", "The end of a book is being read by Anna"),
        ("passive", "A girl is walking home", None),
        ("passive", "A girl is singing and waving a flag", None),
        ("passive", "A girl is enjoying swimming", None),
        ("passive", "The ducks are being fed", None),
        ("passive", "A girl is in the boat", None),
        ("passive", "A girl is not feeding the ducks", None),
        ("passive", "...", None),
    ],
)  # fmt: skip
def test_a_rule_corrupts_what_it_fits(name: str, sentence: str, expected: str | None) -> None:
    assert corrupted(name, sentence) == expected


def test_there_is_a_rule_for_every_published_corruption() -> None:
    assert set(RULES) == set(KNOWN)


def test_chunks_that_swap_are_not_both_nouns() -> None:
    """Two nouns swapped may be as fluent as before: that is another corruption."""
    made = {corrupted("swap_chunks", "A goat is chasing a boy", seed) for seed in range(20)}
    assert "A boy is chasing a goat" not in made
    assert len(made) > 1  # and what is swapped depends on the seed


def test_a_corruption_is_never_the_sentence_itself() -> None:
    same = corruptions.CorruptionRule(lambda rng, words, lexicon: list(words), "nothing")
    assert corruptions.corrupt(stream(0), "A girl is waving", same, lexicon.OWN) is None


@pytest.mark.parametrize("module", [corruptions, grammar, participles], ids=lambda module: module.__name__)
def test_examples_in_docstrings_hold(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


SENTENCES = [
    {"sentence": "A girl is feeding the ducks at a pond.", "references": ["A girl feeds ducks", "Ducks are fed"]},
    {"sentence": "The goat is chasing a boy", "references": ["A goat runs after a boy"], "id": "g"},
    {"sentence": "It rained", "references": ["There was rain"]},
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.jsonl").write_text("".join(json.dumps(record) + "\n" for record in SENTENCES))


def trials(file: str = "t.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]


def test_trials_are_made_and_tested(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["mutt", "s.jsonl", "--make", "t.jsonl", "--format", "json", "--save", "kept.json"]) == 0
    rows = {row["corruption"]: row for row in json.loads(capsys.readouterr().out)}
    assert list(rows) == list(RULES)
    # What is not made is counted, with what it would need.
    assert all(row["trials"] + row["left_out"] == 3 and row["needs"] for row in rows.values())
    assert (rows["neg_subj"]["trials"], rows["double_PP"]["trials"]) == (2, 1)
    held = trials()
    assert len(held) == sum(row["trials"] for row in rows.values())
    assert held[1] == {
        "id": "g", "type": "neg_subj", "kind": "altering", "original": "The goat is chasing a boy",
        "corruption": "There is no goat chasing a boy", "references": ["A goat runs after a boy"],
    }  # fmt: skip
    assert answer(["mutt", "t.jsonl", "--metrics", "chrf", "--format", "json"]) == 0
    tested = {row["corruption"]: row["n"] for row in json.loads(capsys.readouterr().out)}
    assert tested == {name: row["trials"] for name, row in rows.items() if row["trials"]}
    assert Path("kept.json").is_file()


def test_a_seed_chooses_and_a_table_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    for seed, out in ((1, "a.jsonl"), (1, "b.jsonl"), (2, "c.jsonl")):
        assert answer(["mutt", "s.jsonl", "--make", out, "--seed", str(seed)]) == 0
    assert trials("a.jsonl") == trials("b.jsonl") != trials("c.jsonl")
    out = capsys.readouterr().out
    assert "left out" in out
    assert "trials of 3 sentences are in c.jsonl" in out
    rows = ["sentence\treferences\tid", *(f"{s['sentence']}\t{' ||| '.join(s['references'])}\t{s.get('id', k)}"
            for k, s in enumerate(SENTENCES, start=1))]  # fmt: skip
    Path("s.tsv").write_text("\n".join(rows))
    assert answer(["mutt", "s.tsv", "--make", "d.jsonl", "--seed", "1"]) == 0
    assert trials("d.jsonl") == trials("a.jsonl")


def test_a_sentence_is_corrupted_alike_whatever_stands_beside_it() -> None:
    held = sentences.read(Path("s.jsonl"))
    alone = sentences.make(held[:1], ("det_sub", "swap_chunks"), lexicon.OWN, 3).trials
    among = sentences.make(held[::-1], ("swap_chunks", "det_sub"), lexicon.OWN, 3).trials
    assert all(trial in among for trial in alone)


def test_words_of_ones_own_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    Path("w.tsv").write_text("near_syms\tducks\tmallards\n\nsem_opps\tgirl\tgranny\nnear_syms\tgirl\tyoungster\n")
    words = ["mutt", "s.jsonl", "--types", "sem_opps,near_syms", "--words", "w.tsv", "--make", "t.jsonl"]
    assert answer([*words, "--format", "csv"]) == 0
    assert [row["trials"] for row in csv.DictReader(capsys.readouterr().out.splitlines())] == ["2", "1"]
    assert trials()[0]["corruption"] == "A granny is feeding the ducks at a pond."
