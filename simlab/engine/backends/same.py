"""Hold the code of a scheduler and its workers against the code here: only the same gives the same bits."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from simlab import files
from simlab.engine.backends import about
from simlab.engine.workers import Config

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


def _built_in(path: str) -> bool:
    return path.startswith(files.BUILT_IN)
