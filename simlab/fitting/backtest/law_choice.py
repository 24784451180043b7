"""Choose the law (distribution of answers) that a backtest fits to a table.

Call `choose_law` on the laws, a table and a name; it returns a `FittableLaw`.
"""

from __future__ import annotations

from collections.abc import Sequence

from simlab.fitting.laws import FittableLaw
from simlab.messages import show, suggest
from simlab.tables.rating_table import Ratings
from simlab.types import InputError

AUTO = "auto"
"""Name that leaves the choice to simlab."""
ORDER = ("binary", "mqm", "gaussian", "normal_scores", "ordinal")
"""The first of these that a table allows: no documents are asked which law is best, so that none is looked at."""


def choose_law(laws: Sequence[FittableLaw], ratings: Ratings, name: str) -> FittableLaw:
    """Return the named law, or without a name (`auto`) the first that the table allows.

    Raises InputError for a law that is unknown or that the table does not allow, and where it allows none.
    """
    by_name = {law.name: law for law in laws}
    if name != AUTO and name not in by_name:
        raise InputError(f"--law {show(name)} is unknown; {suggest(name, [AUTO, *by_name])}")
    refused = {law.name: why for law in laws if (why := law.refused(ratings)) is not None}
    if name in refused:
        raise InputError(f"--law {name}: {refused[name]}")
    allowed = [law for law in by_name if law not in refused]
    if not allowed:
        raise InputError(f"no law fits such a table: {'; '.join(f'{law}: {why}' for law, why in refused.items())}")
    return by_name[min(allowed, key=ORDER.index) if name == AUTO else name]
