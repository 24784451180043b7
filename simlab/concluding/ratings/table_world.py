"""Fit the world of a table (a law of ratings, in which its study is simulated again) while its conclusion is drawn.

Call `fit_world` with the ratings, which returns a function that waits for the `TableWorld`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from simlab.concluding.simulations import seed_from_rows, start_in_process
from simlab.tables.rating_table import Ratings

if TYPE_CHECKING:
    from simlab.fitting.repetitions import TableWorld

DRAWS = 100
"""Number of draws of the world's parameters."""


def check_seed(ratings: Ratings) -> int:
    """Return the seed of a table's world and check, which follow the table alone."""
    names = (*ratings.system_names, *ratings.item_names, *ratings.rater_names)
    return seed_from_rows(names, ratings.system, ratings.item, ratings.rater, ratings.score)


def fit_world(ratings: Ratings) -> Callable[[], TableWorld]:
    """Begin to fit a world to ratings; the returned function waits for it, and raises InputError where none fits."""

    def fit() -> TableWorld:
        from threadpoolctl import threadpool_limits

        from simlab.fitting.repetitions import table_world

        # Arrays are small: threads that share them cost more than they do.
        with threadpool_limits(1):
            return table_world(ratings, check_seed(ratings), DRAWS)

    return start_in_process(fit)
