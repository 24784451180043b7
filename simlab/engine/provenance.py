"""Provenance of numbers: the versions of simlab and other programs that they depend on.

`provenance` returns them by name; `refuse_other_program` compares them with those that filled a ledger.
"""

from __future__ import annotations

import json
import platform
import subprocess
from functools import cache
from hashlib import blake2b, sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from simlab.types import InputError

if TYPE_CHECKING:
    from simlab.engine.ledger import Ledger

PACKAGES = ("simlab", "numpy", "scipy")
UNKNOWN = "unknown"
CHANGED = "+changed"
"""Marks a commit from which files differ."""
PROGRAM = (*PACKAGES, "python")
"""Versions that numbers depend on, beside the code; a commit or a lock file is not known everywhere."""
LOST = dict.fromkeys((*PROGRAM, "commit", "lock"), UNKNOWN)
"""Stands for the versions of blocks whose record is lost."""
_ROOT = Path(__file__).resolve().parents[2]


@cache
def provenance() -> dict[str, str]:
    """Name the versions that a number depends on; the same for every run of one installation."""
    versions = {name: _version(name) for name in PACKAGES}
    about = {"python": platform.python_version(), "commit": _commit(), "lock": _lock()}
    return {**versions, **about}


@cache
def digest_installation() -> str:
    """Return a digest of this installation: versions, and size and time of writing of each file of simlab."""
    package = _ROOT / "simlab"
    files = ((str(path), path.stat()) for path in sorted(package.rglob("*.py")))
    seen = [[path, state.st_size, state.st_mtime_ns] for path, state in files]
    return blake2b(json.dumps([provenance(), seen]).encode(), digest_size=16).hexdigest()


@cache
def code_digest() -> str:
    """Return a digest of the contents of simlab's modules: the same wherever the same code is installed.

    A commit says nothing of an installed copy, and a version nothing of a changed one.
    """
    package = _ROOT / "simlab"
    sealed = blake2b(digest_size=16)
    # By parts, since paths as texts sort differently where the separator is another one.
    for path in sorted(package.rglob("*.py"), key=lambda path: path.relative_to(package).parts):
        content = path.read_bytes()
        sealed.update(f"{path.relative_to(package).as_posix()} {len(content)} ".encode())
        sealed.update(content)
    return sealed.hexdigest()


def refuse_other_program(book: Ledger, *, allowed: bool) -> list[str]:
    """Raise InputError if another program filled a ledger: its numbers may be others.

    Where that is `allowed`, return the line that says so, or none.
    """
    before, codes, now, where = book.provenance(), book.read_note("code", []), provenance(), str(book.folder)
    known = {name: now.get(name, UNKNOWN) for name in PROGRAM} | {"code": code_digest()}
    for program in [*({"code": code} for code in codes), *reversed(before)]:
        versions = {name: program.get(name, UNKNOWN) for name in PROGRAM if "code" not in program} or program
        differing = [name for name in versions if versions[name] != known[name]]
        if not differing:
            continue
        there, here = (", ".join(f"{name} {of[name][:15]}" for name in differing) for of in (versions, known))
        if UNKNOWN in versions.values() and not allowed:
            raise InputError(
                f"{where}: its ledger does not say any more which simlab filled it, so that its numbers may be others "
                f"than those of simlab {known['simlab']}; give another --out, or --allow-version to go on with it"
            )
        message = f"{where} was filled by another program ({there}) than this one ({here})"
        if not allowed:
            raise InputError(
                f"{message}, which may give other numbers; give another --out, or --allow-version to mix the two"
            )
        return [f"{message}; both are noted in its store"]
    return []


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
