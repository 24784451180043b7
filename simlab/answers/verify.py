"""What `simlab verify` answers, of a store and of one campaign that is carried out again."""

from __future__ import annotations

from typing import Any

from simlab.answers.records import Known, Record


class StoreCheck(Record):
    """Hold whether a store is sound, what was checked, and a line for each problem."""

    sound: bool
    checked: str
    problems: tuple[str, ...]


class ReplayedCampaign(Record):
    """Hold what a campaign came to when it was carried out again, in `seconds`, and whether its bits are those kept.

    `cell` and `at` say where it lives, `key` seals the cell. `kept` says what the folder keeps of it, None for nothing;
    `same` is None where there is nothing to compare, `differs` names the outcomes that differ.
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
