"""Say which versions a number comes from."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("simlab", "numpy", "scipy")
UNKNOWN = "unknown"
CHANGED = "+changed"
"""Marks a commit from which files differ."""
_ROOT = Path(__file__).resolve().parents[2]


@cache
def provenance() -> dict[str, str]:
    """Name the versions that a number depends on; the same for every run of one installation."""
    versions = {name: _version(name) for name in PACKAGES}
    return versions | {"python": platform.python_version(), "commit": _commit(), "lock": _lock()}


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
