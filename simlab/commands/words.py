"""Turn settings that are given as Python values into the words of the command line, so that both are read alike.

`words` takes texts and mappings, and returns a list of texts KEY=VALUE; `word` writes one setting.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from simlab.messages import quote_override, show
from simlab.types import InputError


def words(settings: Iterable[str | Mapping[str, object]], *, axes: bool) -> list[str]:
    """Write settings as `KEY=VALUE`: texts as they are, mappings key by key.

    With `axes` a list is an axis, `KEY=A,B`; without, as for the keys that take one, it is a list, `KEY=[A,B]`. A list
    of lists is a matrix either way, and measures are one list. Raises InputError for what is no setting.
    """
    written: list[str] = []
    for given in settings:
        if isinstance(given, str):
            written.append(given)
        elif isinstance(given, Mapping):
            written += [word(key, value, axes=axes) for key, value in given.items()]
        else:
            raise InputError(f"{show(given)} is no setting; write 'design.documents=30' or {{'design.documents': 30}}")
    return written


def word(key: str, value: object, *, axes: bool) -> str:
    """Write one setting; raises InputError for a value that no key takes.

    >>> word("design.documents", [10, 20], axes=True), word("systems.path", "a,b.tsv", axes=True)
    ('design.documents=10,20', 'systems.path="a,b.tsv"')
    """
    value = _make_plain(value)
    if not isinstance(value, list):
        return f"{key}={_literal(key, value)}"
    texts = [_literal(key, _make_plain(entry)) for entry in value]
    if not axes or key == "measure" or any(isinstance(_make_plain(entry), list) for entry in value):
        return f"{key}=[{','.join(texts)}]"
    if not texts:
        raise InputError(f"{key} holds no value; an axis needs at least one")
    return f"{key}=" + (",".join(texts) if len(texts) > 1 else f"choice({texts[0]})")


def _make_plain(value: Any) -> Any:
    """Return numbers and lists of numpy as Python's own, paths as texts."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return list(value) if isinstance(value, tuple | range) else value


def _literal(key: str, value: Any) -> str:
    if isinstance(value, list):
        return f"[{','.join(_literal(key, _make_plain(entry)) for entry in value)}]"
    if isinstance(value, str):
        # A text that could be read as another value, or that the grammar would take apart, is quoted.
        plain = show(value, len(value)) == value
        return value if plain else shlex.split(quote_override(key, value))[0].removeprefix(f"{key}=")
    if value is None or isinstance(value, bool):
        return show(value)
    if isinstance(value, int | float):
        return repr(value)
    raise InputError(f"{key}={show(value)}: a value is a text, a number, True, False, None, or a list of these")
