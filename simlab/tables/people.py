"""Read which logins are one person, and tell machine judges from people by their names.

`put_people` takes collected ratings and a file of logins and persons, and returns the ratings by person (`Named`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from simlab.messages import clip, pluralise
from simlab.tables.columns import NAMES, fold_name
from simlab.tables.lines import find_dialect, numbered_lines, read_header, rows
from simlab.tables.names import RatingCollector, replace_raters
from simlab.types import InputError

PRODUCTS = re.compile(
    r"(chat)?gpt\d?|llama\d*|mistral|mixtral|qwen\d*|deepseek|gemini|vicuna|prometheus|pandalm|judgelm|gemba|grok|palm\d"
)
"""Beginnings of names of models; FIRST_NAMES, which people have, too, need a digit beside them."""
FIRST_NAMES = re.compile(r"claude|gemma")
WORDS = frozenset(("llm", "llms", "ai", "bot", "machine", "auto", "automatic", "openai", "anthropic", "o1", "o3", "o4"))
"""Parts of a name that mark a machine."""
MOST_SHOWN = 3


class Named(NamedTuple):
    """Ratings by person, the person behind each login (`who[login]`), and sentences on both."""

    collector: RatingCollector
    who: Mapping[str, str]
    notes: tuple[str, ...]


def put_people(collector: RatingCollector, path: Path | None, *, rater_known: bool = True) -> Named:
    """Replace logins by the persons that the file `path` names (None: logins stay).

    Raises InputError naming file and line for a file that does not name the table's raters, and for a table without
    raters (`rater_known` False).
    """
    if path is None:
        return Named(collector, {rater: rater for rater in collector.raters}, ())
    if not rater_known:
        raise InputError(f"--people {clip(path)}: the table does not say who rated; leave it out")
    known = people(path, collector.raters)
    who = {rater: known.get(rater, rater) for rater in collector.raters}
    n = len(set(who.values()))
    notes = [f"{pluralise(len(who), 'login')} are {'one person' if n == 1 else f'{n:,} people'}"]
    if strangers := [rater for rater in collector.raters if rater not in known]:
        names = clip(", ".join(strangers[:3]) + (", ..." if len(strangers) > 3 else ""), 100)
        notes.append(f"--people does not name {pluralise(len(strangers), 'login')} ({names}): each counts as a person")
    return Named(replace_raters(collector, list(who.values())), who, tuple(notes))


def people(path: Path, raters: Iterable[str]) -> dict[str, str]:
    """Return the person of each login in a file. The column of logins is the one that holds the table's raters.

    Raises InputError for a file without this column, or without one of persons, and for a login of two people.
    """
    where = clip(path)
    lines = numbered_lines(path, "give the file that says who raters are")
    first = next(lines, (0, ""))[1]
    dialect = find_dialect(first)
    names = read_header(first, dialect, f"{where}, line 1")
    content = [(1, names), *((line, [cell.strip() for cell in row]) for line, row in rows(lines, dialect, where))]
    wide = max(len(row) for _, row in content)
    table = [(line, row + [""] * (wide - len(row))) for line, row in content]
    known = set(raters)
    login = _login(table, wide, known, where)
    person = _person(table, login, where)
    return _read_people(table if table[0][1][login] in known else table[1:], login, person, where)


def _login(table: Sequence[tuple[int, list[str]]], wide: int, raters: set[str], where: str) -> int:
    met = [len({row[k] for _, row in table} & raters) for k in range(wide)]
    if not max(met):
        raise InputError(
            f"--people {where}: names none of the table's raters, such as {clip(min(raters), 60)}; "
            "write logins as the table does"
        )
    return met.index(max(met))


def _person(table: Sequence[tuple[int, list[str]]], login: int, where: str) -> int:
    header = [fold_name(name) for name in table[0][1]]
    person, rater = NAMES["person"], NAMES["rater"]
    known = (*person.usual, *rater.usual, *person.rare, *rater.rare)
    usual = [header.index(name) for name in known if name in header and header.index(name) != login]
    filled = [k for k in range(len(header)) if k != login and any(row[k] for _, row in table)]
    if usual or len(filled) == 1:
        return (usual or filled)[0]
    raise InputError(f"--people {where}: does not show which column says who a login is; name it person")


def _read_people(table: Sequence[tuple[int, list[str]]], login: int, person: int, where: str) -> dict[str, str]:
    known: dict[str, tuple[str, int]] = {}
    for line, row in table:
        if not row[login]:
            continue
        if not row[person]:
            raise InputError(
                f"--people {where}, line {line}: does not say who {clip(row[login], 60)} is; "
                "fill it in, or take the line out"
            )
        who, before = known.setdefault(row[login], (row[person], line))
        if who != row[person]:
            both = clip(f"{row[login]} is {who} on line {before} and {row[person]} here", 200)
            raise InputError(f"--people {where}, line {line}: {both}; a login is one person")
    return {name: who for name, (who, _) in known.items()}


def is_machine(name: str) -> bool:
    """True if the name of a judge is that of a model.

    >>> [is_machine(name) for name in ("gpt4_pair", "Claude-3.5 Sonnet", "LLM judge", "expert_0", "Claude", "Gemma B.")]
    [True, True, True, False, False, False]
    """
    parts = [part for part in re.split(r"[^a-z0-9]+", name.casefold()) if part]
    if any(part in WORDS or PRODUCTS.match(part) for part in parts):
        return True
    return any(letter.isdigit() for letter in name) and any(FIRST_NAMES.match(part) for part in parts)


def refuse_people_and_machines(raters: Iterable[str], column: str, where: str) -> None:
    """Raise InputError where some of the raters who answered are machines and some are not."""
    names = list(raters)
    machines = [name for name in names if is_machine(name)]
    others = [name for name in names if not is_machine(name)]
    if not machines or not others:
        return
    apart, rest = _options(column, machines), _options(column, others)
    raise InputError(
        f"{where}: judges of two sorts, {pluralise(len(machines), 'machine')} ({_list_names(machines)}) and "
        f"{pluralise(len(others), 'other')} ({_list_names(others)}), and these are not one; read {apart}, or {rest}"
    )


def _options(column: str, names: Sequence[str]) -> str:
    """Return the options that read the answers of some raters alone."""
    options = " ".join(f"--where {_word(f'{column}={name}')}" for name in names[:MOST_SHOWN])
    return f"{options} and so on" if len(names) > MOST_SHOWN else options


def _word(text: str) -> str:
    return f"'{clip(text, 60)}'" if re.search(r"[^\w=.,:/-]", text) else clip(text, 60)


def _list_names(names: Sequence[str]) -> str:
    return clip(", ".join(names[:MOST_SHOWN]) + (", ..." if len(names) > MOST_SHOWN else ""), 80)
