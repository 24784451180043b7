"""Cite works as sentences and as BibTeX, and simlab itself.

The entries are read off the sentences of `simlab.drawing.text.references`, so that the two never say different things.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version

from simlab.drawing.reports.terms import CitedWork
from simlab.drawing.text import references
from simlab.types import InputError

REFERENCES: Mapping[str, str] = {**references.REFERENCES, **references.SOURCES}
"""The sentences of all works that simlab cites, by the words that cite them."""

SIMLAB = "simlab"
"""The key that cites simlab itself."""

BOOKS: Mapping[str, str] = {
    "ACL 2016": "Proceedings of the 54th Annual Meeting of the Association for Computational Linguistics",
    "ACL 2018": "Proceedings of the 56th Annual Meeting of the Association for Computational Linguistics",
    "EMNLP 2020": "Proceedings of the 2020 Conference on Empirical Methods in Natural Language Processing",
    "Findings of ACL 2023": "Findings of the Association for Computational Linguistics: ACL 2023",
    "Findings of EMNLP 2022": "Findings of the Association for Computational Linguistics: EMNLP 2022",
    "ICML 2008": "Proceedings of the 25th International Conference on Machine Learning",
    "NAACL 2024": "Proceedings of the 2024 Conference of the North American Chapter of the Association for "
    "Computational Linguistics: Human Language Technologies",
}
"""Full names of proceedings, by the short ones in sentences."""

_SENTENCE = re.compile(r"(?P<authors>.+?) \((?P<year>\d{4})\)\. (?P<title>.+)\. (?P<rest>[^.]+(?:\.\d+)?)\.")
_AUTHOR = re.compile(r"(?P<family>[^,]+), (?P<given>(?:[^\W\d_]\.[ -]?)+)(?:,\s*|\s*and\s+|$)")
_ARTICLE = re.compile(r"(?P<journal>\D+) (?P<volume>\d+), (?P<pages>\d+(?:-\d+)?)")
_PAPER = re.compile(r"(?P<book>.+ \d{4})(?:, (?P<pages>\d+-\d+))?")
_PREPRINT = re.compile(r"arXiv:(?P<eprint>\d{4}\.\d{5})")
_BOOK = re.compile(r"(?P<publisher>[^,]+), (?P<address>\D+)")

_ACCENTS = {"ä": '{\\"a}', "ü": '{\\"u}', "É": "{\\'E}", "é": "{\\'e}", "á": "{\\'a}", "&": "\\&"}
_PLAIN = {"ä": "a", "ü": "u", "É": "E", "é": "e", "á": "a"}


def list_references(names: Iterable[str]) -> tuple[CitedWork, ...]:
    """Return the references of these keys (as "Riley et al. 2024", or "simlab"), each once, in this order.

    Raises InputError for a key that nothing has.
    """
    return tuple(_reference(name) for name in dict.fromkeys(names))


def find_references(source: str) -> list[str]:
    """Return the keys of the references in a docstring's source: by the first author, and the year that comes next.

    >>> find_references("Morris, White and Crowther 2019, as Chaganty et al. 2018 (section 3.3) propose")
    ['Morris et al. 2019', 'Chaganty et al. 2018']
    """
    return [
        key for key in REFERENCES if re.search(rf"\b{re.escape(_cut_to_author(key))}\b[^;\d]*\b{key[-4:]}\b", source)
    ]


def _cut_to_author(key: str) -> str:
    """Return the first author of a key.

    >>> _cut_to_author("von Däniken et al. 2022"), _cut_to_author("Lan and DeMets 1983"), _cut_to_author("Holm 1979")
    ('von Däniken', 'Lan', 'Holm')
    """
    return re.split(r" et al\.| and | \d{4}$", key)[0]


def _reference(name: str) -> CitedWork:
    if name == SIMLAB:
        return cite_simlab()
    if name not in REFERENCES:
        raise InputError(f"no reference is called {name}; simlab.drawing.text.references names all")
    text = REFERENCES[name]
    kind, fields = parse_reference(text)
    key = _key(name)
    return CitedWork(key, text, entry(kind, key, fields))


def cite_simlab() -> CitedWork:
    """Cite simlab, as CITATION.cff has it; of the version that is installed."""
    try:
        installed = version("simlab")
    except PackageNotFoundError:
        installed = "unknown"
    fields = {
        "author": "{The simlab founders}",
        "title": "simlab: a simulation and study-design laboratory for evaluations of text-generation systems",
        "version": installed,
        "note": "Apache-2.0",
    }
    text = f"The simlab founders. {fields['title']}. Version {installed}, Apache-2.0."
    return CitedWork(SIMLAB, text, entry("software", SIMLAB, fields))


def parse_reference(text: str) -> tuple[str, dict[str, str]]:
    """Read the type and the fields of an entry off the sentence of a reference.

    Raises InputError for a sentence that is not written as the others are.
    """
    match = _SENTENCE.fullmatch(text)
    if match is None:
        raise InputError(f"a reference is not written as `Authors (year). Title. Where.`: {text}")
    kind, where = _parse_source(match["rest"])
    authors = " and ".join(
        f"{author['family'].strip()}, {author['given'].strip()}" for author in _AUTHOR.finditer(match[1])
    )
    return kind, {"author": authors, "title": _title(match["title"]), **where, "year": match["year"]}


def _parse_source(rest: str) -> tuple[str, dict[str, str]]:
    """Read where a work is published off the end of its sentence."""
    if match := _PREPRINT.fullmatch(rest):
        return "misc", {"eprint": match["eprint"], "archiveprefix": "arXiv"}
    if (match := _PAPER.fullmatch(rest)) and match["book"] in BOOKS:
        pages = {"pages": _pages(match["pages"])} if match["pages"] else {}
        return "inproceedings", {"booktitle": BOOKS[match["book"]], **pages}
    if match := _ARTICLE.fullmatch(rest):
        return "article", {**match.groupdict(), "pages": _pages(match["pages"])}
    if match := _BOOK.fullmatch(rest):
        return "book", match.groupdict()
    raise InputError(f"a reference does not say where it is published: {rest}")


def _pages(span: str) -> str:
    return span.replace("-", "--")


def _title(title: str) -> str:
    """Keep the capitals of a title inside braces; the first word of a title has one anyway."""
    first, *others = title.split(" ")
    kept = [f"{{{word}}}" if re.search(r"[A-Z]", word) else word for word in others]
    return " ".join([f"{{{first}}}" if re.search(r"[A-Z].*[A-Z]", first) else first, *kept])


def _key(name: str) -> str:
    """Write the key of an entry: the first author and the year, in ASCII.

    >>> _key("von Däniken et al. 2022"), _key("O'Hagan et al. 2005")
    ('vondaniken2022', 'ohagan2005')
    """
    plain = "".join(_PLAIN.get(letter, letter) for letter in _cut_to_author(name).lower())
    return re.sub(r"[^a-z]", "", plain) + name[-4:]


def entry(kind: str, key: str, fields: Mapping[str, str]) -> str:
    """Return an entry of BibTeX of the type `kind`, with accents of letters in `fields` as LaTeX has them."""
    lines = [f"  {name} = {{{_latex(value)}}}," for name, value in fields.items()]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])


def _latex(text: str) -> str:
    return "".join(_ACCENTS.get(letter, letter) for letter in text)
