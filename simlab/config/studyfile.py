"""Write a composed study to a study file (YAML), and read it back; `simlab run FILE` carries it out.

`write` takes a config and returns the text, `load_study` takes a path and returns a `Declared`, to be composed;
`read_config` returns the config itself. A file is data: its sections are recognised as existing options by their part
and their keys, and nothing that it names is imported. Keys that it leaves out have the default of their kind; keys that
it adds or contradicts are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, cast, get_args

import yaml

from simlab.config.composing import compose_sweep, fill_defaults
from simlab.config.groups import Options, find_options, read_section
from simlab.config.overrides import KeySetting
from simlab.config.plain_yaml import parse_value, read_content
from simlab.config.precision_targets import read as read_until
from simlab.config.sections import check
from simlab.config.sweep import Config
from simlab.config.sweepfile import Declared
from simlab.files import digest, expand_path
from simlab.messages import show, suggest
from simlab.types import QUESTION, FamilyName, InputError

VERSION = 1
"""Version of the format."""
UNTIL = "until"
"""Key of a study file that says to which precision it is run; a study is the same without it."""
FAMILY, AGAINST = "family", "against"
"""Keys of a study file that say which claims are promised, and their baseline; a study is the same without them."""
FROM_FILES = ("systems", "metric")
"""Sections that may say which file they are read from."""
_WORD = re.compile(r"[A-Za-z_][\w.]*", re.ASCII)
# Texts that read as other values would be lost if they stood bare: in YAML 1.1 yes, off and y are truth values.
_VALUES = ("null", "true", "false", "nan", "inf", "yes", "no", "on", "off", "y", "n")
_MISSING = object()


class FrozenFamily(NamedTuple):
    """Family of comparisons that a plan fixes before the first look, and the baseline of `against`."""

    name: FamilyName
    against: str | None = None


def write(config: Mapping[str, Any], family: FrozenFamily | None = None) -> str:
    """Write a composed study as YAML with the version of the format, the kind of study and its family in front."""
    from simlab.studies.kinds import identify_kind

    claims = (
        {} if family is None else {key: value for key, value in zip((FAMILY, AGAINST), family, strict=True) if value}
    )
    return write_yaml({"simlab": VERSION, QUESTION: identify_kind(config).question, **claims, **config})


def read_family(content: Mapping[str, Any]) -> FrozenFamily | None:
    """Return the family that a study file fixes; None where it fixes none.

    Raises InputError for what is no family, and for a baseline without its family.
    """
    name, against = content.get(FAMILY), content.get(AGAINST)
    if FAMILY in content and name not in get_args(FamilyName):
        raise InputError(f"{FAMILY}: {show(name)} is no family; {suggest(str(name), get_args(FamilyName))}")
    if (name == AGAINST) != isinstance(against, str):
        raise InputError(f"{FAMILY}: {AGAINST} and {AGAINST}: SYSTEM go together; add the other, or leave both out")
    if name is None:
        return None
    # A word of a YAML file is a text of its own kind, which no YAML can be written from.
    return FrozenFamily(cast("FamilyName", str(name)), None if against is None else str(against))


def write_yaml(content: Mapping[str, Any]) -> str:
    """Write nested mappings as YAML that reads back as it stands: lists on a line, texts quoted but for bare words."""
    return yaml.dump(
        content, Dumper=_Dumper, sort_keys=False, default_flow_style=False, allow_unicode=True, width=2**16
    ).rstrip("\n")


def read_config(content: Any, plugins: Sequence[str] = ()) -> Config:
    """Return the config that a study file was written from, given its content; nothing is composed.

    The files that the study reads need not be at hand. Raises InputError for content that is no study file, and for a
    key or a value that no study has.
    """
    from simlab.studies.kinds import identify_kind, infer_kind

    # Until when it was run changes no number either.
    study = _plain_section({key: value for key, value in _check_content(content, plugins).items() if key != UNTIL})
    question = study.pop(QUESTION, None)
    # How it was measured and computed changes no number.
    study = {key: value for key, value in study.items() if key not in ("measure", "engine")}
    requested = question if isinstance(question, str) else None
    study = fill_defaults(study, plugins, requested) | {"plugins": _value("plugins", content.get("plugins", []))}
    config = check(study, plugins=plugins)
    if question not in (None, infer_kind(config).question):
        config[QUESTION] = question
    # An unknown question is refused here.
    identify_kind(config)
    return config


def locate_files(study: Mapping[str, Any], path: Path) -> dict[str, str]:
    """Return, by section, the files of a study that lie beside its own file: a folder can be moved, and read from afar.

    A relative path is taken from the current folder, unless no file lies there, or one with another digest than the
    study was written with while the file with that digest lies beside the study.
    """
    located = {}
    for section in FROM_FILES:
        content = study.get(section, {})
        file, known = (content.get("path"), content.get("sha256")) if isinstance(content, Mapping) else (None, None)
        if isinstance(file, str) and isinstance(known, str) and _lies(path.parent / file, file, known):
            located[section] = str(file)
    return located


def _lies(near: Path, file: str, known: str) -> bool:
    here = expand_path(file)
    if here.is_absolute() or near == here or not near.is_file():
        return False
    return not here.is_file() or (digest(near) == known != digest(here))


class _Dumper(yaml.SafeDumper):
    """Write lists on a line and quote texts."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    bare = _WORD.fullmatch(text) and text.lower() not in _VALUES
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if bare else '"')


def _list(dumper: yaml.SafeDumper, values: Sequence[Any]) -> yaml.SequenceNode:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=True)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)


def load_study(path: Path, overrides: Sequence[str] = (), plugins: Sequence[str] = ()) -> Declared:
    """Read a study file as a declared sweep of one cell; files that the `overrides` replace need not be at hand.

    Raises InputError, beginning with the path, for everything that is wrong with the file; nothing is run.
    """
    content = read_content(path)
    try:
        study = fill_defaults(_check_content(content, plugins), plugins)
        study |= {
            name: {**study[name], "path": str(path.parent / file)} for name, file in locate_files(study, path).items()
        }
        until = read_until(UNTIL, study.pop(UNTIL)) if UNTIL in study else None
        typed = {text.partition("=")[0] for text in overrides}
        settings = tuple(_settings(study, find_options(plugins), typed))
        declared = Declared(path.stem, settings=settings, command=("run", str(path)), one_cell=True)
        declared = replace(declared, until=until)
        _compare(_plain_section(study), _compose_cell(declared, plugins), typed)
    except InputError as error:
        raise InputError(f"{show(str(path), 200)}: {error}") from error
    return declared


def _check_content(content: Any, plugins: Sequence[str]) -> dict[str, Any]:
    """Check what does not belong to the study itself, its version and the packages it needs; return the rest."""
    if not isinstance(content, dict) or "simlab" not in content:
        raise InputError(
            "is no study file, which begins with `simlab: 1` (`simlab show --config` prints one); "
            "a sweep is carried out by `simlab sweep FILE`"
        )
    if (version := _value("simlab", content["simlab"])) != VERSION:
        raise InputError(f"simlab: {show(version)} is a version of study files unknown here; this simlab reads 1")
    needed = _value("plugins", content.get("plugins", []))
    for plugin in needed if isinstance(needed, list) else [needed]:
        if plugin not in plugins:
            raise InputError(f"uses parts of the package {show(plugin)}; if you trust it, add --plugins {plugin}")
    read_family(content)
    return {key: value for key, value in content.items() if key not in ("simlab", "plugins", FAMILY, AGAINST)}


def _settings(section: Mapping[str, Any], options: Options, typed: set[str], where: str = "") -> Iterator[KeySetting]:
    """Take a section and all below it for settings: the option that it is, then its values."""
    own = {name: value for name, value in section.items() if not isinstance(value, dict)}
    if where == "measure":
        yield KeySetting("measure", ([str(name) for name in section],))
    elif where in options and (own or where != "raters"):  # raters without keys come with their systems
        yield KeySetting(where, (find_option(own, where, options[where]),))
    for name, value in section.items():
        key = f"{where}.{name}".lstrip(".")
        if isinstance(value, dict):
            if key not in options and where != "measure":
                raise InputError(f"{key} is no section of a study; {suggest(key, options)}")
            yield from _settings(value, options, typed, key)
        elif name == "_target_":
            _check_target(str(value), where, options)
        elif not _is_replaced(key, typed):
            yield KeySetting(key, (_value(key, value),))


def find_option(own: Mapping[str, Any], group: str, files: Mapping[str, Path]) -> str:
    """Find the option that a section is: one with its part, if it has any, and of these the most alike."""
    sections = {name: read_section(file) for name, file in files.items()}
    same = [name for name, section in sections.items() if section.get("_target_") == own.get("_target_")]
    if not same:
        parts = {str(section["_target_"]): None for section in sections.values() if "_target_" in section}
        wrong = own.get("_target_")
        remedy = suggest(str(wrong), parts) if wrong else "name its part as `_target_: ...`"
        raise InputError(f"{group} is no option that there is (its part is {show(wrong)}); {remedy}")
    values = {name: _value(group, value) for name, value in own.items() if name != "_target_"}

    part = str(own.get("_target_", "")).rpartition(".")[2]

    def likeness(name: str) -> tuple[int, int, bool]:
        section = sections[name]
        return (
            -len((section.keys() - {"_target_"}) ^ values.keys()),
            (sum(section.get(key) == values[key] for key in values)),
            name == part,
        )

    return max(same, key=likeness)


def _check_target(target: str, where: str, options: Options) -> None:
    """Check the part of a measure against the measure's name; other parts have chosen their option."""
    group, _, name = where.partition(".")
    if group != "measure":
        return
    if name not in options["measure"]:
        raise InputError(f"{where} is no measure; {suggest(name, options['measure'])}")
    if target != (known := read_section(options["measure"][name])["_target_"]):
        raise InputError(f"{where}: its part is {known}, not {show(target)}")


def _compose_cell(declared: Declared, plugins: Sequence[str]) -> Config:
    return next(compose_sweep(declared, plugins=plugins).cells()).config


def _compare(given: Mapping[str, Any], composed: Mapping[str, Any], typed: set[str], where: str = "") -> None:
    """Raise InputError for a key that the file lacks, or that its study does not have as the file says."""
    for name, value in composed.items():
        key, stated = f"{where}.{name}".lstrip("."), given.get(name, _MISSING)
        if key == "plugins" or _is_replaced(key, typed):
            continue
        if stated is _MISSING:
            raise InputError(f"lacks {key}, which a study file names; `simlab show --config` prints a whole one")
        if isinstance(value, dict) and isinstance(stated, dict):
            _compare(stated, value, typed, key)
        elif stated != value:
            raise InputError(f"{key}={show(stated)} does not go with the rest, which makes it {show(value)}")


def _is_replaced(key: str, typed: set[str]) -> bool:
    """True if a key is the digest of a file in whose place another one is typed."""
    section, _, name = key.rpartition(".")
    return name == "sha256" and f"{section}.path" in typed


def _plain_section(section: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _plain_section(value)
        if isinstance(value, dict)
        else str(value)
        if name == "_target_"
        else _value(name, value)
        for name, value in section.items()
    }


def _value(key: str, value: Any) -> Any:
    if isinstance(value, dict):
        raise InputError(f"{key} holds one value, not lines such as `key: value`")
    return parse_value(key, value)
