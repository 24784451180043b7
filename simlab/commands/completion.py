"""Complete the words of a command line: commands, options, sweeps, keys, options of groups, measures.

A shell asks by starting simlab with `_SIMLAB_COMPLETE` set, the words in COMP_WORDS (a line each) and the number of
the one to complete in COMP_CWORD. It waits at every press of a key: names are read from the YAML files as text, since
importing what could tell them (and numpy with it) takes several times as long.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import typer

ASKED = "_SIMLAB_COMPLETE"
"""The variable whose presence says that a shell asks."""

_KEY = re.compile(r"^([A-Za-z]\w*):[ ]*([\w.]*)", re.MULTILINE)
_PRESETS = re.compile(r"^presets:[^\n]*\n((?:[ #][^\n]*\n|\n)+)", re.MULTILINE)
_PRESET = re.compile(r"^  (\w+):", re.MULTILINE)
_NO_SETTING = ("defaults", "plugins", "sha256")
QUESTION = "question"
"""The group whose options are the questions of the files of defaults."""


def answer(environment: Mapping[str, str], command: Any) -> str:
    """Write the completions of the word that the shell asks about, a line each."""
    words = environment.get("COMP_WORDS", "").split("\n")
    at = int(environment.get("COMP_CWORD", len(words) - 1))
    typed = words[at] if at < len(words) else ""
    *before, word = glued([*words[1:at], typed])
    # Bash replaces what comes after the last `=` only, and takes a lone `=` for a word of its own.
    kept = len(word) - len("" if typed == "=" else typed)
    return "\n".join(completion[kept:] for completion in completions(before, word, command))


def glued(words: Sequence[str]) -> list[str]:
    """Put together what bash takes apart at `=`.

    >>> glued(["run", "raters", "=", "crowd", "seed", "="])
    ['run', 'raters=crowd', 'seed=']
    """
    together: list[str] = []
    for k, word in enumerate(words):
        if together and (word == "=" or (k and words[k - 1] == "=")):
            together[-1] += word
        else:
            together.append(word)
    return together


def completions(before: Sequence[str], word: str, command: Any) -> list[str]:
    """List what a word may become after the words before it; nothing where a file is wanted, or anything."""
    named = next((w for w in before if not w.startswith("-")), None)
    own = command.commands.get(named) if named else command
    if own is None:
        return []
    option, equals, _ = word.partition("=")
    if word.startswith("-") and equals:
        return [f"{option}={value}" for value in _values(own, option, word[len(option) + 1 :], before)]
    if word.startswith("-"):
        return _starting(word, ["-h", "--help", *(name for p in own.params for name in p.opts if name[0] == "-")])
    if before and _taking(own, before[-1]):
        return _values(own, before[-1], word, before)
    return _starting(word, command.commands) if named is None else _arguments(named, before, word)


def _arguments(command: str, before: Sequence[str], word: str) -> list[str]:
    """Complete a word that is no option."""
    extra = [Path(folder) for flag, folder in pairwise(before) if flag == "--config-dir"]
    settings = Settings(extra)
    names = [w for w in before[before.index(command) + 1 :] if not w.startswith("-")]
    if command == "cluster-script" and not names:
        return _starting(word, ["slurm", "pbs", "dask-jobqueue"])
    if len(names) == {"sweep": 0, "cluster-script": 1}.get(command):
        return _starting(word, sweeps())
    if command == "show" and not names:
        options = [option for options in settings.groups.values() for option in options] if word else []
        return [*_starting(word, [*sweeps(), *options]), *_segments(word, settings.names())]
    return settings.complete(word) if command in ("run", "sweep", "cluster-script", "show") else []


class Settings:
    """Hold groups with their options, and keys with their defaults, as the YAML files say."""

    def __init__(self, extra: Iterable[Path] = ()) -> None:
        self.groups: dict[str, list[str]] = {}
        self.keys: dict[str, list[str]] = {}
        for root in (_folder("conf"), *extra):
            for file in sorted(root.rglob("*.yaml")):
                self._add(file, ".".join(file.parent.relative_to(root).parts))

    def _add(self, file: Path, group: str) -> None:
        if group == "calculation":
            return
        if group:
            self.groups.setdefault(group, []).append(file.stem)
        where = f"{group}.{file.stem}." if group == "measure" else f"{group}." if group else ""
        for key, default in _KEY.findall(file.read_text(encoding="utf-8")):
            if key == QUESTION and not group:
                self.groups.setdefault(QUESTION, []).append(default)
            elif key not in _NO_SETTING:
                defaults = self.keys.setdefault(where + key, [])
                defaults += [default] if default and default not in defaults else []

    def names(self) -> list[str]:
        """List groups and keys."""
        return [*self.groups, *self.keys]

    def complete(self, word: str) -> list[str]:
        """Complete a setting: its key up to the next dot, the options of a group, or the default of a key."""
        key, equals, text = word.partition("=")
        if not equals:
            return _segments(word, [f"{name}=" for name in self.names()])
        values = self.groups.get(key.replace("/", ".")) or self.keys.get(key, [])
        return [f"{key}={value}" for value in _listed(text, values)]


def sweeps() -> list[str]:
    """List the sweeps by name."""
    return sorted(file.stem for file in _folder("sweeps").glob("*.yaml"))


def _taking(command: Any, option: str) -> Any:
    """Find the option of a command that takes a value, if there is one of this name."""
    return next((p for p in command.params if option in p.opts and not getattr(p, "is_flag", True)), None)


def presets(sweep: str) -> list[str]:
    """List the presets of a sweep by name, and the one that all have."""
    file = _folder("sweeps") / f"{sweep}.yaml"
    section = _PRESETS.search(file.read_text(encoding="utf-8")) if sweep in sweeps() else None
    return ["quick", *(_PRESET.findall(section[1]) if section else [])]


def _values(command: Any, option: str, text: str, before: Sequence[str]) -> list[str]:
    """List the values of an option that has some to choose from."""
    parameter = _taking(command, option)
    if parameter is None:
        return []
    if option == "--preset":
        return _starting(text, presets(next((w for w in before[1:] if not w.startswith("-")), "")))
    if option == "--measure":
        return _listed(text, Settings().groups["measure"])
    items = parameter.shell_complete(typer.Context(command), text)
    return [item.value for item in items if item.type == "plain"]


def _starting(word: str, names: Iterable[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if name.startswith(word)]


def _listed(text: str, names: Iterable[str]) -> list[str]:
    """Complete the last of several names with commas between them, each named once."""
    earlier, comma, last = text.rpartition(",")
    chosen = earlier.split(",")
    return [f"{earlier}{comma}{name}" for name in _starting(last, names) if name not in chosen]


def _segments(word: str, names: Iterable[str]) -> list[str]:
    """Complete names up to their next dot, so that a first look is a short one."""
    return _starting(word, sorted(set(_next_segments(word, names))))


def _next_segments(word: str, names: Iterable[str]) -> Iterator[str]:
    for name in _starting(word, names):
        dot = name.find(".", len(word))
        yield name if dot < 0 else name[: dot + 1]


def _folder(name: str) -> Path:
    """Locate `conf` or `sweeps` as `simlab.config` does."""
    package = Path(__file__).resolve().parent.parent
    return package / name if (package / name).is_dir() else package.parent / name
