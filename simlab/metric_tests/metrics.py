"""List common metrics that score sentences against references, each as its package computes it.

`list_built_in_metrics` takes names and returns `TestedMetric`; `wrap_function` makes one of a user's function
`(candidates, references) -> scores`, one score per candidate. An attribute `lower_is_better = True` of the function
declares that low scores are good.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from simlab.messages import suggest
from simlab.metric_tests.meteor import Meteor, check_java
from simlab.metric_tests.words import words
from simlab.types import InputError

Candidates: TypeAlias = list[str]
"""Sentences to score."""
References: TypeAlias = list[list[str]]
"""References of each candidate."""
Scores: TypeAlias = Mapping[str, Any]
"""Scores of each candidate, by the name of a score."""
Score: TypeAlias = Callable[[Candidates, References], Scores]
"""Function that computes all scores of a family of metrics."""

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "bleu": ("bleu_1", "bleu_2", "bleu_3", "bleu_4"),
    "rouge_l": ("rouge_l",),
    "cider": ("cider",),
    "meteor": ("meteor",),
    "sacrebleu": ("sacrebleu",),
    "chrf": ("chrf",),
    "ter": ("ter",),
    "rouge": ("rouge_1", "rouge_2", "rouge_l_f1"),
}
"""Names of the scores that one computation gives, by family."""

# BLEU of pycocoevalcap adds 1e-15 to every count of matches, so that a sentence of four words or more without a match
# of some length scores up to 2e-4 rather than 0; one match of every length among fifty words scores 2e-2.
BLEU_ZERO = 1e-3


@dataclass(frozen=True, slots=True)
class TestedMetric:
    """Metric under test: the names of the scores wanted, the function that computes them, and their direction.

    Scores up to `zero` count as 0: packages add a small number to keep logarithms finite.
    """

    names: tuple[str, ...]
    score: Score
    lower_is_better: bool = False
    zero: float = 0.0


def list_built_in_metrics(names: Sequence[str]) -> list[TestedMetric]:
    """Return the metrics of these names, one computation per family; `bleu` stands for bleu_1 to bleu_4.

    Raises InputError for a name that is none, and for a package (or the Java of METEOR) that is not installed.
    """
    wanted: dict[str, list[str]] = {}
    for name in names:
        family = next((family for family, members in FAMILIES.items() if name in (family, *members)), None)
        if family is None:
            known = dict.fromkeys(name for family, members in FAMILIES.items() for name in (family, *members))
            raise InputError(f"--metrics {name}: there is no such metric; {suggest(name, known)}")
        wanted.setdefault(family, []).extend(FAMILIES[family] if name == family else [name])
    # In the order of the family, each once, however they were asked for.
    return [
        _MAKERS[family](tuple(name for name in FAMILIES[family] if name in members))
        for family, members in wanted.items()
    ]


def wrap_function(name: str, function: Callable[[Candidates, References], Any]) -> TestedMetric:
    """Take any function `(candidates, references) -> scores` for a metric."""
    lower = bool(getattr(function, "lower_is_better", False))
    return TestedMetric((name,), lambda candidates, references: {name: function(candidates, references)}, lower)


def _bleu(names: tuple[str, ...]) -> TestedMetric:
    scorer = _module("bleu", "pycocoevalcap.bleu.bleu").Bleu(4)

    def score(candidates: Candidates, references: References) -> Scores:
        _, scores = scorer.compute_score(*_captions(candidates, references), verbose=0)
        return dict(zip(FAMILIES["bleu"], scores, strict=True))

    return TestedMetric(names, score, zero=BLEU_ZERO)


def _rouge_l_metric(names: tuple[str, ...]) -> TestedMetric:
    scorer = _module("rouge_l", "pycocoevalcap.rouge.rouge").Rouge()
    return TestedMetric(names, lambda *texts: {"rouge_l": scorer.compute_score(*_captions(*texts))[1]})


def _cider(names: tuple[str, ...]) -> TestedMetric:
    """Score by CIDEr, which weighs words by how rare they are in the references of all candidates."""
    scorer = _module("cider", "pycocoevalcap.cider.cider").Cider()
    return TestedMetric(names, lambda *texts: {"cider": scorer.compute_score(*_captions(*texts))[1]})


def _meteor(names: tuple[str, ...]) -> TestedMetric:
    start = _module("meteor", "pycocoevalcap.meteor.meteor").Meteor
    check_java()
    scorer = Meteor(start)
    return TestedMetric(names, lambda *texts: {"meteor": scorer.score(*texts)})


def _sacrebleu(names: tuple[str, ...]) -> TestedMetric:
    # Without an effective order, a sentence of three words scores 0 whatever it says.
    return _sacrebleu_metric(names, _module("sacrebleu", "sacrebleu.metrics").BLEU(effective_order=True))


def _chrf(names: tuple[str, ...]) -> TestedMetric:
    return _sacrebleu_metric(names, _module("chrf", "sacrebleu.metrics").CHRF())


def _ter(names: tuple[str, ...]) -> TestedMetric:
    return _sacrebleu_metric(names, _module("ter", "sacrebleu.metrics").TER(), lower_is_better=True)


def _sacrebleu_metric(names: tuple[str, ...], scorer: Any, *, lower_is_better: bool = False) -> TestedMetric:
    def score(candidates: Candidates, references: References) -> Scores:
        scores = [scorer.sentence_score(*texts).score for texts in zip(candidates, references, strict=True)]
        return {names[0]: scores}

    return TestedMetric(names, score, lower_is_better)


def _rouge(names: tuple[str, ...]) -> TestedMetric:
    kinds = {"rouge_1": "rouge1", "rouge_2": "rouge2", "rouge_l_f1": "rougeL"}
    scorer = _module("rouge", "rouge_score.rouge_scorer").RougeScorer([kinds[name] for name in names])

    def score(candidates: Candidates, references: References) -> Scores:
        scores = [scorer.score_multi(refs, text) for text, refs in zip(candidates, references, strict=True)]
        return {name: [best[kinds[name]].fmeasure for best in scores] for name in names}

    return TestedMetric(names, score)


_MAKERS: Mapping[str, Callable[[tuple[str, ...]], TestedMetric]] = {
    "bleu": _bleu, "rouge_l": _rouge_l_metric, "cider": _cider, "meteor": _meteor,
    "sacrebleu": _sacrebleu, "chrf": _chrf,
    "ter": _ter, "rouge": _rouge,
}  # fmt: skip


def _captions(candidates: Candidates, references: References) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """Return references and candidates as pycocoevalcap takes them: words of captions by image."""
    captions = {k: [words(text) for text in texts] for k, texts in enumerate(references)}
    return captions, {k: [words(text)] for k, text in enumerate(candidates)}


def _module(metric: str, name: str) -> Any:
    package = name.partition(".")[0].replace("_", "-")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise InputError(
            f"the metric {metric} needs the package {package}, which is not installed; pip install 'simlab[mutt]'"
        ) from error
