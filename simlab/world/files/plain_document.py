"""Read the YAML of a fitted file safely: mappings, lists, texts and numbers only, every key once, no aliases or tags.

Call `document` for the content, `refuse_other_format` for the first line, `validate_keys` for the keys, which a
`TypedDict` lists: no other keys are taken, and no text for a number. `where` is the file's name, which errors begin
with; `remedy` tells the user what to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from simlab import files, schemas
from simlab.messages import clip
from simlab.types import InputError

Held = TypeVar("Held")
MAX_DEPTH = 12
"""Most levels of mappings and lists within each other.
"""
OTHER = {
    "world": "a world fitted to ratings; it is read as systems=fitted systems.path=FILE",
    "preferences": "a world fitted to preferences; it is read as systems=fitted_preferences systems.path=FILE",
    "metric": "a fitted metric; it is read as metric=fitted_mu metric.path=FILE",
}
"""Descriptions of a fitted file of each kind, for messages where another kind is needed."""


def document(text: str, where: str, remedy: str) -> Any:
    """Return the content of a YAML text; raise InputError, beginning with `where`, for what no fitted file has."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _refuse_tricks(yaml.scan(text, loader), where)
        return yaml.load(text, _refuse_double_keys(loader))  # noqa: S506 (a safe loader)
    except InputError as error:
        message = str(error)
        raise error if message.startswith(where) else InputError(f"{where}, {message}") from None
    # A constructor may also raise ValueError (an impossible date), and what cannot be a key TypeError.
    except (yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise InputError(f"{where}{line} is no YAML; {remedy}") from error


def refuse_other_format(document: object, kind: str, where: str, otherwise: str) -> None:
    """Raise InputError for a document that is not of a `kind` (`world`, ...) and schema; `otherwise` is the message.

    A file that `simlab fit` or `simlab fit-metric` wrote for another purpose is named as such.
    """
    stated = document.get("format") if isinstance(document, dict) else None
    match = re.fullmatch(r"simlab fitted (\w{1,20}) ([0-9]{1,9})", stated) if isinstance(stated, str) else None
    if not isinstance(document, dict) or match is None:
        raise InputError(otherwise)
    if match[1] != kind:
        raise InputError(f"{where}: is {OTHER[match[1]]}" if match[1] in OTHER else otherwise)
    schemas.refuse_other(where, f"a file of a fitted {kind}", int(match[2]), schemas.FITTED, document.get("simlab"))


def validate_keys(keys: type[Held], document: object, where: str) -> Held:
    """Return a document as it is if it fits the TypedDict `keys`; raise InputError, naming the first key that fails."""
    from pydantic import ConfigDict, TypeAdapter, ValidationError

    keys.__pydantic_config__ = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)  # type: ignore[attr-defined]
    try:
        return TypeAdapter(keys).validate_python(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{where}: {key}: {first['msg'].lower()}, found {clip(repr(first['input']), 60)}") from None


def _refuse_double_keys(loader: Any) -> Any:
    """Make a loader that refuses a key which a mapping has twice: of two values, one would be dropped in silence."""

    class Once(loader):  # type: ignore[misc]
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen = set()
            for key, _ in node.value:
                if key.value in seen:
                    line = key.start_mark.line + 1
                    raise InputError(f"line {line}: the key {clip(key.value, 40)} appears twice; keep one")
                seen.add(key.value if isinstance(key.value, str) else id(key))
            return super().construct_mapping(node, deep)

    return Once


def _refuse_tricks(tokens: Iterator[Any], where: str) -> None:
    """Refuse aliases, which make a small file large, tags, and nesting so deep that it exhausts the stack."""
    depth = 0
    for token in tokens:
        name = type(token).__name__
        depth += name.endswith("StartToken") and name != "StreamStartToken"
        depth -= name.endswith("EndToken") and name != "StreamEndToken"
        if depth > MAX_DEPTH:
            raise InputError(f"{where}: is nested more than {MAX_DEPTH} deep; not a fitted file")
        if name in ("AliasToken", "AnchorToken", "TagToken"):
            line = token.start_mark.line + 1
            raise InputError(f"{where}, line {line}: has an anchor, an alias or a tag of YAML; write the value itself")


def chosen_file(
    path: str | None, sha256: str | None, *, empty: str, remedy: str
) -> tuple[Path, files.FileState] | None:
    """Return the file at `systems.path` and its state; None where that is null, for the built-in file.

    Raises InputError for a digest without a path, an empty path (message `empty`), and anything but a regular file.
    """
    if path is None:
        if sha256 is not None:
            raise InputError("systems.sha256 is the digest of a file; give systems.path, too, or leave it out")
        return None
    if not path.strip():
        raise InputError(f"systems.path is empty; {empty}")
    file = files.expand_path(path)
    return file.absolute(), files.check_regular(file, clip(file), remedy=remedy)
