"""Carry out `simlab mutt`: test metrics on trials, each a sentence and its corruption, scored against references.

`carry_out` scores the trials and returns pass rates, or the agreement between metrics; `write` makes text, JSON or CSV.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from simlab.answers.mutt import MetricAgreement, PassRates
from simlab.commands import mutt_trials
from simlab.commands.next_steps import add_next_step
from simlab.commands.notes import note
from simlab.commands.typed_commands import Given, Launched
from simlab.drawing.figures import files as figures
from simlab.drawing.reports.answers.mutt import report
from simlab.drawing.text import tables
from simlab.drawing.text.tables import Form
from simlab.files import check_writable, write_whole
from simlab.messages import clip
from simlab.metric_tests import files, metrics, scoring
from simlab.metric_tests.agreement import metric_agreement
from simlab.metric_tests.metrics import TestedMetric
from simlab.metric_tests.pass_rates import pass_rates
from simlab.metric_tests.scoring import ScorePairs
from simlab.metric_tests.sentences import CorruptedSentences
from simlab.metric_tests.trials import KINDS, Kind, find_kind
from simlab.types import InputError


def carry_out(
    source: Path,
    names: str,
    references: str | None,
    *,
    kinds: Sequence[str],
    tolerance: float,
    near_tie: float,
    agreement: bool,
    plugins: Sequence[str],
    figure: Path | None,
    scores: Path | None,
) -> PassRates | MetricAgreement:
    """Test metrics on the trials of a folder or file; write the figure and the pairs of scores.

    `names` are metrics and `references` numbers of references, with commas between them; `kinds` are texts
    CORRUPTION=KIND. Scores of a corruption that preserves the meaning may differ by the share `tolerance`; differences
    up to the share `near_tie` of a score are ties. With `agreement`, the answer is how far the verdicts of the metrics
    agree. Raises InputError before anything is scored for wrong options and malformed files, and afterwards where no
    metric gave a score; nothing is written then.
    """
    _check_files(figure, scores)
    if not 0 <= tolerance < math.inf:
        raise InputError(f"--tolerance {tolerance} must be a number from 0; .15 is the published one")
    if not 0 <= near_tie < 1:
        raise InputError(f"--near-tie {near_tie} must be a share of the scores, from 0 to below 1; for example 1e-9")
    wanted = choose_metrics(names, plugins)
    if agreement and sum(len(metric.names) for metric in wanted) < 2:
        raise InputError("--agreement compares metrics, and there is one; name two with --metrics")
    collected = files.read(source, _numbers(references), _kinds(kinds))
    # What a metric prints is no part of the answer.
    with contextlib.redirect_stdout(sys.stderr):
        pairs = scoring.score(collected.trials, wanted)
    _check_scored(pairs)
    answering: Callable[..., PassRates | MetricAgreement] = metric_agreement if agreement else pass_rates
    answer = answering(pairs, tolerance=tolerance, near_tie=near_tie)
    if figure is not None:
        from simlab.drawing.reports.static import plot_report

        figures.write(lambda: plot_report(report(answer)), figure)
    if scores is not None:
        _write(pairs, scores)
    for line in (*collected.notes, *_failures(pairs)):
        note(line)
    return answer


def refuse_mixed(make: bool, making: Given, testing: Given) -> None:
    """Raise InputError for options of tests where trials are made, and for those of making where none are."""
    for option, value in (testing if make else making).items():
        if value is not None and value is not False and value != []:
            rule = "is of a test, and --make tests nothing; leave it out" if make else "goes with --make FILE; add that"
            raise InputError(f"{option} {rule}")


def write(answer: PassRates | MetricAgreement | CorruptedSentences, form: Form, given: Given) -> Launched:
    """Format pass rates, the agreement of metrics, or the number of trials that were made, as table, csv or json.

    `given` are the command's options by name.
    """
    if isinstance(answer, CorruptedSentences):
        return mutt_trials.write(answer, form, given)
    if form != "table":
        return Launched(tables.write_tables(answer, form))
    from simlab.drawing.reports.text import page

    return Launched(
        add_next_step(page(report(answer)), *_suggest_next(given["source"], given["metrics"], given["scores"]))
    )


def _suggest_next(source: Path, names: str, scores: Path | None) -> list[str]:
    """Return the words of the next command: `fit-metric` on the scores, or the same command with --scores first."""
    if scores is not None:
        return ["fit-metric", str(scores)]
    return ["mutt", str(source), "--metrics", names, "--scores", "scores.csv"]


def choose_metrics(names: str, plugins: Sequence[str]) -> list[TestedMetric]:
    """Return the metrics of a comma-separated list: those of common packages, and functions of plug-ins by path."""
    words = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not words:
        raise InputError(f"--metrics {names!r} names none; for example --metrics bleu,chrf")
    return [
        *metrics.list_built_in_metrics([word for word in words if "." not in word]),
        *(_find_own_metric(word, plugins) for word in words if "." in word),
    ]


def _write(pairs: Sequence[ScorePairs], scores: Path) -> None:
    rows = tables.write_csv(scoring.records(pairs)) + "\n"
    write_whole({scores: rows})


def _check_files(figure: Path | None, scores: Path | None) -> None:
    figures.check_suffix(figure, "--figure")
    if scores is not None and scores.suffix.lower() != ".csv":
        raise InputError(f"--scores {clip(scores)}: scores are written as .csv; end the name with it")
    check_writable(scores, "--scores")


def _check_scored(pairs: Sequence[ScorePairs]) -> None:
    if not any(scores.scored.any() for scores in pairs):
        reason = next(_failures(pairs), "there are no trials")
        raise InputError(f"no metric gave a score; {reason}")


def _failures(pairs: Sequence[ScorePairs]) -> Iterator[str]:
    """State which metrics gave no scores, for what, and why; and how many scores are not finite."""
    failed: dict[tuple[str, str], list[str]] = {}
    for scores in pairs:
        if scores.failure:
            case = f"{scores.trials.corruption} with {scores.trials.n_references} references"
            failed.setdefault((scores.metric, scores.failure), []).append(case)
    for (metric, reason), cases in failed.items():
        more = f" and {len(cases) - 3} more" if len(cases) > 3 else ""
        yield f"{metric} has no scores of {', '.join(cases[:3])}{more}: {reason}"
    for metric in dict.fromkeys(scores.metric for scores in pairs):
        own = [scores.scored for scores in pairs if scores.metric == metric and not scores.failure]
        if missing := sum(int((~scored).sum()) for scored in own):
            yield (
                f"{metric}: {missing} of {sum(map(len, own))} pairs of scores are not finite; they are not in n but "
                "counted as unscored"
            )


def _find_own_metric(path: str, plugins: Sequence[str]) -> TestedMetric:
    """Find a function of a plug-in package; nothing outside the packages that were named is imported."""
    from simlab.parts import resolve

    if not any(path.startswith(f"{package}.") for package in plugins):
        package = path.partition(".")[0]
        raise InputError(f"--metrics {path}: {package} is not named as a plug-in; add --plugins {package}")
    try:
        return metrics.wrap_function(path, resolve(path, plugins))
    except InputError as error:
        raise InputError(f"--metrics {path}: {str(error).partition(': ')[2] or error}") from error


def _numbers(given: str | None) -> list[int] | None:
    if given is None:
        return None
    words = [word.strip() for word in given.split(",")]
    for word in words:
        if not word.isascii() or not word.isdigit() or not int(word):
            raise InputError(f"--references {given}: {word!r} must be a whole number from 1; for example 5,10,20")
    return sorted({int(word) for word in words})


def _kinds(given: Sequence[str]) -> dict[str, Kind]:
    kinds = {}
    for words in given:
        corruption, equals, kind = words.partition("=")
        if not equals:
            raise InputError(f"--kind {words} must be CORRUPTION=KIND, where KIND is one of {', '.join(KINDS)}")
        kinds[corruption] = find_kind(kind, f"--kind {words}")
    return kinds
