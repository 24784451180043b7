"""Hold the code of a scheduler and its workers against the code here: only the same gives the same bits."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from simlab import files
from simlab.engine.backends import about
from simlab.engine.workers import Config

CODE, FILE = "the code of ", "the file "
ON_SCHEDULER = ("Python", "simlab", "distributed", "the code of simlab")
"""A scheduler computes nothing, but reads what is sent by it."""


@dataclass(frozen=True)
class Needs:
    """Name what blocks need beside simlab where they are carried out: packages of plug-ins, and files."""

    plugins: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()

    def __or__(self, other: Needs) -> Needs:
        return Needs(self.plugins | other.plugins, self.files | other.files)

    @property
    def words(self) -> tuple[list[str], list[str]]:
        """List packages and files as `about` takes them."""
        return ["simlab", *sorted(self.plugins)], sorted(self.files)

    def here(self) -> Mapping[str, str | None]:
        """Say what is here."""
        return about.about(*self.words)

    def asked(self) -> str:
        """Return an expression whose value says, wherever it is evaluated, what is there."""
        module = inspect.getsource(about)
        return f"(lambda names: exec({module!r}, names) or names['about'](*{self.words!r}))({{'__name__': 'about'}})"


def needs_of(configs: Iterable[Config]) -> Needs:
    """Gather what cells need; one that comes again and again is looked at once."""
    configs = {id(config): config for config in configs}.values()
    plugins = {package for config in configs for package in config.get("plugins", ())}
    sections = (section for config in configs for section in config.values() if isinstance(section, Mapping))
    paths = {path for section in sections if isinstance(path := section.get("path"), str) and not _built_in(path)}
    return Needs(frozenset(plugins), frozenset(os.path.abspath(files.expanded(path)) for path in paths))


def difference(here: Mapping[str, str | None], there: object, names: Iterable[str]) -> str:
    """Say in what another place differs, and what to do; empty where it does not."""
    if not isinstance(there, Mapping):
        return f"could not be asked what it has ({there!r}); start it again"
    for name in names:
        ours, theirs = here[name], there.get(name)
        if theirs is None and ours is not None:
            return f"lacks {name.removeprefix(CODE)}; {_remedy(name)}"
        if theirs != ours and name.startswith((CODE, FILE)):
            return f"has another state of {name} ({theirs}, here {ours}); {_remedy(name)}"
        if theirs != ours:
            return f"has {name} {theirs}, here it is {ours}; {_remedy(name)}"
    return ""


def _remedy(name: str) -> str:
    if name.startswith(FILE):
        return "put it there, at the same path"
    return "install there what is installed here and start it again, or do without it"


def _built_in(path: str) -> bool:
    return path.startswith(files.BUILT_IN)
