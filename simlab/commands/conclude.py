"""Carry out `simlab conclude`: read a table of ratings, preferences or scores, and answer which systems are better.

`carry_out` takes the words of the command line and returns a `ConcludeAnswer`; `write` makes text, JSON or CSV of it.
What a table without a plan does not need is imported where it is used: its world is being fitted by then.
"""

from __future__ import annotations

import filecmp
import json
import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from simlab.answers.conclude import Conclusion
from simlab.commands import conclude_campaign as campaigns
from simlab.commands import conclude_next
from simlab.commands.exit_codes import DONE, RESERVED
from simlab.commands.notes import note, program
from simlab.commands.typed_commands import Given, Launched
from simlab.concluding.checking import TableCheck
from simlab.concluding.concluding import conclude
from simlab.concluding.options import ConcludeOptions, refuse_half
from simlab.drawing.figures import files
from simlab.drawing.text import paragraphs, tables
from simlab.drawing.text.tables import Form
from simlab.files import check_writable, reason, write_whole
from simlab.messages import clip
from simlab.tables.rating_table import NOTHING
from simlab.types import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from simlab.concluding.plans import LoadedPlan

NOTHING_SHOWN = "--check shows no result that could be kept or drawn; leave one of them out"
NO_TABLE = "is for a table, and only a plan is named; leave it out, or name TABLE"


class ConcludeAnswer(NamedTuple):
    """Answer about a table or a campaign, the command that comes next, and notes.

    `result` is a conclusion, the check of a table, or a plan that has no table yet; `wanted` are the options. `written`
    are the files beside the answer; `lost` is True where something was not kept that should have been.
    """

    result: Conclusion | TableCheck | LoadedPlan
    wanted: ConcludeOptions
    following: str = ""
    written: Sequence[Path] = ()
    notes: Sequence[str] = ()
    lost: bool = False


def carry_out(
    words: Sequence[str],
    plan: Path | None,
    wanted: ConcludeOptions,
    place: Mapping[str, int | None],
    figure: Path | None,
    paragraph: Path | None,
    plugins: Sequence[str],
    *,
    check: bool,
) -> ConcludeAnswer:
    """Conclude from a table or a campaign; draw it and write the paragraph where files for that are named.

    `words` are tables and KEY=VALUE settings, or the folder of a store and conditions on its axes. `place` holds the
    options `world`, `pool`, `draw` and `study`, which name one campaign of that folder.

    `wanted` are the other options of the command line. With `check` a table is read and checked, and nothing is
    concluded from it; no look is recorded. Without a table there is a plan, which says how it will be concluded. Raises
    InputError, before anything is estimated or written, for wrong options and files that cannot be read.
    """
    folder, conditions = campaigns.separate_folder(words, place, plan)
    table, wanted = understand([str(folder)] if folder else words, plan, wanted, plugins)
    if check:
        if folder:
            raise InputError("--check: reads a table; export a campaign of the store first")
        return _check(table, wanted, figure, paragraph)
    check_names(figure, paragraph)
    if folder:
        conclusion, following, doubts = campaigns.conclude_campaign(folder, conditions, place, wanted, plugins)
        written, unkept = _write_beside(conclusion, figure, paragraph)
        return ConcludeAnswer(
            conclusion, wanted, following, written, (*conclusion.notes, *unkept, *doubts), bool(unkept or doubts)
        )
    if table is None:
        return _answer_plan(wanted, figure)
    conclusion = conclude(table, wanted, note)
    following = conclude_next.suggest_next(table, wanted, conclusion.question, figure, paragraph)
    written, unkept = _write_beside(conclusion, figure, paragraph)
    lost = bool(unkept)
    if wanted.plan is not None:
        from simlab.concluding.assigning.unblinding import NOT_LISTED
        from simlab.concluding.looks import NOT_RECORDED

        unkept += _keep_in_plan(conclusion, wanted.plan)
        lost = bool(unkept) or any(line.startswith((NOT_RECORDED, NOT_LISTED)) for line in conclusion.warnings)
    return ConcludeAnswer(conclusion, wanted, following, written, (*conclusion.notes, *unkept), lost)


def understand(
    words: Sequence[str], plan: Path | None, wanted: ConcludeOptions, plugins: Sequence[str] = ()
) -> tuple[Path | None, ConcludeOptions]:
    """Return the table among the words (None: none is named), and the options completed by the others, KEY=VALUE.

    A second table, the family of a plan, and the plan itself are read into the options, too. Raises InputError for
    options that contradict each other.
    """
    tables_named = [Path(word) for word in words if "=" not in word or Path(word).exists()]
    overrides = tuple(word for word in words if Path(word) not in tables_named)
    level, margin = wanted.level, wanted.margin
    if not (1 if plan is None else 0) <= len(tables_named) <= 2:
        raise InputError(f"{len(tables_named)} tables are named; conclude takes one, or two: TABLE [TABLE]")
    if plan is not None and (overrides or level is not None):
        option = overrides[0] if overrides else f"--level {level:g}"
        raise InputError(f"{option}: the plan {clip(plan)} fixes the analysis; leave it out, or leave --plan out")
    if level is not None and not 0 < level < 1:
        raise InputError(f"--level {level:g}: a probability of a wrong claim lies between 0 and 1; try .05")
    if margin is not None and not (0 < margin < math.inf):
        raise InputError(f"--margin {margin:g}: a difference that does not matter is above 0")
    refuse_half(wanted.family, wanted.against)
    if wanted.look and plan is None:
        raise InputError("--look: is of a plan, whose promise it withdraws; leave it out, or add --plan")
    table, second = (*tables_named, None, None)[:2]
    if table and second and table.is_file() and second.is_file() and filecmp.cmp(table, second, shallow=False):
        raise InputError(
            f"{clip(second)}: holds what {clip(table)} holds, and no table confirms itself; name one, or another"
        )
    followed = None if plan is None else _read_plan(plan, plugins)
    if table is not None and followed is not None and followed.campaign is None:
        _refuse_large(followed)
    family = "against" if wanted.against is not None else wanted.family
    return table, replace(wanted, plan=followed, second=second, family=family, overrides=overrides)


def _read_plan(path: Path, plugins: Sequence[str]) -> LoadedPlan:
    from simlab.concluding.plans import read_plan

    return read_plan(path, plugins)


def _refuse_large(plan: LoadedPlan) -> None:
    """Raise InputError for a plan whose file says whom it expects, and whose world would not fit into memory."""
    from simlab.engine.bounds import refuse_large

    if plan.config["systems"].get("path") is not None:
        refuse_large(plan.config)


def _check(table: Path | None, wanted: ConcludeOptions, figure: Path | None, paragraph: Path | None) -> ConcludeAnswer:
    from simlab.concluding.checking import check

    for option, given in (("--figure", figure), ("--paragraph", paragraph)):
        if given:
            raise InputError(f"{option}: {NOTHING_SHOWN}")
    if table is None:
        raise InputError("--check: reads a table, and none is named; name TABLE")
    checked = check(table, wanted)
    # A study that is under way is checked again.
    again = [] if checked.finished else ["--check"]
    following = f"{program()} {shlex.join(['conclude', *conclude_next.list_words(table, wanted), *again])}"
    unkept = (checked.unlisted,) if checked.unlisted else ()
    return ConcludeAnswer(checked, wanted, following, notes=(*checked.notes, *unkept), lost=bool(unkept))


def _answer_plan(wanted: ConcludeOptions, figure: Path | None) -> ConcludeAnswer:
    """Answer with a plan, before anything is rated; raise InputError for what means nothing then."""
    if wanted.plan is None:
        raise InputError(
            "no table and no plan: conclude takes TABLE, or --plan FILE for a paragraph on what is planned"
        )
    if figure is not None:
        raise InputError(f"--figure {clip(figure)}: nothing is drawn before there is a table; leave it out")
    for option, given in _list_idle_options(wanted):
        if given:
            raise InputError(f"{option}: {NO_TABLE}")
    return ConcludeAnswer(wanted.plan, wanted)


def _keep_in_plan(conclusion: Conclusion, plan: LoadedPlan) -> list[str]:
    """Keep a conclusion in the folder of its plan; return a line that says why that could not be."""
    from simlab.concluding.assigning.planned_study import CONCLUSION

    if not plan.path.is_dir():
        return []
    try:
        write_whole({plan.path / CONCLUSION: format_json(conclusion) + "\n"})
    except OSError as error:
        return [f"{clip(plan.path / CONCLUSION)}: not kept ({reason(error)})"]
    return []


def _write_beside(conclusion: Conclusion, figure: Path | None, paragraph: Path | None) -> tuple[list[Path], list[str]]:
    """Write the figure and the paragraph, if files for them are named.

    Returns the files that were written, and a line for each that the disk does not take.
    """
    ways: list[tuple[Path | None, Callable[[Path], Any]]] = [
        (figure, lambda file: files.write(lambda: draw(conclusion), file)),
        (paragraph, lambda file: write_whole({file: write_paragraph(conclusion) + "\n"})),
    ]
    written, unkept = list[Path](), list[str]()
    for file, write_file in ways:
        if file is None:
            continue
        try:
            write_file(file)
            written.append(file)
        except OSError as error:
            unkept.append(f"{clip(error.filename or 'a file')}: not kept ({reason(error)})")
    return written, unkept


def draw(conclusion: Conclusion) -> Figure:
    """Draw systems, pairs, raters and metrics of a conclusion."""
    from simlab.drawing.reports.answers.conclude import report
    from simlab.drawing.reports.static import plot_report

    return plot_report(report(conclusion))


def write_paragraph(conclusion: Conclusion) -> str:
    """Write the paragraph on methods and findings, with references."""
    from simlab.drawing.reports.answers.conclude_paragraph import paragraph

    return paragraph(conclusion)


def write(answered: ConcludeAnswer, form: Form, given: Given) -> Launched:
    """Format an answer as table, csv or json; exit code 3 where its promise does not hold, or files were lost.

    `given` are the command's options by name.
    """
    answer, notes = answered.result, answered.notes
    code = RESERVED if answered.lost else DONE
    if isinstance(answer, TableCheck):
        return Launched(_write_check(answered, answer, form, given), notes, code)
    if not isinstance(answer, Conclusion):
        return Launched(_write_plan(answer, form, given))
    if not answer.promise.holds or answer.confounded:
        code = RESERVED
    if form == "json":
        return Launched(format_json(answer), notes, code)
    if form == "csv":
        rows = [system.model_dump(by_alias=True) for system in answer.systems]
        return Launched(tables.write_csv(rows), (*notes, *answer.warnings), code)
    written = [f"written: {', '.join(map(str, answered.written))}"] if answered.written else []
    return Launched("\n".join([page(answer), "", *written, f"next: {answered.following}"]), notes, code)


def page(conclusion: Conclusion) -> str:
    """Write a conclusion for a terminal."""
    from simlab.drawing.reports import text
    from simlab.drawing.reports.answers.conclude import report

    return text.page(report(conclusion))


def _write_check(answered: ConcludeAnswer, check: TableCheck, form: Form, given: Given) -> str:
    from simlab.drawing.text import checks

    if given.get("save"):
        raise InputError(f"--save: {NOTHING_SHOWN}")
    if form == "csv":
        raise InputError("--format csv: --check answers as table or json; take one of these")
    if form == "json":
        return json.dumps(_make_plain(check.record()), indent=1, allow_nan=False)
    return checks.page(check, answered.following)


def _write_plan(plan: LoadedPlan, form: Form, given: Given) -> str:
    """Write how a study that is planned will be concluded, and the paragraph where a file for it is named."""
    if form == "csv":
        raise InputError(f"--format csv: {NO_TABLE}")
    text = paragraphs.write_plan_paragraph(plan.config, plan.digest)
    if given["paragraph"] is not None:
        write_whole({given["paragraph"]: text + "\n"})
    if form == "json":
        return json.dumps({"plan": str(plan.path), "digest": plan.digest, "paragraph": text}, indent=1)
    return text


def _list_idle_options(wanted: ConcludeOptions) -> list[tuple[str, bool]]:
    """Return which options are given that mean nothing without a table."""
    return [
        ("--promise", wanted.promise is not None),
        ("--metric", bool(wanted.metrics)),
        ("--family and --against", wanted.family is not None),
        ("--margin", wanted.margin is not None),
        ("--exclude", bool(wanted.exclude)),
        ("--no-repetition", not wanted.again),
        ("--look", wanted.look),
        ("--consensus", wanted.consensus),
        ("--adequate-from", wanted.adequate_from is not None),
        ("--threshold", wanted.threshold is not None),
        (
            "--columns, --better, --scale, --people, --where, --alike, --wide and --decimal",
            wanted.column_overrides != NOTHING,
        ),
    ]


def check_names(figure: Path | None, paragraph: Path | None) -> None:
    """Raise InputError for files of a figure or a paragraph that end in something else, or cannot be written."""
    files.check_suffix(figure, "--figure")
    if paragraph is not None and paragraph.suffix.lower() not in (".md", ".txt"):
        raise InputError(f"--paragraph {clip(paragraph)}: a paragraph is text; end the name with .md or .txt")
    check_writable(paragraph, "--paragraph")


def format_json(conclusion: Conclusion) -> str:
    """Write a conclusion as JSON; what is not a finite number is null."""
    return json.dumps(conclusion.serialise(), indent=1, allow_nan=False)


def _make_plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _make_plain(entry) for key, entry in value.items()}
    if isinstance(value, str) or not isinstance(value, Sequence):
        return tables.replace_nan([{"value": value}])[0]["value"]
    return [_make_plain(entry) for entry in value]
