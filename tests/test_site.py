"""The site: its reference has an entry for everything there is, its links lead somewhere, and it builds strictly."""

from __future__ import annotations

import importlib
import inspect
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import simlab
from simlab.cli import app
from simlab.commands import exit_codes
from simlab.drawing.reports.markdown import escape_text

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LINK = re.compile(r"(?<!`)\[[^\]]*\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    """Return the module that writes the reference, which lies beside the pages of the site."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS))
        return importlib.import_module("reference_pages")


@pytest.fixture(scope="module")
def reference(pages: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    files = pages.write(tmp_path_factory.mktemp("reference"))
    return {file.stem: file.read_text("utf-8") for file in files}


def headings(text: str) -> set[str]:
    """Return the headings of a page, escapes left out."""
    return {line.lstrip("# ").replace("\\", "") for line in text.splitlines() if line.startswith("##")}


def keys_in_files() -> Iterator[str]:
    """Go through the keys that the options of `conf` have, read by nothing but a YAML parser."""
    for file in sorted((ROOT / "conf").rglob("*.yaml")):
        held = yaml.safe_load(file.read_text("utf-8")) or {}
        yield from (str(key) for key in held if not str(key).startswith("_") and key not in ("defaults", "question"))


def test_the_reference_has_every_key(reference: dict[str, str]) -> None:
    listed = {name.rpartition(".")[2] for name in re.findall(r"^\| `([\w.]+)` \|", reference["keys"], re.MULTILINE)}
    groups = {path.name for path in (ROOT / "conf").rglob("*") if path.is_dir()}
    missing = {key for key in keys_in_files() if key not in listed and key not in groups}
    assert missing == set()
    assert len(listed) > 100


def test_the_reference_has_every_measure_sweep_function_and_command(reference: dict[str, str]) -> None:
    assert headings(reference["measures"]) == {file.stem for file in (ROOT / "conf" / "measure").glob("*.yaml")}
    assert headings(reference["sweeps"]) == {file.stem for file in (ROOT / "sweeps").glob("*.yaml")}
    assert headings(reference["functions"]) == {f"simlab.{name}" for name in simlab.__all__}
    commands = {
        str(one.name or one.callback.__name__).replace("_", "-") for one in app.registered_commands if one.callback
    }
    assert {f"simlab {name}" for name in commands} <= headings(reference["commands"])


def test_the_reference_has_every_statistic_with_its_docstring(pages: ModuleType, reference: dict[str, str]) -> None:
    for module in pages.LIBRARY:
        offered = importlib.import_module(f"simlab.analysis.{module}")
        section = reference["library"].partition(f"## simlab.analysis.{escape_text(module)}\n")[2].partition("\n## ")[0]
        assert headings(section) == set(offered.__all__)
        assert len(set(offered.__all__)) == len(offered.__all__)
        for name in offered.__all__:
            if callable(getattr(offered, name)):
                assert str(inspect.getdoc(getattr(offered, name))).partition("\n")[0] in section, name


def test_the_reference_has_every_exit_code(pages: ModuleType, reference: dict[str, str]) -> None:
    known = {value for name, value in vars(exit_codes).items() if name.isupper()}
    told = pages.exit_codes_of(Path(exit_codes.__file__))
    assert {code for _, code, _ in told} == known
    assert all(text for _, _, text in told)
    assert all(f"| {code} |" in reference["exit-codes"] for code in known)


def test_a_measure_that_is_left_out_is_noticed(pages: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A negative control: the page is of what is there, so that a page of less is another."""
    whole = list(pages._options("measure"))
    monkeypatch.setattr(pages, "_options", lambda _: whole[1:])
    assert headings("\n".join(pages.measures())) == {file.stem for file in whole[1:]}


@pytest.mark.parametrize("page", [*sorted(DOCS.glob("*.md")), ROOT / "README.md"], ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    assert broken(page) == []


def broken(page: Path) -> list[str]:
    """Return the links of a page to files, or headings of files, that are not there."""
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    local = [link for link in LINK.findall(text) if not re.match(r"[a-z]+:", link)]
    return [link for link in local if not leads(page, *link.partition("#")[::2])]


def leads(page: Path, file: str, heading: str) -> bool:
    target = (page.parent / file) if file else page
    if not target.exists():
        return False
    titles = re.findall(r"^#+ (.*)$", target.read_text("utf-8"), re.MULTILINE) if heading else []
    return not heading or heading in {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_a_broken_link_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# One\n[b](b.md) [c](a.md#one) [d](a.md#two) [e](https://x.y) `[f](g)`\n", "utf-8")
    assert broken(tmp_path / "a.md") == ["b.md", "a.md#two"]


@pytest.mark.long
@pytest.mark.skipif(find_spec("sphinx") is None, reason="the group docs is not installed")
def test_the_site_builds_strictly_and_asks_for_nothing(tmp_path: Path) -> None:
    shutil.copytree(DOCS, tmp_path / "docs", ignore=shutil.ignore_patterns("reference"))
    words = ["-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-b", "html", "docs", "site"]
    done = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for file in (tmp_path / "site").rglob("*.html"):
        text = file.read_text("utf-8")
        assert re.search(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(?:https?:)?//', text) is None, file.name
