"""Write a plan into the folder of its study, and refuse folders of other plans or of studies under way.

`lock` holds the folder while a plan is made, `freeze_study` makes a composed study one that the folder can hold, and
`write` writes both into it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from simlab import schemas
from simlab.answers.plan import PlanFile
from simlab.concluding.assigning.planned_study import ASSIGNED, CONCLUSION, KEY, plan_of
from simlab.concluding.campaigns import digest
from simlab.concluding.looks import ENDING as LOOKS
from simlab.concluding.plans import FOLDER_FILE
from simlab.config.studyfile import FrozenFamily
from simlab.config.studyfile import write as write_study
from simlab.engine import ledger
from simlab.engine.ledger import Ledger
from simlab.files import describe_need, expand_path, reason, write_whole
from simlab.messages import clip, show
from simlab.planning.bench import compose_study
from simlab.planning.terms import Design, Ground
from simlab.types import InputError

OF_PLANS = ("worlds", "pools", "document_draws", "studies", "measure", "engine")
"""Keys of a config that set how a plan simulates, and are not part of the study."""

PLAN, FRONT, FIGURE, PARAGRAPH, WORLD = "plan.json", "front.csv", "front.png", "paragraph.md", "world.yaml"
READ = {"systems": WORLD, "metric": "metric.yaml"}
"""Sections that a study may read from a file, and the name of that file in a folder."""
CAMPAIGNS = "campaigns"
"""The folder below a plan's that keeps the campaigns of its search, and the world that was fitted for them."""
PILOT = "pilot_sha256"
"""Key of the request: the digest of the pilot, or the world, that a plan stands on."""
WORDS = "words"
"""Key of the request: the words typed. Plans are not compared by it, since a pilot may have another name by now."""
PATHS = ("candidates", "scenarios")
"""Files of designs and of other worlds, as typed: their digests are keys, too, and nothing is known by their names."""
Asked = Mapping[str, Any]
"""Request of a plan, by which its folder is known again: flat keys and values, as typed."""


def compose_folder_study(ground: Ground, design: Design) -> dict[str, Any]:
    """Return the composed study of a design, with its settings in the place of what all designs share."""
    sections = {word: word.partition("=")[0].replace("/", ".").partition(".")[0] for word in ground.words}
    return dict(compose_study([word for word, section in sections.items() if section not in OF_PLANS], design))


class Frozen(NamedTuple):
    """A study as its folder holds it, its digest, and the paths of the files that it reads, by their names there."""

    config: Mapping[str, Any]
    text: str
    digest: str
    files: Mapping[str, Path]


def freeze_study(config: Mapping[str, Any], family: FrozenFamily | None = None) -> Frozen:
    """Return a composed study as its folder holds it: files that it reads are named by their copies in the folder."""
    paths: dict[str, Path] = {}
    for section, name in READ.items():
        path = config.get(section, {}).get("path")
        if isinstance(path, str) and config[section].get("sha256") is not None:
            paths[name] = expand_path(path)
            config = {**config, section: {**config[section], "path": name}}
    return Frozen(config, write_study(config, family) + "\n", digest(config), paths)


def check(out: Path, requested: Asked) -> None:
    """Raise InputError, before anything is carried out, for a folder that cannot be written or is of another plan.

    A folder that is not there will be made. One of the same plan is continued.
    """
    where = f"--out {clip(out)}"
    try:
        state, there = (out if out.exists() else _nearest_folder(out)), out.exists()
    except (OSError, ValueError) as error:
        raise InputError(f"{where}: cannot be written ({reason(error)})") from error
    if there and not out.is_dir():
        raise InputError(f"{where}: it is a file; name a folder")
    if not state.is_dir() or not os.access(state, os.W_OK | os.X_OK):
        raise InputError(f"{where}: cannot be written (Permission denied); name another folder")
    if (plan := plan_of(out)) is not None:
        _refuse_other(plan.asked, requested, where)
    elif (out / FOLDER_FILE).exists():
        raise InputError(f"{where}: holds a study that was not planned here ({FOLDER_FILE}); name another folder")


def refuse_begun(out: Path) -> None:
    """Raise InputError for a folder whose study is under way: it has a key, answers or looks, and is not replaced."""
    begun = [file for name in (KEY, ASSIGNED, CONCLUSION) if (file := out / name).exists()]
    begun += sorted(out.glob(f"*{LOOKS}"))
    if begun:
        raise InputError(
            f"--out {clip(out)}: its study is under way ({begun[0].name}), and a plan would replace it; name "
            "another folder"
        )


@contextmanager
def lock(out: Path, requested: Asked) -> Iterator[Ledger]:
    """Hold a folder alone for a plan, by the ledger of its campaigns, which is yielded.

    Raises InputError where another plan holds it, for what `check` refuses, and for a study that is under way. Files
    made for a plan that ends before anything was carried out are deleted.
    """
    campaigns = out / CAMPAIGNS
    book_file = campaigns / ledger.FILE
    _refuse(out, requested)
    new = not book_file.exists()
    folders = [folder for folder in (campaigns, out, *out.parents) if not folder.exists()]
    try:
        with ledger.open_to_write(campaigns) as book:
            try:
                # The plan that held it until now may have written another one, or taken its ledger away.
                _refuse(out, requested)
                if not book_file.exists():
                    raise InputError(f"--out {clip(out)}: was in use by another plan; give the same command again")
                yield book
            except BaseException:
                if new and not book.n_blocks():
                    (campaigns / WORLD).unlink(missing_ok=True)
                    book_file.unlink(missing_ok=True)
                raise
    except BaseException:
        for folder in folders:
            with suppress(OSError):
                folder.rmdir()
        raise


def _refuse(out: Path, requested: Asked) -> None:
    check(out, requested)
    refuse_begun(out)


def write(
    out: Path,
    study: Frozen,
    requested: Asked,
    record: Mapping[str, Any],
    texts: Mapping[str, str],
    figure: Callable[[Path], object] | None = None,
    command: Sequence[str] = (),
) -> list[Path]:
    """Write a plan into its folder, all files aside before the first takes its place; return the files.

    `record` is the plan as data, `texts` are further files by name; `figure` draws a figure into the file that it is
    given. plan.json has the record, the request, by which a folder is known again, and the `command`. Raises
    InputError where the disk does not take them.
    """
    from importlib.metadata import version

    plan = PlanFile(
        schema=schemas.PLAN,
        simlab=version("simlab"),
        asked=options_as_json(requested),
        command=tuple(command),
        study=FOLDER_FILE,
        digest=study.digest,
        answer=dict(record),
    )
    texts = {FOLDER_FILE: study.text, **texts}
    moved = {name: file for name, file in study.files.items() if file.resolve() != (out / name).resolve()}
    try:
        out.mkdir(parents=True, exist_ok=True)
        contents = {name: file.read_text(encoding="utf-8") for name, file in moved.items()} | texts
        drawn = {out / FIGURE: figure} if figure is not None else {}
        # The plan is last, so that a folder with a plan has all that belongs to it.
        plan_file = {out / PLAN: json.dumps(plan.serialise(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"}
        write_whole({out / name: text for name, text in contents.items()} | drawn | plan_file)
    except OSError as error:
        where = clip(error.filename or out)
        raise InputError(f"{where}: cannot be written ({reason(error)}); {describe_need(error)}") from error
    return [out / name for name in (*study.files, *texts, *([FIGURE] if figure is not None else []), PLAN)]


def options_as_json(requested: Asked) -> dict[str, Any]:
    """Return a request as JSON gives it back: sequences are lists."""
    options: dict[str, Any] = json.loads(json.dumps(dict(requested), default=str, ensure_ascii=False))
    return options


def _refuse_other(before: Asked, requested: Asked, where: str) -> None:
    now = options_as_json(requested)
    was, pilot = before.get(PILOT), now.get(PILOT)
    rest, now_rest = (
        {key: request[key] for key in request.keys() - {PILOT, WORDS, *PATHS}} for request in (before, now)
    )
    if was != pilot and rest == now_rest:
        raise InputError(
            f"{where}: was planned on another pilot (its digest was {show(was)[:9]}, now {show(pilot)[:9]}); name "
            "another folder"
        )
    for key in sorted((before.keys() | now.keys()) - {WORDS, *PATHS}):
        if before.get(key) != now.get(key):
            was, typed = (show(request.get(key)) for request in (before, now))
            raise InputError(f"{where}: holds another plan ({key} was {was}, now {typed}); name another folder")


def _nearest_folder(out: Path) -> Path:
    """Return the nearest folder above that is there."""
    return next(parent for parent in out.absolute().parents if parent.exists())
