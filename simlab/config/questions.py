"""Find the kind of study that the chosen options belong to.

Each kind has its own file of defaults in conf/, which names its question. An option says by what its part returns, or
by its keys, which kinds it belongs to; an option of several leaves it to the others, and `question` settles it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlab.config.groups import Options, section_of
from simlab.config.overrides import Setting
from simlab.messages import shown
from simlab.types import QUESTION, InputError

if TYPE_CHECKING:
    from simlab.studies.kind import Kind


def kinds_among(settings: Iterable[Setting], options: Options, plugins: Sequence[str]) -> tuple[Kind, ...]:
    """List the kinds of studies of the cells of a sweep: one for each value of the question, else one for all.

    Cells differ in their kind only where the question is an axis: of all that is said beside it, every value must
    belong to each of the kinds. Raises InputError where none has them all.
    """
    given = [setting for setting in settings if setting.key in options and setting.key != "measure"]
    questions = next((setting.values for setting in given if setting.key == QUESTION), ("",))
    return tuple(kind_choosing(_choices(given, question), options, plugins) for question in questions)


def _choices(settings: Sequence[Setting], question: Any) -> list[tuple[str, Any]]:
    return [(s.key, value) for s in settings for value in ((question,) if s.key == QUESTION else s.values)]


def kind_choosing(choices: Iterable[tuple[str, Any]], options: Options, plugins: Sequence[str]) -> Kind:
    """Return the kind of study that all chosen options (group and name) belong to.

    Where they leave it open, it is the kind that has one of them among its defaults, else the first that is possible.
    Decision rules are shared among kinds: whose default one is does not tell what is asked.
    Raises InputError where no kind has them all, and for a kind that has no file of defaults.
    """
    from simlab.studies.kinds import kinds

    every = kinds(plugins)
    for kind in every:
        if kind.question not in options[QUESTION]:
            raise InputError(
                f"plug-in kind {kind.name}: no file of its conf/ says `question: {kind.question}`; add one"
            )
    possible, home, said = list(every), [], ""
    for group, option in choices:
        of = kinds_of_option(group, str(option), options, plugins)
        choice = f"{group}={shown(option)}"
        if not any(kind in of for kind in possible):
            raise InputError(f"{said} belongs to {_named(possible)}, {choice} to {_named(of)}; choose one")
        left = [kind for kind in possible if kind in of]
        said = choice if len(left) < len(possible) or not said else said
        possible = left
        if group != "decision":
            home += [kind for kind in every if _defaults(options[QUESTION][kind.question]).get(group) == option]
    return next(kind for kind in (*home, *every) if kind in possible)


def kinds_of_option(group: str, option: str, options: Options, plugins: Sequence[str]) -> tuple[Kind, ...]:
    """List the kinds of studies that an option can belong to."""
    from simlab.studies.kinds import kind_asking, kinds, kinds_with

    if group == QUESTION:
        return (kind_asking(option, plugins),)
    file = options[group].get(option)
    return kinds_with(group, section_of(file), plugins) if file else kinds(plugins)


def _named(kinds: Sequence[Kind]) -> str:
    """Name kinds of studies as users know them."""
    return "studies of " + " or ".join(kind.name for kind in kinds)


def _defaults(file: Path) -> dict[str, str]:
    """Return the option of each group that a kind of study has unless another is chosen."""
    listed = [entry for entry in section_of(file)["defaults"] if isinstance(entry, dict)]
    return {key.replace("/", "."): value for entry in listed for key, value in entry.items() if isinstance(value, str)}
