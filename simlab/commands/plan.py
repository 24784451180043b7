"""Carry out `simlab plan`: search for the design to buy, and write the folder of the study that carries it out.

`write_plan` takes `PlanOptions` and returns a `WrittenPlan`; `write` makes text, JSON or CSV of it. The ground of a
plan is the world in which designs are simulated: a preset, a world's file, or a world fitted to the table of a pilot.
"""

from __future__ import annotations

import json
import math
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from simlab import files
from simlab.commands.exit_codes import DONE, RESERVED
from simlab.commands.launch import OUTPUTS
from simlab.commands.next_steps import option, told_words
from simlab.commands.notes import program
from simlab.commands.typed_commands import Launched
from simlab.messages import clip
from simlab.tables.rating_table import NOTHING, ColumnOverrides
from simlab.types import InputError

if TYPE_CHECKING:
    from simlab.answers.plan import PlanAnswer, StudyPlan
    from simlab.config.studyfile import FrozenFamily
    from simlab.drawing.text.tables import Form
    from simlab.engine.ledger import Ledger
    from simlab.planning.ground import GivenSettings
    from simlab.planning.terms import Ground
    from simlab.types import FamilyName

Say = Callable[[str], None]
"""Function that prints a line on progress."""
MORE = "20000"
"""Limit of simulated studies in the suggested command, after a search that decided nothing."""
RENAMED = {"smallest": "smallest-difference"}
"""Options of the command line by the field of `PlanOptions`, where their names differ."""


class PlanOptions(NamedTuple):
    """Options of `simlab plan`, as typed.

    `words` are the subject (a pilot's table or a world's file, if any) and settings KEY=VALUE. `smallest` is the
    smallest difference that matters, on the pilot's scale; `price` is that of a rating, `budget` the money in all, `by`
    the deadline; `over` and `candidates` name the designs to search, and `scenarios` other worlds' files.
    """

    words: tuple[str, ...] = ()
    target: str | None = None
    floor: str | None = None
    smallest: float | None = None
    over: str | None = None
    candidates: Path | None = None
    scenarios: str | None = None
    margin: float = 0.02
    confidence: float = 0.95
    at_most: str = "5000"
    systems: int | None = None
    raters: int | None = None
    price: float | None = None
    budget: float | None = None
    by: str | None = None
    law: str = "auto"
    out: Path | None = None
    jobs: int | None = None
    seed: int = 1
    column_overrides: ColumnOverrides = NOTHING
    force: bool = False
    family: FamilyName | None = None
    against: str | None = None

    @property
    def said(self) -> dict[str, Any]:
        """Return the options that determine the plan, as texts by name, to compare with those kept in its folder.

        Those for where, how fast and how long it is carried out are no part of them.
        """
        left_out = ("out", "jobs", "at_most", "column_overrides", "words")
        own = {name: value for name, value in self._asdict().items() if name not in left_out and value is not None}
        overrides = {
            name: str(value) for name, value in asdict(self.column_overrides).items() if value != getattr(NOTHING, name)
        }
        return {name: str(value) for name, value in own.items()} | overrides | {"words": sorted(self.words)}

    @property
    def typed(self) -> list[str]:
        """Return the words behind `simlab plan` that ask the same."""
        usual, kept_apart = type(self)()._asdict(), ("words", "column_overrides", "force")
        own = {name: x for name, x in self._asdict().items() if name not in kept_apart and x != usual[name]}
        options = [word for name, x in own.items() for word in option(RENAMED.get(name, name.replace("_", "-")), x)]
        return [*self.words, *options, *told_words(self.column_overrides), *(["--force"] if self.force else [])]

    @property
    def command(self) -> list[str]:
        """Return the words behind `simlab` that plan it again, wherever and for however long that may be."""
        return ["plan", *self._replace(out=None, jobs=None, at_most=type(self)().at_most).typed]

    @property
    def contents(self) -> dict[str, str]:
        """Return digests of the files of designs and worlds, which count by their contents wherever they lie."""
        paths_by_option = {"candidates": [] if self.candidates is None else [self.candidates], "scenarios": self.worlds}
        return {f"{name}_sha256": ",".join(map(_contents, paths)) for name, paths in paths_by_option.items() if paths}

    @property
    def worlds(self) -> list[Path]:
        """Return the files of other worlds (--scenarios) in which the advised design is checked, too."""
        return [Path(path.strip()) for path in (self.scenarios or "").split(",") if path.strip()]


class WrittenPlan(NamedTuple):
    """A plan, the composed study of its design, the folder that both were written to, and the request."""

    plan: StudyPlan
    study: Mapping[str, Any]
    out: Path
    options: PlanOptions

    @property
    def record(self) -> PlanAnswer:
        """Return the plan as it is printed and kept: its study is named from where the user stands."""
        from simlab.answers.plan import PlanAnswer
        from simlab.concluding.plans import FOLDER_FILE

        return PlanAnswer((self.plan.model_copy(update={"study": str(self.out / FOLDER_FILE)}),))


def write(written: WrittenPlan, form: Form, given: Mapping[str, Any]) -> Launched:
    """Format a plan as table, csv or json; exit code 3 where no design reaches the targets."""
    from simlab.answers.plan import front_rows
    from simlab.drawing.text import tables

    text = {
        "json": lambda: json.dumps(written.record.serialise(), indent=1),
        "csv": lambda: tables.write_csv(front_rows(written.plan)),
        "table": lambda: page(written),
    }
    return Launched(text[form]().rstrip("\n"), (), DONE if written.plan.reached else RESERVED)


def page(planned: WrittenPlan) -> str:
    """Write a plan on a page, with the command that comes next."""
    from simlab.drawing.reports.answers.plan import report
    from simlab.drawing.reports.text import page as text_page

    plan, out = planned.plan, planned.out
    wrote = f"wrote {out}/: study.yaml (frozen, {str(plan.digest)[:6]}), plan.json, front.csv, front.png, paragraph.md"
    return f"{text_page(report(plan, planned.study))}\n\n{wrote}\nnext: {name_next_step(plan, out, planned.options)}"


def read_family(options: PlanOptions) -> FrozenFamily | None:
    """Return the family of comparisons to freeze in the study (None: none is given).

    Raises InputError for a family that lacks its baseline, and for a baseline that another family has no use for.
    """
    from simlab.concluding.options import refuse_half
    from simlab.config.studyfile import FrozenFamily

    refuse_half(options.family, options.against)
    name = "against" if options.against is not None else options.family
    return None if name is None else FrozenFamily(name, options.against)


def write_plan(options: PlanOptions, say: Say) -> WrittenPlan:
    """Search for the design and write its folder; raise InputError, before any simulation, for wrong options.

    `say` takes lines on progress.
    """
    from simlab.answers.plan import Limits
    from simlab.concluding.ratings.families import refuse_contradiction
    from simlab.planning import execution, folder, levers, request
    from simlab.planning.bench import Composer
    from simlab.planning.execution import PlanSearch
    from simlab.planning.ground import GivenSettings, smallest_difference
    from simlab.planning.terms import PlanRequest

    began = time.monotonic()
    subject, words = request.split_words(options.words)
    family = read_family(options)
    words = (*(("decision.multiplicity=bh",) if options.family == "fdr" else ()), *words)
    words = request.settings(words, options.price, options.budget, options.by, date.today())
    wanted_targets = request.read(options.target, options.floor)
    patience = request.read_patience(options.at_most)
    margin, confidence = request.share("--margin", options.margin), request.share("--confidence", options.confidence)
    pilot = {} if subject is None else {folder.PILOT: _digest(subject)}
    pilot |= options.contents
    named = {name: value for name, value in options.said.items() if name not in folder.PATHS}
    out = options.out or _usual_folder({**named, **pilot, "words": sorted(words)})
    requested = {**options.said, **pilot, **({"family": family.name} if family else {}), "settings": sorted(words)}
    given = GivenSettings(words, options.systems, options.raters, options.seed)
    with folder.lock(out, requested) as book:
        ground = lay_ground(subject, given, options, book, say)
        if subject is not None and _digest(subject) != pilot[folder.PILOT]:
            raise InputError(f"{clip(subject)}: has changed while it was read; give the same command again")
        ground = levers.make_room(ground, Composer(ground.words)(()), options.over, options.candidates)
        compose = Composer(ground.words)
        designs = levers.choose_designs(ground, compose, options.over, options.candidates)
        ground = replace(ground, levers=levers.find_levers(designs))
        refuse_contradiction(compose(()), options.family, f"--family {options.family}")
        budget = compose(())["budget"]
        wanted = PlanRequest(
            targets=wanted_targets,
            limits=Limits(money=budget["total"], currency=budget["currency"], deadline=budget["deadline"]),
            smallest=smallest_difference(ground, options.smallest),
            margin=margin,
            confidence=confidence,
            seed=options.seed,
        )
        plan = PlanSearch(
            ground, designs, wanted, out, book, given, patience, options.worlds, options.jobs, options.force
        )
        answer, study = execution.carry_out_plan(plan, began, say)
        # An assignment needs no plan to be at an end: its sheets may have been made meanwhile.
        folder.refuse_begun(out)
        return WrittenPlan(keep(out, answer, study, requested, family, options.command), study, out, options)


def keep(
    out: Path,
    answer: StudyPlan,
    config: Mapping[str, Any],
    requested: Mapping[str, Any],
    family: FrozenFamily | None = None,
    command: Sequence[str] = (),
) -> StudyPlan:
    """Write study, plan, front and paragraph into `out`; return the plan with its study's name, digest and family.

    `config` is the composed study of the advised design, `requested` what was asked (it is kept in the folder), and
    `command` the words that plan it again. Raises InputError where the disk does not take them.
    """
    from simlab.answers.plan import ClaimFamily, front_rows
    from simlab.concluding.plans import FOLDER_FILE
    from simlab.drawing.figures import files as figures
    from simlab.drawing.reports.answers.plan import report
    from simlab.drawing.reports.static import plot_report
    from simlab.drawing.text import paragraphs, plan_paragraphs, tables
    from simlab.planning import folder

    study = folder.freeze_study(config, family)
    claims = None if family is None else ClaimFamily(**family._asdict())
    answer = answer.model_copy(update={"study": FOLDER_FILE, "digest": study.digest, "family": claims})
    texts = {
        folder.FRONT: tables.write_csv(front_rows(answer)) + "\n",
        folder.PARAGRAPH: paragraphs.write_plan_paragraph(
            study.config, study.digest, plan_paragraphs.list_forecast_sentences(answer), family
        )
        + "\n",
    }

    def draw(file: Path) -> None:
        figures.write(lambda: plot_report(report(answer)), file)

    folder.write(out, study, requested, answer.serialise(), texts, draw, command)
    return answer


def name_next_step(answer: StudyPlan, out: Path, options: PlanOptions) -> str:
    """Return the next command: `assign` for a plan that reaches its targets, else one that plans otherwise.

    That has more patience where nothing was decided, else a larger difference, in another folder.
    """
    if answer.reached:
        words = ["assign", str(out), "--items", "items.csv", "--raters", "raters.csv", "--out", "sheet.csv"]
    elif answer.open is not None:
        words = ["plan", *options._replace(at_most=MORE, out=out).typed]
    else:
        larger = options._replace(smallest=find_least_difference(answer), out=out.with_name(f"{out.name}-larger"))
        words = ["plan", *larger.typed]
    return f"{program()} {shlex.join(words)}"


def find_least_difference(answer: StudyPlan) -> float:
    """Return the least difference that would reach the targets, rounded up; twice the asked one if not known."""
    known = [
        target.value for target in answer.would_reach if target.what == "difference" and math.isfinite(target.value)
    ]
    return round_up(known[0] if known else 2 * answer.smallest.value)


def round_up(value: float) -> float:
    """Round a positive number up to two digits.

    >>> round_up(4.213), round_up(0.0512), round_up(12)
    (4.3, 0.052, 12.0)
    """
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit - 1e-9) * unit:.2g}")


def _digest(subject: Path) -> str:
    try:
        return files.digest(subject)
    except OSError as error:
        raise InputError(f"{clip(subject)}: cannot be opened ({files.reason(error)})") from error


def _contents(path: Path) -> str:
    """Name a file by its contents; one that cannot be read, which is refused, by its path."""
    return _digest(path)[:16] if path.is_file() else str(path)


def _usual_folder(settings: Mapping[str, Any]) -> Path:
    named = repr(sorted(settings.items())).encode()
    return OUTPUTS / f"plan-{sha256(named).hexdigest()[:8]}"


def lay_ground(subject: Path | None, given: GivenSettings, options: PlanOptions, book: Ledger, say: Say) -> Ground:
    """Return the ground of a plan: presets (`subject` None), the file of a world or study, or a pilot's table.

    To a pilot a world is fitted first, and kept in the folder of `book`, the ledger of the plan. Raises InputError for
    a table that no world can be fitted to, and for one that failed its checks unless `--force`.
    """
    from simlab.planning import ground

    if options.law != "auto" and (subject is None or subject.suffix.lower() in (".yaml", ".yml")):
        of = "without a pilot nothing is fitted" if subject is None else f"{clip(subject)} has a law already"
        raise InputError(f"--law {options.law}: {of}; leave --law out, or name the table of a pilot (.csv)")
    if subject is None:
        return ground.stand_on_preset(given)
    if subject.suffix.lower() in (".yaml", ".yml"):
        return ground.stand_on_file(subject, given, force=options.force)
    return _lay_pilot_ground(subject, given, options, book, say)


def _lay_pilot_ground(table: Path, given: GivenSettings, options: PlanOptions, book: Ledger, say: Say) -> Ground:
    from simlab.commands import fit
    from simlab.fitting import report
    from simlab.planning import folder, ground
    from simlab.tables import preferences

    if preferences.is_table(table, options.column_overrides):
        raise InputError(
            f"{clip(table)}: is a table of preferences, and plans are made for studies of ratings; "
            "`simlab sweep preference_protocol` compares designs of comparisons"
        )
    _refuse_impossible(given, options)
    fitted = fit.fit_table(table, options.column_overrides, options.law, 0, say)
    if fitted.failed and not options.force:
        raise InputError(
            f"{clip(table)}: the world fitted to it failed {', '.join(fitted.failed)}, so its predictions err; fit "
            "another law (--law LAW), or add --force to plan with this reservation"
        )
    world = book.folder / folder.WORLD
    stored = world.read_text(encoding="utf-8") if book.n_blocks() and world.exists() else None
    text = report.text(fitted.world)
    if stored not in (None, text):
        text = report.text(report.keep_table_name(stored, fitted.world))
    if stored not in (None, text):
        raise InputError(
            f"{clip(book.folder)}: holds campaigns in another world than is fitted to {clip(table)} now; name "
            "another --out"
        )
    files.write_whole({world: text})
    return ground.stand_on_world(world, given, _read(fitted.fit.read.serialise()), fitted.fit.serialise())


def _refuse_impossible(given: GivenSettings, options: PlanOptions) -> None:
    """Raise InputError for settings, levers and candidates that no world allows, before one is fitted."""
    from simlab.planning import levers
    from simlab.planning.ground import compose_study, refuse_systems
    from simlab.planning.request import read_designs

    refuse_systems(given)
    config = compose_study(["systems=fitted", *given.words])
    if options.over is not None:
        levers.refuse_unknown(options.over, config)
    if options.candidates is not None:
        read_designs(options.candidates)


def _read(read: Mapping[str, Any]) -> str:
    """Format the line on the pilot's table from its counts, as `Fit.read` has them."""
    from simlab.messages import pluralise
    from simlab.tables.table_summary import list_remarks

    raters = f" by {pluralise(read['raters'], 'rater')}" if read["raters"] else ""
    scale = "{:g} to {:g}, ".format(*read["scale"]) if read["scale"] else ""
    what = f"{pluralise(read['used'], 'rating')} of {pluralise(read['systems'], 'system')}"
    left = f"; {'; '.join(remarks)}" if (remarks := [*list_remarks(read)]) else ""
    return f"{what} on {pluralise(read['documents'], 'document')}{raters}; {scale}{read['better']} is better{left}"
