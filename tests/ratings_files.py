"""Write small tables of ratings, good and bad, for the tests that read them."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from simlab.types import InputError, World
from simlab.world.recorded import recorded

MQM = "system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\tmetadata\t# Documentation: x"
PLAIN = "system\tdocument\tsegment\trater\tscore"


def read(path: Path | str) -> World:
    return recorded(
        np.random.default_rng(0),
        path=str(path),
        sha256=None,
        names=None,
        better=None,
        columns=None,
        people=None,
        where=None,
    )


def written(folder: Path, lines: Iterable[str] | bytes, name: str = "table.tsv") -> Path:
    path = folder / name
    path.write_bytes(lines if isinstance(lines, bytes) else "".join(f"{line}\n" for line in lines).encode())
    return path


def mark(system: str, segment: int, rater: str, category: str, severity: str) -> str:
    return "\t".join([system, "d1", str(segment), str(segment), rater, "s", "t", category, severity, "{}"])


def good() -> list[str]:
    return [MQM, mark("A", 1, "r1", "No-error", "No-error"), mark("B", 1, "r1", "Accuracy/Omission", "Major")]


def plain(*rows: tuple[object, ...]) -> list[str]:
    return [PLAIN, *("\t".join(map(str, row)) for row in rows)]


def packed(folder: Path, members: dict[str, bytes], name: str = "table.tar.gz") -> Path:
    path = folder / name
    with tarfile.open(path, "w:gz") as archive:
        for member, content in members.items():
            info = tarfile.TarInfo(member)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def as_bytes(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def refused(path: Path | str) -> str:
    with pytest.raises(InputError) as caught:
        read(path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path)[:50] in message or not str(path).isprintable()
    return message
