"""Check that what is cited is proper BibTeX, and that it says what the sentences say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from simlab.config.explaining import explain_measure, explain_option
from simlab.config.groups import find_options
from simlab.drawing.reports.references import (
    REFERENCES,
    SIMLAB,
    entry,
    find_references,
    list_references,
    parse_reference,
)
from simlab.types import InputError

NEEDED = {
    "article": {"author", "title", "journal", "volume", "pages", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "misc": {"author", "title", "eprint", "archiveprefix", "year"},
    "book": {"author", "title", "publisher", "year"},
    "software": {"author", "title", "version"},
}


def read(bibtex: str) -> tuple[str, str, dict[str, str]]:
    """Read an entry strictly: type, key, and fields in balanced braces, one on each line."""
    head, *lines = bibtex.splitlines()
    found = re.fullmatch(r"@(\w+)\{([a-z0-9]+),", head)
    assert found, head
    assert lines.pop() == "}"
    fields: dict[str, str] = {}
    for line in lines:
        field = re.fullmatch(r"  (\w+) = \{(.+)\},", line)
        assert field, line
        assert field[1] not in fields
        assert balanced(field[2]), line
        fields[field[1]] = field[2]
    return found[1], found[2], fields


def balanced(text: str) -> bool:
    depth = 0
    for letter in text:
        depth += (letter == "{") - (letter == "}")
        if depth < 0:
            return False
    return depth == 0


@pytest.mark.parametrize("name", [*REFERENCES, SIMLAB])
def test_every_reference_is_an_entry_with_all_that_its_type_needs(name: str) -> None:
    (reference,) = list_references([name])
    kind, key, fields = read(reference.bibtex)
    assert key == reference.key
    assert fields.keys() >= NEEDED[kind]
    assert not re.search(r"(?<!\\)[&%#_]|[^\x00-\x7f]", reference.bibtex.split("{", 1)[1])


@pytest.mark.parametrize("name", REFERENCES)
def test_text_and_bibtex_say_the_same(name: str) -> None:
    (reference,) = list_references([name])
    kind, _, fields = read(reference.bibtex)
    assert reference.text == REFERENCES[name]
    first = fields["author"].split(",")[0]
    plain = re.sub(r'\{\\["\']([a-zA-Z])\}', r"\1", first)
    letters = reference.text.split(",")[0].translate(str.maketrans("äéÉü", "aeEu"))
    assert plain == letters
    assert name.startswith(reference.text.split(",")[0])
    assert fields["year"] == name[-4:]
    assert f"({fields['year']})" in reference.text
    assert len(fields["author"].split(" and ")) == 1 + reference.text.partition(" (")[0].count("., ") + (
        " and " in reference.text.partition(" (")[0]
    )
    if "pages" in fields:
        assert fields["pages"].replace("--", "-") in reference.text
    if kind == "article":
        assert f"{fields['volume']}, " in reference.text


def test_keys_are_told_apart() -> None:
    keys = [one.key for one in list_references([*REFERENCES, SIMLAB])]
    assert len(set(keys)) == len(keys)


def test_simlab_is_cited_as_its_citation_file_says() -> None:
    said = yaml.safe_load((Path(__file__).parents[3] / "CITATION.cff").read_text())
    (reference,) = list_references([SIMLAB])
    _, _, fields = read(reference.bibtex)
    assert fields["version"] == said["version"]
    assert fields["author"] == f"{{{said['authors'][0]['name']}}}"
    assert fields["title"].startswith(f"{said['title']}: ")
    assert fields["title"].partition(": ")[2].casefold() == said["abstract"].rstrip(".").casefold()
    assert fields["note"] == said["license"]


def test_the_strict_reader_refuses_what_is_not_bibtex() -> None:
    for bad in ("@article{a,\n  title = {{A},\n}", "@article{a b,\n}", "@article{a,\n  title = A,\n}"):
        with pytest.raises(AssertionError):
            read(bad)
    assert read(entry("misc", "a", {"title": "R&D"}))[2] == {"title": "R\\&D"}


def test_every_source_of_a_part_is_a_reference() -> None:
    for group, files in find_options().items():
        for name, file in files.items():
            source = (explain_measure(file) if group == "measure" else explain_option(group, file)).source
            assert not source or find_references(source), f"{group}={name}: {source}"


def test_other_years_and_other_authors_are_not_meant() -> None:
    assert find_references("Deriu et al. 2022, section 1") == []
    assert find_references("Carlin and Gelman 2015") == []
    assert find_references("Ville 1939; Robbins 1970; Ramdas et al. 2023") == [
        "Ramdas et al. 2023",
        "Ville 1939",
        "Robbins 1970",
    ]


def test_what_nobody_cites_and_what_is_not_a_sentence_is_refused() -> None:
    with pytest.raises(InputError, match="no reference is called Nobody 1900"):
        list_references(["Nobody 1900"])
    for bad in ("Holm 1979", "Holm, S. (1979). A title. Nowhere at all."):
        with pytest.raises(InputError):
            parse_reference(bad)
