"""What blocks require of a scheduler and its workers: equal code and files, without which the bits would differ."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from simlab import files
from simlab.engine.backends import environment
from simlab.engine.workers import Config

ON_SCHEDULER = ("Python", "simlab", "distributed", "the code of simlab")
"""Compared with a scheduler, which unpickles calls but computes nothing."""


@dataclass(frozen=True)
class Requirements:
    """The plug-in packages and files that blocks need beside simlab."""

    plugins: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()

    def __or__(self, other: Requirements) -> Requirements:
        return Requirements(self.plugins | other.plugins, self.files | other.files)

    @property
    def arguments(self) -> tuple[list[str], list[str]]:
        """Packages and files, as `environment.describe` takes them."""
        return ["simlab", *sorted(self.plugins)], sorted(self.files)

    def describe_here(self) -> Mapping[str, str | None]:
        """Describe this environment."""
        return environment.describe(*self.arguments)

    def as_expression(self) -> str:
        """Return a Python expression that describes the environment in which it is evaluated."""
        module, call = inspect.getsource(environment), f"names['describe'](*{self.arguments!r})"
        return f"(lambda names: exec({module!r}, names) or {call})({{'__name__': 'environment'}})"


def find_requirements(configs: Iterable[Config]) -> Requirements:
    """Collect the requirements of cells; a config shared by many is read once."""
    configs = {id(config): config for config in configs}.values()
    plugins = {package for config in configs for package in config.get("plugins", ())}
    sections = (section for config in configs for section in config.values() if isinstance(section, Mapping))
    paths = {path for section in sections if isinstance(path := section.get("path"), str) and not _built_in(path)}
    return Requirements(frozenset(plugins), frozenset(os.path.abspath(files.expanded(path)) for path in paths))


def _built_in(path: str) -> bool:
    return path.startswith(files.BUILT_IN)
