"""Check cells in the driver, where parts run before any worker does: what they raise is theirs, and is said so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol

from simlab.parts import is_own
from simlab.types import InputError


class ShapeLike(Protocol):
    """Look like `simlab.studies.kind.Shape`."""

    @property
    def system_names(self) -> tuple[str, ...]:
        """Names of the systems of a cell."""


Config = Mapping[str, Any]
CheckFunction = Callable[[Config], ShapeLike]


def shape_of(config: Config, where: str, check: CheckFunction) -> ShapeLike:
    """Check a cell, named `where`, and return its shape.

    Raises InputError where its keys contradict each other, and where a part of a plug-in goes wrong; what goes wrong
    without any plug-in is a bug, and raised as it is.
    """
    plugins = config.get("plugins", ())
    try:
        return check(config)
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        named = _culprit(error.__traceback__, plugins) or ", ".join(_foreign_parts(config))
        if not named:
            if isinstance(error, SystemExit):
                raise RuntimeError(f"SystemExit({error.code!r}) in {where or 'the cell'}") from error
            raise
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"{where}{', ' if where else ''}{named}: {said}; mend the plug-in") from error


def _culprit(traceback: TracebackType | None, plugins: Sequence[str]) -> str:
    """Name the innermost function of a plug-in that was at work; empty where none was."""
    named = ""
    packages = tuple(f"{package}." for package in plugins)
    while traceback is not None:
        module = str(traceback.tb_frame.f_globals.get("__name__", ""))
        if packages and f"{module}.".startswith(packages):
            named = f"{module}.{traceback.tb_frame.f_code.co_name}"
        traceback = traceback.tb_next
    return named


def _foreign_parts(section: Config) -> Iterator[str]:
    """Name the parts of plug-ins that a cell has chosen: one may have handed on what another could not use."""
    for key, value in section.items():
        if isinstance(value, Mapping) and key != "measure":
            if "_target_" in value and not is_own(value):
                yield str(value["_target_"])
            yield from _foreign_parts(value)
