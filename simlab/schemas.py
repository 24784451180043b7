"""Number the schemas of the files that simlab writes and reads again, and refuse files of any other schema.

Whatever changes a stored number, the key of a cell or the address of a stream raises LEDGER.
"""

from __future__ import annotations

from simlab.messages import clip, show
from simlab.types import InputError

LEDGER = 10
STORE = 6
PLAN = 3
"""Of a plan's folder, and of what stands beside an assigned or an exported table."""
FITTED = 3
"""Of the files that `simlab fit` and `simlab fit-metric` write."""
ANSWER = 5
"""Of what `--save` keeps."""


def refuse_other(where: str, what: str, schema: object, known: int, by: object = None) -> None:
    """Raise InputError where a file has another schema than the known one; `by` is the version that made it, if told.

    Older files are refused, too: code that reads them would have to know every name that there ever was.
    """
    if schema == known and type(schema) is int:
        return
    from importlib.metadata import version

    newer = type(schema) is int and schema > known
    maker = f"simlab {clip(by, 40)}" if by else f"{'a newer' if newer else 'an earlier'} simlab"
    raise InputError(
        f"{where}: is {what} of schema {show(schema)}, made by {maker}, and simlab {version('simlab')} reads schema "
        f"{known} only; make it again with this version, or use {maker if by else 'the version that made it'}"
    )


def head_of_fitted(kind: str) -> dict[str, str]:
    """Return the first keys of a fitted file: what it is, with its schema, and the version that writes it."""
    from importlib.metadata import version

    return {"format": f"simlab fitted {kind} {FITTED}", "simlab": version("simlab")}
