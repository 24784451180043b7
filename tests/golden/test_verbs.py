"""Hold what every command answers against its mark, and the comparison against changes that it has to find."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import marks
import pytest
from digests import ROUNDING
from facts import compact, facts, numbered
from goldens import COMMANDS


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> marks.Table:
    return marks.Table(tmp_path_factory.mktemp("marks"))


def read(name: str) -> Any:
    return json.loads((marks.ANSWERS / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * bool(row.get("slow"))) for name, row in marks.ROWS.items()]
)
def test_a_command_answers_as_it_did(name: str, table: marks.Table) -> None:
    row, kept, found = marks.ROWS[name], read(name), json.loads(json.dumps(table.outcome(name).mark))
    if kept.get("cpu") != found.get("cpu"):
        kept, found = (marks.everywhere(one, row["chains"]) for one in (kept, found))
    assert marks.differences(kept, found, row.get("rounding", ROUNDING)) == []


def test_every_row_has_a_mark_and_every_command_a_quick_row() -> None:
    assert sorted(path.stem for path in marks.ANSWERS.glob("*.json")) == sorted(marks.ROWS)
    quick = {row["words"].split()[0] for row in marks.ROWS.values() if not row.get("slow")}
    assert quick >= {*COMMANDS} - {"", "demo"}


def test_no_mark_holds_what_the_next_version_changes() -> None:
    for name in marks.ROWS:
        text = (marks.ANSWERS / f"{name}.json").read_text(encoding="utf-8")
        assert not re.search(r"\b[0-9a-f]{16,}\b|\b0\.[12]\.\d|_target_|/tmp/", text), name


ANSWER: dict[str, Any] = {
    "promise": {"level": 0.05, "says": "with 95 % probability no claim below is wrong"},
    "systems": [
        {"system": name, "n": n, "estimate": x}
        for name, n, x in (("A", 80, 71.4562), ("B", 79, 68.1), ("C", 80, -3.25))
    ],
    "pairs": [
        {"first": "A", "second": "B", "difference": 3.3562, "p": 0.000499750125},
        {"first": "A", "second": "C", "difference": 74.7062, "p": 0.0213},
        {"first": "B", "second": "C", "difference": 71.35, "p": 0.31},
    ],
    "looks": [0.1 * k for k in range(40)],
    "found": [k % 7 for k in range(40)],
    "power": {"value": 0.8149, "mcse": 0.0121},
    "version": "9.9",
}
TEXT = """Promise  with 95 % probability no claim below is wrong
A 71.46  B 68.10  C -3.25, from 80, 79 and 80 ratings
A - B   3.36  p .0005
A - C  74.7   p .021
C - B -71.35  p .310
Power: in 81.5 ± 1.2 % of 1,300 repetitions; 2.75 by the way"""


def mark(answer: Any = ANSWER, text: str = TEXT, code: int = 0) -> dict[str, Any]:
    """Return the mark of a made answer and its page."""
    whole = {"exit": code, "answer": compact(answer), "text": facts(text, numbered(answer))}
    return dict(json.loads(json.dumps(whole)))


def changed(*place: Any, to: Any) -> dict[str, Any]:
    """Return the answer with one value changed."""
    answer = copy.deepcopy(ANSWER)
    held: Any = answer
    for step in place[:-1]:
        held = held[step]
    held[place[-1]] = to
    return answer


REWORDED = TEXT.replace(
    "with 95 % probability no claim below is wrong", "no claim is wrong, except in 5 of 100 studies (95 %)"
)


@pytest.mark.parametrize(
    "found",
    [
        mark(),
        mark(text=REWORDED),
        mark(text="\n".join(reversed(TEXT.splitlines()))),
        mark(text=TEXT.replace("Power: in", "Two of three repetitions? No:").replace("3.36", "3.356")),
        mark(changed("promise", "says", to="with a probability of 95 % none of these claims is wrong")),
        mark(changed("pairs", 1, "difference", to=74.7062 * (1 + 1e-12))),
        mark(changed("version", to="10.0")),
    ],
)
def test_rewording_rounding_and_versions_change_no_mark(found: dict[str, Any]) -> None:
    assert marks.differences(mark(), found) == []


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (mark(code=3), ".exit was 0, is 3"),
        (mark(changed("pairs", 1, "difference", to=74.7062 * (1 + 1e-7))), ".answer.pairs.difference[1]"),
        (mark(changed("systems", 1, "n", to=78)), ".answer.systems.n[1] was 79, is 78"),
        (mark(changed("systems", 1, "n", to=79.0)), ".answer.systems.n[1]"),
        (mark(changed("looks", 17, to=1.700001)), ".answer.looks"),
        (mark(changed("found", 17, to=4)), ".answer.found"),
        (mark(changed("pairs", to=ANSWER["pairs"][:-1])), ".answer.pairs.records was 3, is 2"),
        (mark(changed("pairs", 2, "second", to="A")), ".answer.pairs.second[2]"),
        (mark(changed("promise", "says", to="with 99 % probability no claim below is wrong")), ".answer.promise.says"),
        (mark(changed("power", "value", to=None)), ".answer.power.value"),
        (mark({key: value for key, value in ANSWER.items() if key != "power"}), ".answer.power is no longer there"),
        (mark(text=TEXT.replace("A - C  74.7   p .021\n", "")), "pairs[].difference was printed (all .1)"),
        (mark(text=TEXT.replace("p .021", "p .012")), "pairs[].p was printed"),
        (mark(text=TEXT.replace("71.46", "71.5")), "systems[].estimate was printed (all .2)"),
        (mark(text=TEXT.replace("81.5 ±", "82 ±")), "power.value% was printed"),
        (mark(text=TEXT.replace("2.75", "2.76")), ".text.beside"),
    ],
)
def test_one_change_is_found(found: dict[str, Any], said: str) -> None:
    assert any(said in line for line in marks.differences(mark(), found)), marks.differences(mark(), found)


def _swap(values: list[Any]) -> None:
    values[3], values[30] = values[30], values[3]


def test_two_exchanged_values_of_a_long_list_are_found() -> None:
    for name in ("looks", "found"):
        answer = copy.deepcopy(ANSWER)
        _swap(answer[name])
        assert marks.differences(mark(), mark(answer))
