"""Look at designs in simulated worlds: what a design sets becomes a study, its campaigns become measures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from simlab.config import Config, compose_sweep
from simlab.config.sections import checked_value
from simlab.config.sweep import put
from simlab.config.sweepfile import RUN
from simlab.engine.conclusions import conclusions_of
from simlab.engine.laboratory import Laboratory, laboratory
from simlab.engine.ledger import Entry, Ledger
from simlab.messages import shown
from simlab.planning.terms import Design, Looked
from simlab.store.layout import gather
from simlab.store.measures import Measures, estimate
from simlab.types import Estimate


@dataclass(frozen=True, slots=True)
class Composer:
    """Compose the studies of designs on the words that all of them share.

    A design that differs from one that is composed in plain values only is patched: composing takes a tenth of a
    second. What a design says of a key takes the place of what the words say.
    """

    words: Sequence[str]
    held: dict[Design, Config] = field(default_factory=dict)

    def __call__(self, design: Design) -> Config:
        """Return the composed study of a design; raise InputError where its keys do not go together."""
        values = tuple((key, value) for key, value in design if _is_plain(value))
        options = tuple(one for one in design if one not in values)
        if options not in self.held:
            self.held[options] = composed(self.words, options)
        config = _copied(self.held[options])
        for key, value in values:
            put(config, key, checked_value(config, key, value, config.get("plugins", [])))
        return config


def composed(words: Sequence[str], design: Design) -> Config:
    """Compose a study of words and settings; of a key that both name the setting holds."""
    own = dict(design)
    kept = [word for word in words if word.partition("=")[0].replace("/", ".") not in own]
    settings = [f"{key}={shown(value, 10_000)}" for key, value in design]
    return next(compose_sweep(RUN, [*kept, *settings]).cells()).config


def reseeded(words: Sequence[str], seed: int) -> list[str]:
    """Return the words of the same study in other worlds."""
    return [*(word for word in words if word.partition("=")[0] != "seed"), f"seed={seed}"]


def _is_plain(value: Any) -> bool:
    """Tell a value that is patched from one that may name an option, or bring keys of its own."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _copied(config: Mapping[str, Any]) -> Config:
    return {key: _copied(value) if isinstance(value, dict) else value for key, value in config.items()}


class Measuring:
    """Measure cells from what a ledger holds of them."""

    def __init__(self, measures: Measures) -> None:
        """Take the measures by the names under which they are wanted."""
        self.measures = measures

    def __call__(self, book: Ledger, entry: Entry, worlds: int) -> Looked:
        """Return the measures that have a value in the first so many worlds."""
        declared = conclusions_of({}, [entry.config]).outcomes
        rows = (row for row in book.blocks(entry.cell) if row.block.address.world < worlds)
        outcomes = gather(rows, entry.config, declared)
        found = estimate(self.measures, outcomes, declared)
        return {name: one for name, one in found.items() if isinstance(one, Estimate) and one.n}


@contextmanager
def bench(
    kept: Path | Ledger,
    compose: Callable[[Design], Config],
    words: Sequence[str],
    measures: Measures,
    *,
    pools: int = 1,
    draws: int = 1,
    studies: int = 1,
    jobs: int | None = None,
    seconds: float = float("inf"),
    quiet: bool = False,
) -> Iterator[Laboratory]:
    """Hold a bench whose campaigns are kept in a folder, or in a ledger that is open.

    In each world so many `pools` and `draws` of documents cross.
    With `studies` the same raters rate the same documents so often.
    """
    base = replace(compose_sweep(RUN, list(words)), worlds=1, studies=studies, pools=pools, document_draws=draws)
    with laboratory(kept, base, compose, Measuring(measures), jobs=jobs, seconds=seconds, quiet=quiet) as held:
        yield held
