"""Record the goldens anew, all of them or those named: uv run python tests/golden/record.py [NAME...]."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import goldens
import marks
from digests import pretty


def record(kind: str, name: str, make: Callable[[str, Path], object]) -> None:
    """Write what simlab gives today to where it is recorded."""
    with TemporaryDirectory() as place:
        found = make(name, Path(place))
    text = found if isinstance(found, str) else f"{pretty(found)}\n"
    goldens.file(kind, name).write_text(text, encoding="utf-8")


def all_there_is(base: Path) -> Iterator[tuple[str, str, Callable[[str, Path], object]]]:
    """Name what is recorded, as (kind, name, how)."""
    yield from (("help", command, goldens.usage) for command in goldens.COMMANDS)
    yield from (("studies", name, goldens.study) for name in goldens.STUDIES)
    yield from (("sweeps", name, goldens.built_in) for name in goldens.BUILT_IN)
    # Rows start from each other's folders, which is why all have one place.
    table = marks.Table(base)
    yield from (("answers", name, lambda row, _: table.outcome(row).mark) for name in marks.ROWS)


def main() -> None:
    wanted = set(sys.argv[1:])
    with TemporaryDirectory() as base:
        for kind, name, make in all_there_is(Path(base)):
            if not wanted or {kind, name} & wanted:
                record(kind, name, make)


if __name__ == "__main__":
    main()
