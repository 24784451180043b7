"""Read trials from both forms they come in: what is kept, what is noted, and what is refused by record."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from simlab.metric_tests import coco, plain
from simlab.types import InputError


def captions(*texts: str) -> str:
    return json.dumps([{"image_id": k, "caption": text} for k, text in enumerate(texts)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "passive_a.json").write_text(captions("a cat sits", "a dog runs"))
    (tmp_path / "passive_b.json").write_text(json.dumps({"annotations": json.loads(captions("sat on", "run by"))}))
    (tmp_path / "passive_r1.json").write_text(captions("one cat", "one dog"))
    two = [{"image_id": k, "caption": text} for k in (1, 0) for text in (f"first of {k}", "" if k else "second")]
    (tmp_path / "passive_r2.json").write_text(json.dumps(two))
    return tmp_path


def test_trials_of_a_folder_are_joined_by_image(folder: Path) -> None:
    (folder / "readme.txt").write_text("")
    collected = coco.read(folder, None, {})
    one, two = collected.trials
    assert (one.corruption, one.kind, one.n_references) == ("passive", "preserving", 1)
    assert one.original == ("a cat sits", "a dog runs")
    assert one.corrupted == ("sat on", "run by")
    assert two.references == (("first of 0", "second"), ("first of 1",))
    assert collected.notes[0].endswith("ignored, no trials: readme.txt")
    assert "1 empty references left out (image_id 1)" in collected.notes[1]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("passive_a.json", captions("a cat sits"), "image_id 1 of passive_b.json is missing"),
        ("passive_a.json", captions("a cat", " "), "the caption of image_id 1 is empty"),
        ("passive_a.json", "[]", "it holds no captions"),
        ("passive_a.json", '{"captions": []}', "no list of captions"),
        (
            "passive_a.json",
            '[{"image_id": 7, "caption": "the "old" cat"}]',
            r"line 1 \(image_id 7\): no JSON at column",
        ),
        ("passive_a.json", '[{"image_id": true, "caption": ""}]', "image_id True must be a whole number or a word"),
        ("passive_a.json", "[3]", "record 1: '3' is no caption"),
        ("passive_a.json", "[" * 100_000, "too large to read"),
        ("passive_r1.json", captions("x", "y").replace("1,", "0,"), "image_id 1 of the originals is missing"),
        ("strange_a.json", "[]", "strange_b.json is missing beside strange_a.json"),
    ],
)
def test_a_mistake_in_a_folder_names_file_and_record(folder: Path, name: str, content: str, says: str) -> None:
    (folder / name).write_text(content)
    with pytest.raises(InputError, match=says):
        coco.read(folder, None, {})


def test_numbers_of_references_are_chosen_among_those_there(folder: Path) -> None:
    assert [trial.n_references for trial in coco.read(folder, [2], {}).trials] == [2]
    with pytest.raises(InputError, match="choose --references among 1, 2"):
        coco.read(folder, [5], {})


def test_a_pipe_among_the_files_does_not_hang(folder: Path) -> None:
    (folder / "passive_b.json").unlink()
    os.mkfifo(folder / "passive_b.json")
    with pytest.raises(InputError, match=r"passive_b\.json: is not a regular file"):
        coco.read(folder, None, {})


TRIAL = {"original": "a cat", "corruption": "cat a", "kind": "shuffled", "references": ["the cat", "one cat", " "]}


def lines(path: Path, *trials: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(trial) + "\n" for trial in trials))
    return path


def test_both_forms_of_a_file_hold_the_same_trials(tmp_path: Path) -> None:
    rows = ["original\tcorruption\tkind\treferences", "a cat\tcat a\tshuffled\tthe cat ||| one cat ||| "]
    (tmp_path / "t.tsv").write_text("\n".join(rows))
    table = plain.read(tmp_path / "t.tsv", None, {}).trials[0]
    record = plain.read(lines(tmp_path / "t.jsonl", TRIAL), None, {}).trials[0]
    assert table.references == record.references == (("the cat", "one cat"),)
    assert (table.corruption, table.kind) == (record.corruption, record.kind) == ("shuffled", "altering")
    assert (table.name, record.name) == (("2",), ("1",))


def test_a_type_tells_corruptions_of_a_kind_apart(tmp_path: Path) -> None:
    path = lines(tmp_path / "t.jsonl", TRIAL, {**TRIAL, "type": "swapped words", "id": "x"})
    collected = plain.read(path, [1], {})
    assert [trial.corruption for trial in collected.trials] == ["shuffled", "swapped words"]
    assert collected.trials[1].name == ("x",)
    assert collected.trials[1].references == (("the cat",),)
    assert "2 empty references left out" in collected.notes[0]


def test_more_references_than_there_are_cannot_be_had(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--references 3 exceeds the 2 references of the trial"):
        plain.read(lines(tmp_path / "t.jsonl", TRIAL), [3], {})
    with pytest.raises(InputError, match=r"read from \.jsonl or \.tsv"):
        plain.read(tmp_path / "t.txt", None, {})
