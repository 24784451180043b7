"""Write, before anything is rated, the paragraph on how a study will be collected and concluded, with references.

Call `write_plan_paragraph` with the study's composed config, which returns plain text.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simlab.drawing.text import references
from simlab.drawing.text.tables import WIDTH
from simlab.parts import name_of

DIGEST = 12
"""Letters of a digest that are written."""
FAMILY = {
    "none": "A claim is wrong with probability at most {}, each pair taken by itself",
    "bh": "Of the claims a share of at most {} is expected to be wrong",
    "e_bh": "Of the claims a share of at most {} is expected to be wrong",
}
ANY = "Any claim among all pairs is wrong with probability at most {}"
"""Sentence on a level for any other multiplicity than those of `FAMILY`."""
FROZEN = {
    "against": "Claims are fixed to the pairs with {against}: any is wrong with probability at most {}",
    "best": "Claims are fixed to which systems may be the best: a best one is excluded with probability at most {}",
    "ranks": "Ranks follow from claims among all pairs, of which any is wrong with probability at most {}",
}
"""Sentence on a level, by the family that a plan fixed; other families have that of the multiplicity."""
COUNTS = (
    ("systems", "n_systems", "system", "systems"),
    ("design", "documents", "document", "documents"),
    ("design", "ratings_per_item", "rating of each output", "ratings of each output"),
    ("budget", "annotations_per_pair", "comparison of each pair at most", "comparisons of each pair at most"),
    ("budget", "human_ratings", "human judgement of each system", "human judgements of each system"),
    ("budget", "metric_ratings", "metric score of each system", "metric scores of each system"),
)
"""Keys of a composed config that count, with their words: section, key, singular, plural."""


def write_plan_paragraph(
    config: Mapping[str, Any], digest: str, foreseen: Sequence[str] = (), family: tuple[str, str | None] | None = None
) -> str:
    """Write, before anything is rated, how a study will be collected and concluded; `config` is the composed one.

    `digest` is that of the study file. `foreseen` are sentences on what was simulated beforehand, `family` is the
    family of claims that was fixed, by its name, and the baseline system of the family `against`, else None.
    """
    names = list_methods(config)
    sentences = [
        f"The study is planned in advance (study file {digest[:DIGEST]}).",
        *_design(config),
        references.sentences(names).replace(" were ", " will be ").replace(" was ", " will be "),
        f"{describe_promise(config, family)}.",
        *foreseen,
        "Pairs that are not claimed will be called open, not equal; every deviation from this plan will be listed.",
    ]
    return add_references(" ".join(sentences), [*names, *(["simulated"] if foreseen else [])])


def describe_promise(config: Mapping[str, Any], family: tuple[str, str | None] | None = None) -> str:
    """State the promise of a composed study: how probable a wrong claim is, in which family; without a full stop."""
    level, multiplicity = _read_decision(config)
    name, against = family or ("", None)
    promise = FROZEN.get(name, FAMILY.get(multiplicity, ANY))
    return promise.format(f"{level:g}".removeprefix("0"), against=against)


def list_methods(config: Mapping[str, Any]) -> list[str]:
    """Return the names (keys of `references.METHODS`) of a composed config's methods, in their order of use."""
    design, analysis, decision = (config.get(key, {}) for key in ("design", "analysis", "decision"))
    parts = [design.get("grouping"), *(analysis.get(key) for key in ("normalization", "test", "estimator")), decision]
    names = [name_of(part) for part in parts if isinstance(part, Mapping)]
    return [name for name in [*names, str(decision.get("multiplicity", "none"))] if name in references.METHODS]


def _read_decision(config: Mapping[str, Any]) -> tuple[float, str]:
    decision = config.get("decision", {})
    return float(decision.get("level", 0.05)), str(decision.get("multiplicity", "none"))


def _design(config: Mapping[str, Any]) -> Iterator[str]:
    """State how many systems, documents and answers there will be, where a config says so."""
    counts = [(config.get(section, {}).get(key), singular, plural) for section, key, singular, plural in COUNTS]
    parts = [
        f"{count:,} {singular if count == 1 else plural}"
        for count, singular, plural in counts
        if isinstance(count, int)
    ]
    if parts:
        yield f"It asks for {', '.join(parts)}."


def add_references(text: str, names: Sequence[str]) -> str:
    """Break a paragraph to the width of a page, and list the references of the methods `names` below it."""
    listed = [
        textwrap.fill(reference, WIDTH, subsequent_indent="  ", break_on_hyphens=False)
        for reference in references.list_of(names)
    ]
    body = textwrap.fill(text, WIDTH, break_on_hyphens=False, break_long_words=False)
    return "\n\n".join([body, "References", "\n".join(listed)]) if listed else body
