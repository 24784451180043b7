"""Say which versions a number comes from."""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from hashlib import blake2b, sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from simlab.studies.questions import built_in
from simlab.types import InputError

PACKAGES = ("simlab", "numpy", "scipy")
UNKNOWN = "unknown"
CHANGED = "+changed"
"""Marks a commit from which files differ."""
NUMBERS = 1
"""Raised with every entry *Numbers* in the CHANGELOG: whether blocks of two versions of simlab belong together."""
LOST = dict.fromkeys((*PACKAGES, "python", "commit", "lock", "numbers"), UNKNOWN)
"""Stands for the versions of blocks whose record is lost."""
_ROOT = Path(__file__).resolve().parents[2]


@cache
def provenance() -> dict[str, str]:
    """Name the versions that a number depends on; the same for every run of one installation."""
    versions = {name: _version(name) for name in PACKAGES}
    about = {"python": platform.python_version(), "commit": _commit(), "lock": _lock()}
    return {**versions, **about, "numbers": str(NUMBERS)}


@cache
def installation() -> str:
    """Name what computes here: versions, and each file of simlab by its size and the time when it was written."""
    package = _ROOT / "simlab"
    files = ((str(path), path.stat()) for path in sorted(package.rglob("*.py")))
    seen = [[path, state.st_size, state.st_mtime_ns] for path, state in files]
    return blake2b(json.dumps([provenance(), seen]).encode(), digest_size=16).hexdigest()


@cache
def code_digest() -> str:
    """Name the code of simlab by the contents of its modules: the same wherever the same code is installed.

    A commit says nothing of an installed copy, and a version nothing of a changed one.
    """
    package = _ROOT / "simlab"
    sealed = blake2b(digest_size=16)
    for path in sorted(package.rglob("*.py"), key=lambda path: path.relative_to(package).parts):
        content = path.read_bytes()
        sealed.update(f"{path.relative_to(package).as_posix()} {len(content)} ".encode())
        sealed.update(content)
    return sealed.hexdigest()


def revised(versions: Mapping[str, str], configs: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Add to versions the revision of the numbers of cells, where their kind of study has revised its own (`1.1`)."""
    kinds = ((built_in(config), config) for config in configs)
    later = max((kind.revision(config) for kind, config in kinds if kind), default=0)
    return {**versions, "numbers": f"{versions['numbers']}.{later}"} if later else dict(versions)


def refuse_other_numbers(
    before: Sequence[Mapping[str, str]], now: Mapping[str, str], where: str, *, allowed: bool
) -> None:
    """Raise InputError where some blocks of a folder come from a simlab that gives other numbers.

    `now` has the revision of the cells that the folder holds: one to which they were added holds others beside it.
    """
    # Folders that were filled before revisions were noted hold the first.
    own, held = now.get("numbers", "1"), {one.get("numbers", "1") for one in before}
    without = own.partition(".")[0]
    others = sorted(held - ({own, without} if own in held else {own}))
    if UNKNOWN in others and not allowed:
        raise InputError(
            f"{where}: its ledger does not say any more which simlab filled it, so that its numbers may be others than "
            f"those of simlab {now.get('simlab', UNKNOWN)}; give another --out, or --allow-version to go on with it"
        )
    if others and not allowed:
        versions = [one for one in before if one.get("numbers", "1") == others[0]]
        raise InputError(
            f"{where} was filled by simlab {versions[-1].get('simlab', UNKNOWN)} (numbers revision {others[0]}), and "
            f"simlab {now.get('simlab', UNKNOWN)} gives other numbers (revision {own}); give another --out, or "
            "--allow-version to mix them"
        )


def mixture(before: Sequence[Mapping[str, str]], now: Mapping[str, str]) -> str | None:
    """Say in a line that blocks of other versions are continued; None where all are of these versions."""
    for one in reversed(before):
        differing = [name for name, known in now.items() if name != "numbers" and one.get(name, UNKNOWN) != known]
        differing += ["numbers"] if one.get("numbers", "1") != now.get("numbers", "1") else []
        if differing:
            there, here = (", ".join(f"{name} {_short(of, name)}" for name in differing) for of in (one, now))
            return f"was filled by other versions ({there}) than go on with it ({here}); both are noted in its store"
    return None


def _short(versions: Mapping[str, str], name: str) -> str:
    said = versions.get(name, "1" if name == "numbers" else UNKNOWN)
    return f"{said[:8]}{CHANGED if said.endswith(CHANGED) else ''}" if name in ("commit", "lock") else said


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return UNKNOWN


def _commit() -> str:
    """Return simlab's own commit, marked where files differ from it; unknown where simlab runs without its history."""
    # An installed copy may lie within somebody else's repository, whose commit would say nothing about simlab.
    if not (_ROOT / ".git").exists():
        return UNKNOWN
    git = ("git", "-C", str(_ROOT))
    try:
        head = subprocess.run((*git, "rev-parse", "HEAD"), capture_output=True, text=True, check=True, timeout=10)  # noqa: S603
        changed = subprocess.run(  # noqa: S603
            (*git, "status", "--porcelain", "--untracked-files=no"),
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return UNKNOWN
    return head.stdout.strip() + (CHANGED if changed.stdout.strip() else "")


def _lock() -> str:
    file = _ROOT / "uv.lock"
    return sha256(file.read_bytes()).hexdigest() if file.is_file() else UNKNOWN
