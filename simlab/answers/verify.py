"""Records of `simlab verify`: the check of a store, and the replay of one campaign."""

from __future__ import annotations

from typing import Any

from simlab.answers.records import Known, Record


class StoreCheck(Record):
    """Check of a store: whether it is sound, a line on what was `checked`, and a line for each problem."""

    sound: bool
    checked: str
    problems: tuple[str, ...]


class ReplayedCampaign(Record):
    """Outcomes of a campaign carried out again, in `seconds`, and whether its bits are those kept.

    `cell` names the cell and `at` the campaign's place in it, `key` seals the cell. `kept` says what the folder keeps
    of it, None for nothing; `same` is None where there is nothing to compare, `differs` names the outcomes that differ.
    """

    cell: str
    key: str
    at: str
    seconds: Known
    failed: bool
    reason: str
    kept: str | None
    same: bool | None
    differs: tuple[str, ...]
    outcomes: dict[str, Any]
