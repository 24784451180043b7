"""Read YAML files in which nothing stands for something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from simlab.config import plain_yaml
from simlab.config.overrides import read
from simlab.config.plain_yaml import Plain, parse_value, read_content
from simlab.types import InputError


def read_back(folder: Path, text: str | bytes) -> Any:
    file = folder / "a.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_content(file)


def test_content_is_mappings_lists_and_texts_and_only_unquoted_texts_are_plain(tmp_path: Path) -> None:
    text = "a: 1e-3\nb:\n  - yes\n  - '010'\n  - \"no\"\nc: {d: ~, e: }\nf: |\n  two\n  lines\n"
    content = read_back(tmp_path, text)
    assert content == {"a": "1e-3", "b": ["yes", "010", "no"], "c": {"d": "~", "e": ""}, "f": "two\nlines\n"}
    marked = [isinstance(value, Plain) for value in (content["a"], *content["b"], content["c"]["d"], content["f"])]
    assert marked == [True, True, False, False, True, False]


def test_deep_nesting_is_refused_and_not_a_crash(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not valid YAML"):
        read_back(tmp_path, "[" * 50_000)


def test_a_file_that_is_too_large_or_none_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_back(tmp_path, "a: 123") == {"a": "123"}
    monkeypatch.setattr(plain_yaml, "MAX_BYTES", 5)
    with pytest.raises(InputError, match="larger than 5 bytes; name a YAML file"):
        read_back(tmp_path, "a: 123")
    with pytest.raises(InputError, match="cannot be opened"):
        read_content(tmp_path / "nowhere.yaml")


def test_an_empty_file_holds_no_key(tmp_path: Path) -> None:
    assert read_back(tmp_path, "# nothing yet\n") == {}


@pytest.mark.parametrize("text", ["1e-3", "010", "yes", "true", "null", "1_000", "[1, a]", "a b"])
def test_a_plain_value_is_what_it_is_behind_a_key(text: str) -> None:
    typed = read("k", text).values[0]
    again = parse_value("k", Plain(text))
    assert (again, type(again)) == (typed, type(typed))
    assert parse_value("k", text) == text  # in quotes it is text
    assert parse_value("k", [Plain(text), text]) == [typed, text]


def test_what_yaml_would_make_of_a_word_is_not_what_is_read() -> None:
    assert yaml.safe_load("a: yes") == {"a": True}
    assert parse_value("a", Plain("yes")) == "yes"


@pytest.mark.parametrize("value", [{"b": "1"}, [{"b": "1"}], Plain("1,2"), Plain("")])
def test_values_that_are_no_values_are_refused(value: Any) -> None:
    with pytest.raises(InputError, match=r"^a"):
        parse_value("a", value)
