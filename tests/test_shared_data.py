"""Tests that need published data say so by a mark, and are counted whether they ran or not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from shared_data import MARK, missing, told

TESTS = Path(__file__).parent
OWN = {"shared_data.py", "test_shared_data.py", "conftest.py"}


def report(name: str, outcome: str = "passed", *marks: str) -> SimpleNamespace:
    return SimpleNamespace(nodeid=name, outcome=outcome, keywords=dict.fromkeys(marks, 1))


def test_tests_are_counted_once_whatever_their_phases() -> None:
    ran = [report("a", "passed", MARK)] * 3 + [report("b", "failed", MARK), report("c")]
    assert told(ran) == "2 tests ran on ../shared/data"
    skipped = [report("d", "passed", MARK), report("d", "skipped", MARK)]
    assert told(ran + skipped) == "2 tests ran on ../shared/data, 1 were skipped: what they need is not here"
    assert told([report("c"), report("e", "skipped")]) is None


def test_what_is_not_here_is_missed() -> None:
    assert missing(["a_folder_that_nobody_has"]) == ["a_folder_that_nobody_has"]
    assert missing([]) == []


def test_who_reads_published_data_is_marked() -> None:
    for path in sorted(TESTS.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if path.name not in OWN:
            assert 'shared/data"' not in text.replace('" / "', "/"), f"{path.name}: take SHARED from shared_data"
        if path.name.startswith("test_") and path.name not in OWN:
            assert "import SHARED" not in text or MARK in text, f"{path.name}: mark who needs it"
