"""Describe the versions and the code of a Python environment (`describe`), and compare two (`describe_mismatch`).

This file is also sent as text to schedulers and workers, where simlab may be missing and Python another version; so it
uses the standard library only.
"""

import platform
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

VERSIONS = ("simlab", "distributed", "numpy", "scipy")
CODE, FILE = "the code of ", "the file "


def describe(packages: Iterable[str], files: Iterable[str]) -> Mapping[str, str | None]:
    """Return versions, and digests of packages and files, by name; None for a missing one."""
    versions: dict[str, str | None] = {"Python": platform.python_version()}
    versions |= {name: _version(name) for name in VERSIONS}
    versions |= {f"{CODE}{package}": _digest_package(package) for package in packages}
    return versions | {f"{FILE}{file}": _digest_file(file) for file in files}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _digest_package(package: str) -> str | None:
    """Digest the names and contents of the modules of a package, without importing it."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return None
    if not spec.submodule_search_locations:
        return _digest_file(spec.origin or "")
    digest = blake2b(digest_size=6)
    for root in map(Path, spec.submodule_search_locations):
        for file in sorted(root.rglob("*.py")):
            content = file.read_bytes()
            # With name and length in front, content that moves from one file to the next changes the digest.
            digest.update(f"{file.relative_to(root).as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _digest_file(file: str) -> str | None:
    """Digest a file; a folder only has to exist."""
    path = Path(file)
    try:
        return "a folder" if path.is_dir() else blake2b(path.read_bytes(), digest_size=6).hexdigest()
    except OSError:
        return None


def describe_mismatch(here: Mapping[str, str | None], there: object, names: Iterable[str]) -> str:
    """Describe the first of the `names` in which two results of `describe` differ, and its remedy, or ''."""
    if not isinstance(there, Mapping):
        return f"could not be asked what it has ({there!r}); start it again"
    for name in names:
        ours, theirs = here[name], there.get(name)
        if theirs is None and ours is not None:
            return f"lacks {name.removeprefix(CODE)}; {_remedy(name)}"
        if theirs != ours and name.startswith((CODE, FILE)):
            return f"has another state of {name} ({theirs}, here {ours}); {_remedy(name)}"
        if theirs != ours:
            return f"has {name} {theirs}, here it is {ours}; {_remedy(name)}"
    return ""


def _remedy(name: str) -> str:
    if name.startswith(FILE):
        return "put it there, at the same path"
    return "install there what is installed here and start it again, or do without it"
