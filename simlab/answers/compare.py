"""Records of `simlab compare OLD NEW --changed`: settings and values that differ between two stores.

`ChangedStores` is the whole answer; its `keys` are the settings, its `values` the measures of cells that both have.
"""

from __future__ import annotations

from typing import Any

from simlab.answers.records import Count, Num, Record


class ChangedKey(Record):
    """A setting that differs in the new store; None where a store does not have it."""

    key: str
    old: Any
    new: Any


class ChangedValue(Record):
    """A measure of a cell in both stores, each with its Monte-Carlo standard error; `at` are the cell's settings.

    `error` is that of the `difference`, new minus old. `p_value` is NaN where no error is known; `moved` says that the
    difference is real, of all that are called so at most 5 % are not, on average.
    """

    measure: str
    at: dict[str, Any]
    old: Num
    old_mcse: Num
    new: Num
    new_mcse: Num
    difference: Num
    error: Num
    p_value: Num
    moved: bool


class ChangedStores(Record):
    """Changes between two stores, cell against cell with the same settings.

    `matched` cells are in both, `only_old` and `only_new` in one. `same_seed`: both were drawn from the same seed, so
    that their errors are shared, and a difference of a value is one of settings, sizes or code.
    """

    old: str
    new: str
    matched: Count
    only_old: Count
    only_new: Count
    same_seed: bool
    keys: tuple[ChangedKey, ...]
    values: tuple[ChangedValue, ...]

    @property
    def moved(self) -> tuple[ChangedValue, ...]:
        """The values that moved, those that are least by chance first."""
        return tuple(sorted((value for value in self.values if value.moved), key=lambda value: value.p_value))
