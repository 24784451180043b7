"""Read values as they are typed: `key=value`, `key=a,b,c`, `key=range(...)`, `key=choice(...)`.

Call `parse` on one override; it returns a `KeySetting`. The grammar is Hydra's. Texts that it cannot read, or that
simlab does not allow, are refused in one line.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from simlab.messages import quote_override, shorten, show
from simlab.studies.drawn_keys import FORMS, HOW, POSTERIOR, is_call
from simlab.types import InputError

MAX_VALUES = 10_000
"""Most values of an axis."""

_INSTEAD = {
    "launcher": "--jobs N shares the work out",
    "sweeper": "`simlab run -m KEY=A,B` and `simlab sweep` go through all combinations",
    "dir": "--out DIR says where results go, and the folder of the shell is kept",
    "chdir": "--out DIR says where results go, and the folder of the shell is kept",
    "searchpath": "--config-dir DIR adds options of your own",
    "logging": "what a study was and came to is stored with its results, nothing is logged",
    "verbose": "SIMLAB_TRACEBACK=1 shows where an error comes from",
}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_KEY = re.compile(r"[A-Za-z_]\w*([./][A-Za-z_]\w*)*", re.ASCII)


@dataclass(frozen=True, slots=True)
class KeySetting:
    """Setting of one key: its values, whether they are an axis, and whether a user typed them.

    `sets[k]` are the keys that the axis's value k sets, and their values, where values are names that stand for several
    keys or axes move together; empty for an axis that sets its own key.
    """

    key: str
    values: tuple[Any, ...]
    swept: bool = False
    typed: bool = False
    sets: tuple[Mapping[str, Any], ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """Name the keys that are set, each once."""
        return tuple(dict.fromkeys(key for values in self.sets for key in values)) or (self.key,)

    def spread(self) -> list[KeySetting]:
        """Split an axis that sets several keys into a setting for each of them, with the values that it takes."""
        if not self.sets:
            return [self]
        taken = {key: [assigned[key] for assigned in self.sets if key in assigned] for key in self.keys}
        return [KeySetting(key, tuple(values), swept=True, typed=self.typed) for key, values in taken.items()]


def parse(text: str) -> KeySetting:
    """Read one override, KEY=VALUE, from the command line; raise InputError for a text that is none."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{show(text)} is not valid UTF-8") from error
    if _CONTROL.search(text):
        raise InputError(f"{show(text)} holds a line break or another control character")
    key, equals, value = text.partition("=")
    key = check_key(key)
    if not equals:
        raise InputError(f"{show(text)} is no setting; write key=value, for example {key}=VALUE")
    return replace(read(key, value), typed=True)


def check_key(key: str) -> str:
    """Return a key with dots between its parts; raise InputError where it cannot be one.

    >>> check_key("design/grouping")
    'design.grouping'
    """
    bare = key.strip()
    if "_target_" in bare:
        raise InputError(f"{show(bare)} cannot be set: a part is chosen by the name of its option")
    if bare.startswith("+"):
        raise InputError(
            f"{show(bare)}: all keys are declared and none is added; write {bare.lstrip('+') or 'key'}=VALUE, or add "
            "an option of your own with --config-dir DIR"
        )
    if bare.startswith("~"):
        raise InputError(
            f"{show(bare)}: all keys are declared and none is removed; write {bare.lstrip('~') or 'key'}=VALUE, null "
            "where it takes that"
        )
    if re.match(r"hydra\b", bare):
        raise InputError(
            f"{show(bare)}: a study is composed here, and no job is launched, moved or logged; {_replace_hint(bare)}"
        )
    if "@" in bare:
        raise InputError(f"{show(bare)}: options have fixed places; write {bare.partition('@')[0] or 'key'}=OPTION")
    if not _KEY.fullmatch(bare):
        raise InputError(f"{show(bare)} is no key; keys are words with dots between them, such as design.documents")
    return bare.replace("/", ".")


def _replace_hint(key: str) -> str:
    """Suggest the option of simlab that replaces a key of Hydra's own config."""
    words = re.split(r"[./_]", key)
    for does, instead in _INSTEAD.items():
        if does in words:
            return instead
    return "leave it out"


def read(key: str, text: str) -> KeySetting:
    """Read the text behind `key=`: one value, or several (an axis) where it is written as a sweep.

    Raises InputError for a text that the grammar of values does not know, and for values that cannot be an axis.
    """
    if "${" in text:
        raise InputError(
            f"{key}={shorten(text)}: ${{...}} is not filled in, so that a config says what it does; write the value"
        )
    if not text.strip():
        raise InputError(f"{key} has no value; write null if that is meant")
    try:
        override = _build_parser().parse_override(f"key={text}")
        value = override.value()
        if not override.is_sweep_override():
            return KeySetting(key, (check_plain(key, value),))
        choices = value.list if override.is_choice_sweep() else _steps(value.range())
        values = tuple(check_plain(key, _strip_quotes(choice)) for choice in itertools.islice(choices, MAX_VALUES + 1))
    except InputError:
        raise
    except Exception as error:
        # Whatever the grammar trips over (recursion and numbers of too many digits included) is the text's fault.
        raise InputError(_explain_unreadable(key, text)) from error
    return KeySetting(key, check_values(key, values), swept=True)


def element(key: str, text: str) -> Any:
    """Read the text of one value that is no sweep; raise InputError where it is several or cannot be read."""
    setting = read(key, text)
    if setting.swept:
        raise InputError(f"{key}={shorten(text)} is several values where one is wanted; quote it if it is one text")
    return setting.values[0]


def check_values(key: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values of an axis; raise InputError unless they are scalars, each once."""
    if not values:
        raise InputError(f"{key} holds no value; an axis needs at least one")
    if len(values) > MAX_VALUES:
        raise InputError(f"{key} holds more than {MAX_VALUES} values; an axis has at most that many")
    for value in values:
        if isinstance(value, list):
            raise InputError(
                f"{key}: an axis holds single values, not lists such as {show(value)}; name each in a sweep file, "
                f"`options: {{{key}: {{NAME: {show(value, 30)}, ...}}}}`, and the names are the axis"
            )
        if is_call(value) and value.startswith(POSTERIOR) and len(values) > 1:
            raise InputError(
                f"{key}: the draws of a file are no value of an axis; name them in a sweep file, "
                f"`options: {{{key}: {{NAME: {FORMS[POSTERIOR]}, ...}}}}`, and the names are the axis"
            )
    # With the type: 1, 1.0 and true are equal in Python, and different values of an axis.
    if twice := find_repeated((type(value), value) for value in values):
        raise InputError(f"{key} holds {show(twice[1])} twice; name each value once")
    return values


def find_repeated(items: Iterable[Any]) -> Any:
    """Return the first item that occurs a second time; None: all differ."""
    seen = set()
    for item in items:
        if item in seen:
            return item
        seen.add(item)
    return None


def check_plain(key: str, value: Any) -> Any:
    """Return a parsed value; raise InputError unless it is a scalar, a list of these, or a list of such (a matrix)."""
    if isinstance(value, dict):
        raise InputError(f"{key}={show(str(value))}: a key takes no {{...}}; set each key by its own name")
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{key}={value} must be a finite number")
    if isinstance(value, list):
        if any(isinstance(entry, list) and any(isinstance(inner, list) for inner in entry) for entry in value):
            raise InputError(f"{key}={show(value)}: lists hold values or rows of values, nothing deeper")
        return [check_plain(key, entry) for entry in value]
    return value


def _strip_quotes(value: Any) -> Any:
    """Undo the grammar's mark on a quoted text, also within a list."""
    if isinstance(value, list):
        return [_strip_quotes(entry) for entry in value]
    return value if value is None or isinstance(value, str | int | float | dict) else value.text


def _steps(steps: Iterable[int | float]) -> Iterable[int | float]:
    """Round what repeated addition leaves behind, so that a range holds .3 and not .30000000000000004."""
    return (step if isinstance(step, int) else float(f"{step:.12g}") for step in steps)


def _explain_unreadable(key: str, text: str) -> str:
    if text.lstrip().startswith(("range(", "choice(")):
        return f"{key}={shorten(text)} cannot be read; write range(START,STOP,STEP) or choice(A,B,C)"
    if text.lstrip().startswith(tuple(f"{name}(" for name in FORMS)):
        return f"{key}={shorten(text)} cannot be read; write {HOW}"
    # Advice that is cut short would be wrong, and a longer text is no path.
    advice = quote_override(key, text) if len(text) <= 4096 else f'{key}="..."'
    law = f"; a law from which worlds draw is {HOW}" if is_call(text) else ""
    return f"{key}={shorten(text)} cannot be read{law}; if it is one text, write {advice}"


def _spell_function(name: str) -> Any:
    return lambda *numbers: f"{name}({','.join(map(str, numbers))})"


@functools.cache
def _build_parser() -> Any:
    from hydra._internal.grammar import grammar_functions
    from hydra._internal.grammar.functions import Functions
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import ChoiceSweep

    # Only what names its values outright: a shuffled axis would depend on chance, an interval has no cells.
    functions = Functions()
    # The grammar's own `choice` refuses null, which is a value like others here.
    functions.register(name="choice", func=lambda *values: ChoiceSweep(list=list(values)))
    functions.register(name="range", func=grammar_functions.range)
    # A law from which worlds draw stays as it is written; whether it is one, the rules of its key say.
    for name in FORMS:
        functions.register(name=name, func=_spell_function(name))
    return OverridesParser(functions)
