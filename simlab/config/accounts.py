"""Measure what campaigns take, money and hours, wherever a study has a clock or a budget for all of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from simlab.config.overrides import Setting
from simlab.measures.labels import ACCOUNTS, OF_CLOCKS
from simlab.studies.money import accounted, on_a_clock


def accounts(configs: Sequence[Mapping[str, Any]], settings: Collection[Setting]) -> tuple[str, ...]:
    """Name the measures of what campaigns take where some cell of a sweep is accounted; none where no cell is."""
    if not any(accounted(config) for config in _with_limits(configs, settings)):
        return ()
    clock = any(map(on_a_clock, configs))
    return tuple(name for name in ACCOUNTS if clock or name not in OF_CLOCKS)


def _with_limits(configs: Sequence[Mapping[str, Any]], settings: Collection[Setting]) -> Iterator[Mapping[str, Any]]:
    """Go through configs as they are, and with the budgets that axes give to some of their cells."""
    yield from configs
    for setting in settings:
        section, _, key = setting.key.partition(".")
        if setting.swept and section == "budget":
            budgets = ({**config.get(section, {}), key: value} for config in configs for value in setting.values)
            yield from ({section: budget} for budget in budgets)
