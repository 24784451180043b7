"""Answer what may be concluded from a table that somebody collected.

What a table without a plan does not need is imported where it is used: its world is being fitted by then.
"""

from __future__ import annotations

import filecmp
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from simlab.answers.conclude import Conclusion, PromiseName
from simlab.commands import conclude_next
from simlab.commands.conclude_next import following
from simlab.commands.exit_codes import DONE, RESERVED
from simlab.commands.notes import note, program
from simlab.concluding.concluding import conclude
from simlab.concluding.wanted import Wanted, refuse_half
from simlab.drawing.figures import files
from simlab.drawing.text import conclusions as text
from simlab.drawing.text import paragraphs, tables
from simlab.drawing.text.tables import Form
from simlab.files import check_writable, reason, write_whole
from simlab.messages import legible
from simlab.tables.held import NOTHING, Told
from simlab.types import FamilyName, InputError

if TYPE_CHECKING:
    from simlab.concluding.plans import Plan


class Answered(NamedTuple):
    """Hold an answer in a form and as JSON, what is said beside it, and the exit code."""

    text: str
    json: str
    notes: tuple[str, ...]
    code: int


def asked(
    words: Sequence[str],
    plan: Path | None,
    promise: PromiseName | None,
    level: float | None,
    metric: str | None,
    family: FamilyName | None,
    against: str | None,
    margin: float | None,
    exclude: Sequence[str],
    adequate_from: float | None,
    threshold: float | None,
    seed: int,
    told: Told,
    plugins: Sequence[str] = (),
    *,
    again: bool = True,
    look: bool = False,
) -> tuple[Path | None, Wanted]:
    """Tell tables from settings, and put what is asked together; raise InputError for what cannot be meant.

    Without a table there is a plan, which says how it will be concluded.
    """
    tables_named = [Path(word) for word in words if "=" not in word or Path(word).exists()]
    overrides = tuple(word for word in words if Path(word) not in tables_named)
    if not (1 if plan is None else 0) <= len(tables_named) <= 2:
        raise InputError(f"{len(tables_named)} tables are named; conclude takes one, or two: TABLE [TABLE]")
    if plan is not None and (overrides or level is not None):
        said = overrides[0] if overrides else f"--level {level:g}"
        raise InputError(f"{said}: the plan {legible(plan)} fixes the analysis; leave it out, or leave --plan out")
    if level is not None and not 0 < level < 1:
        raise InputError(f"--level {level:g}: a probability of a wrong claim lies between 0 and 1; try .05")
    if margin is not None and not (0 < margin < float("inf")):
        raise InputError(f"--margin {margin:g}: a difference that does not matter is above 0")
    refuse_half(family, against)
    if look and plan is None:
        raise InputError("--look: is of a plan, whose promise it withdraws; leave it out, or add --plan")
    table, second = (*tables_named, None, None)[:2]
    if table and second and table.is_file() and second.is_file() and filecmp.cmp(table, second, shallow=False):
        raise InputError(
            f"{legible(second)}: holds what {legible(table)} holds, and no table confirms itself; name one, or another"
        )
    followed = None if plan is None else _read_plan(plan, plugins)
    if table is not None and followed is not None and followed.told is None:
        _refuse_large(followed)
    metrics = tuple(dict.fromkeys(name.strip() for name in (metric or "").split(",") if name.strip()))
    return table, Wanted(
        told=told,
        plan=followed,
        promise=promise,
        level=level,
        metrics=metrics,
        second=second,
        family="against" if against is not None else family,
        against=against,
        margin=margin,
        exclude=tuple(dict.fromkeys(exclude)),
        overrides=overrides,
        seed=seed,
        again=again,
        look=look,
        adequate_from=adequate_from,
        threshold=threshold,
    )


def _read_plan(path: Path, plugins: Sequence[str]) -> Plan:
    from simlab.concluding.plans import read_plan

    return read_plan(path, plugins)


def _refuse_large(plan: Plan) -> None:
    """Raise InputError for a plan whose file says whom it expects, and whose world would not fit into memory."""
    from simlab.engine.bounds import refuse_large

    if plan.config["systems"].get("path") is not None:
        refuse_large(plan.config)


def answer(table: Path | None, wanted: Wanted, form: Form, figure: Path | None, paragraph: Path | None) -> Answered:
    """Conclude from a table, draw it and write the paragraph where files for that are named.

    Without a table, answer with the paragraph on what is planned. Raises InputError before anything is estimated for
    what is asked wrongly or malformed; nothing is written then.
    """
    check_names(figure, paragraph)
    if table is None:
        return _planned(wanted, form, figure, paragraph)
    found = conclude(table, wanted, note)
    words = following(table, wanted, found.question, figure, paragraph)
    answered = presented(found, words, form, figure, paragraph)
    if wanted.plan is None:
        return answered
    from simlab.concluding.assigning.unblinding import NOT_LISTED
    from simlab.concluding.looks import NOT_RECORDED

    unkept = _kept(answered.json, wanted.plan)
    lost = unkept or any(line.startswith((NOT_RECORDED, NOT_LISTED)) for line in found.warnings)
    code = answered.code or (RESERVED if lost else DONE)
    return answered._replace(notes=(*answered.notes, *unkept), code=code)


def check(table: Path | None, wanted: Wanted, form: Form, beside: Mapping[str, object]) -> Answered:
    """Say what a table holds and by what it would be concluded, and nothing that it shows; no look is recorded.

    `beside` are options that have nothing to write then. Raises InputError for these, and as `answer` does.
    """
    for option, given in beside.items():
        if given:
            raise InputError(f"{option}: --check shows no result that could be kept or drawn; leave one of them out")
    if table is None:
        raise InputError("--check: reads a table, and none is named; name TABLE")
    if form == "csv":
        raise InputError("--format csv: --check answers as table or json; take one of these")
    from simlab.concluding import checking
    from simlab.drawing.text import checks

    found = checking.check(table, wanted)
    as_json = json.dumps(_plain(found.record()), indent=1, allow_nan=False)
    # A study that is under way is checked again.
    again = [] if found.finished else ["--check"]
    words = f"{program()} {shlex.join(['conclude', *conclude_next.asked(table, wanted), *again])}"
    unkept = (found.unlisted,) if found.unlisted else ()
    code = RESERVED if unkept else DONE
    return Answered(as_json if form == "json" else checks.page(found, words), as_json, (*found.notes, *unkept), code)


def _kept(as_json: str, plan: Plan) -> list[str]:
    """Keep a conclusion in the folder of its plan; return a line that says why that could not be."""
    from simlab.concluding.assigning.studying import CONCLUSION

    if not plan.path.is_dir():
        return []
    try:
        write_whole({plan.path / CONCLUSION: as_json + "\n"})
    except OSError as error:
        return [f"{legible(plan.path / CONCLUSION)}: not kept ({reason(error)})"]
    return []


def presented(found: Conclusion, words: str, form: Form, figure: Path | None, paragraph: Path | None) -> Answered:
    """Write a conclusion in a form, with what is asked for beside it; `words` are the command that comes next."""
    written, unkept = _written(found, figure, paragraph)
    code = DONE if found.promise.holds and not found.confounded and not unkept else RESERVED
    as_json, notes = to_json(found), (*found.notes, *unkept)
    if form == "json":
        return Answered(as_json, as_json, notes, code)
    if form == "csv":
        rows = [one.model_dump(by_alias=True) for one in found.systems]
        return Answered(tables.to_csv(rows), as_json, (*notes, *found.warnings), code)
    return Answered(text.page(found, written, words), as_json, notes, code)


def _written(found: Conclusion, figure: Path | None, paragraph: Path | None) -> tuple[list[Path], list[str]]:
    """Write what is asked for beside an answer; return the files, and a line for each that the disk does not take."""
    written, unkept = list[Path](), list[str]()
    for beside in ((figure, None), (None, paragraph)):
        try:
            written += write(found, *beside)
        except OSError as error:
            unkept.append(f"{legible(error.filename or 'a file')}: not kept ({reason(error)})")
    return written, unkept


def _planned(wanted: Wanted, form: Form, figure: Path | None, paragraph: Path | None) -> Answered:
    """Say how a study that is planned will be concluded, before anything is rated."""
    plan = wanted.plan
    if plan is None:
        raise InputError(
            "no table and no plan: conclude takes TABLE, or --plan FILE for a paragraph on what is planned"
        )
    if figure is not None:
        raise InputError(f"--figure {legible(figure)}: nothing is drawn before there is a table; leave it out")
    for option, given in _in_vain(wanted, form):
        if given:
            raise InputError(f"{option}: is for a table, and only a plan is named; leave it out, or name TABLE")
    said = paragraphs.of_plan(plan.config, plan.digest)
    as_json = json.dumps({"plan": str(plan.path), "digest": plan.digest, "paragraph": said}, indent=1)
    if paragraph is not None:
        write_whole({paragraph: said + "\n"})
    return Answered(as_json if form == "json" else said, as_json, (), DONE)


def _in_vain(wanted: Wanted, form: Form) -> list[tuple[str, bool]]:
    """Say which options are given that mean nothing without a table."""
    return [
        ("--promise", wanted.promise is not None),
        ("--metric", bool(wanted.metrics)),
        ("--family and --against", wanted.family is not None),
        ("--margin", wanted.margin is not None),
        ("--exclude", bool(wanted.exclude)),
        ("--no-repetition", not wanted.again),
        ("--look", wanted.look),
        ("--adequate-from", wanted.adequate_from is not None),
        ("--threshold", wanted.threshold is not None),
        ("--columns, --better, --scale, --people, --where, --alike, --wide and --decimal", wanted.told != NOTHING),
        ("--format csv", form == "csv"),
    ]


def check_names(figure: Path | None, paragraph: Path | None) -> None:
    """Raise InputError for files of a figure or a paragraph that end in something else, or cannot be written."""
    files.check_suffix(figure, "--figure")
    if paragraph is not None and paragraph.suffix.lower() not in (".md", ".txt"):
        raise InputError(f"--paragraph {legible(paragraph)}: a paragraph is text; end the name with .md or .txt")
    check_writable(paragraph, "--paragraph")


def write(found: Conclusion, figure: Path | None, paragraph: Path | None) -> list[Path]:
    """Write what is asked for beside the answer; return the files."""
    if figure is not None:
        from simlab.drawing.figures import conclusion as figures

        files.write(lambda: figures.draw(found), figure)
    if paragraph is not None:
        write_whole({paragraph: paragraphs.paragraph(found) + "\n"})
    return [file for file in (figure, paragraph) if file is not None]


def to_json(found: Conclusion) -> str:
    """Write a conclusion as JSON; what is not a finite number is null."""
    return json.dumps(found.plain(), indent=1, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, str) or not isinstance(value, Sequence):
        return tables.plain([{"value": value}])[0]["value"]
    return [_plain(one) for one in value]
