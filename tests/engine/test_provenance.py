"""Say which versions and which commit a number comes from."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterator
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import pytest

from simlab.engine import provenance as module
from simlab.engine.provenance import CHANGED, UNKNOWN, code_digest, provenance


@pytest.fixture(autouse=True)
def anew() -> Iterator[None]:
    provenance.cache_clear()
    yield
    provenance.cache_clear()


def git(folder: Path, *words: str) -> str:
    own = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", "-C", str(folder), *own, *words], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let simlab live in a repository with one commit."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    git(tmp_path, "init", "-q")
    (tmp_path / "uv.lock").write_text("locked")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    monkeypatch.setattr(module, "_ROOT", tmp_path)
    return tmp_path


def test_versions_are_those_that_run() -> None:
    said = provenance()
    assert said["python"] == platform.python_version()
    assert {name: said[name] for name in ("numpy", "scipy")} == {name: version(name) for name in ("numpy", "scipy")}
    assert set(said) == {"simlab", "numpy", "scipy", "python", "commit", "lock"}


def test_a_package_that_is_not_installed_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PACKAGES", ("no-such-package-anywhere",))
    assert provenance()["no-such-package-anywhere"] == UNKNOWN


def test_a_commit_is_marked_where_a_file_differs_from_it(checkout: Path) -> None:
    head = git(checkout, "rev-parse", "HEAD").strip()
    said = provenance()
    assert said["commit"] == head
    assert said["lock"] == sha256(b"locked").hexdigest()
    (checkout / "notes.txt").write_text("no file of simlab")
    provenance.cache_clear()
    assert provenance()["commit"] == head
    (checkout / "uv.lock").write_text("changed")
    assert provenance()["lock"] == said["lock"]  # the same for every run of one process
    provenance.cache_clear()
    assert provenance()["commit"] == head + CHANGED
    assert provenance()["lock"] == sha256(b"changed").hexdigest()


def test_a_copy_without_history_has_no_commit_even_inside_another_repository(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = checkout / "installed"
    inside.mkdir()
    monkeypatch.setattr(module, "_ROOT", inside)
    assert (provenance()["commit"], provenance()["lock"]) == (UNKNOWN, UNKNOWN)


def test_a_repository_without_a_commit_or_without_git_is_unknown(
    tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert provenance()["commit"] == UNKNOWN
    monkeypatch.undo()
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "-q")
    monkeypatch.setattr(module, "_ROOT", empty)
    provenance.cache_clear()
    assert provenance()["commit"] == UNKNOWN


def test_the_digest_of_the_code_is_that_of_its_contents_wherever_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = []
    for place, content in (("here", "1"), ("there", "1"), ("elsewhere", "2")):
        (tmp_path / place / "simlab" / "parts").mkdir(parents=True)
        (tmp_path / place / "simlab" / "parts" / "one.py").write_text(content)
        (tmp_path / place / "simlab" / "notes.txt").write_text(place)
        monkeypatch.setattr(module, "_ROOT", tmp_path / place)
        code_digest.cache_clear()
        digests.append(code_digest())
    code_digest.cache_clear()
    assert digests[0] == digests[1] != digests[2]
