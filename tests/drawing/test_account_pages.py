"""What a campaign takes, as it is written for whoever pays for it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from simlab.drawing.text import accounts
from simlab.measures.labels import ACCOUNTS

VALUES = {
    **{"money": (1068.4, 17.2), "hours": (35.23, 0.81), "days": (6.2, 0.11), "planned": (2000.0, 0.0)},
    **{"received": (1850.6, 12.0), "lost": (30.2, 2.0), "open": (119.2, 11.0), "completed_share": (0.927, 0.01)},
    **{"ended_as_planned": (0.7, 0.05), "ended_by_money": (0.0, 0.0), "ended_by_deadline": (0.3, 0.05)},
}


def record(**changes: tuple[float, float]) -> dict[str, Any]:
    """Return a cell as a query has it, ten worlds of 25 campaigns."""
    cell: dict[str, Any] = {}
    for name, (value, mcse) in {**VALUES, **changes}.items():
        cell |= {name: value, f"{name}_mcse": mcse, f"{name}_n": 250, f"{name}_clusters": 10}
        cell |= {f"{name}_low": value - 2 * mcse, f"{name}_high": value + 2 * mcse, f"{name}_cluster": "world"}
    return cell


def written(answers: str = "ratings", currency: str | None = "EUR", **changes: tuple[float, float]) -> str:
    return " ".join(accounts.account(record(**changes), list(VALUES), answers, currency).split())


def test_money_hours_and_days_stand_with_their_units() -> None:
    said = written()
    assert "money 1,068 ± 17 EUR" in said
    assert "work 35.2 ± .8 hours, of all people together" in said
    assert "time 6.2 ± .1 days until the campaign ends" in said
    assert "ratings 2,000 planned: 1,851 ± 12 came (.93 ± .01), 30 lost, 119 left open" in said
    assert "campaigns ended as planned .70 ± .05, by the deadline .30 ± .05" in said


def test_a_study_without_a_clock_tells_no_hours() -> None:
    said = written("judgements", None, hours=(float("nan"), float("nan")), days=(float("nan"), float("nan")))
    assert "hours" not in said
    assert re.search(r"money 1,068 ± 17 judgements", said)


def test_what_cannot_be_told_from_few_worlds_is_a_question_mark() -> None:
    cell = record() | {"money_mcse": 0.0, "money_clusters": 2, "money_low": 900.0, "money_high": 1200.0}
    assert accounts.amount(cell, "money") == "1,068 ± ?"


@pytest.mark.parametrize("lacking", [{"completed_share": (float("nan"), float("nan"))}])
def test_studies_without_an_account_keep_their_table(lacking: dict[str, tuple[float, float]]) -> None:
    names = ["srp", *ACCOUNTS]
    assert accounts.split_accounts(names, record(**lacking)) == ([], names)
    assert accounts.split_accounts(["srp", "money"], record()) == ([], ["srp", "money"])
    assert accounts.split_accounts(names, record()) == (list(ACCOUNTS), ["srp"])
