"""The verb of the command line that assigns a planned study, for notebooks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from simlab.commands.notebook import mendable
from simlab.messages import shown
from simlab.types import InputError


def assign(
    plan: str | os.PathLike[str],
    *,
    items: str | os.PathLike[str],
    raters: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    form: Literal["csv", "label_studio", "appraise"] = "csv",
    seed: int | None = None,
    controls: float | None = None,
    languages: str = "eng-deu",
    plugins: Sequence[str] = (),
) -> list[Path]:
    """Assign a planned study: who rates what, in which order, as its simulated campaigns are dealt.

    `plan` is the folder of a plan, or a study file; `items` a table (document, segment, source, system, output),
    `raters` another (rater, hours, cap; r1, r2, ... if left out). `form` says for which tool sheets are written,
    `controls` how many control ratings there are for each rating. Returns the sheets (a file or a folder), and in the
    folder of the plan the key, by which `conclude` unblinds them, and the study. Raises InputError, before anything is
    written, for a folder without a plan, and for items and raters that do not fit its design.

    >>> simlab.assign("my", items="items.csv", raters="raters.csv")  # doctest: +SKIP
    >>> simlab.conclude("my/assignment.csv", plan="my")  # doctest: +SKIP
    """
    from simlab.commands import assign as assignments

    if seed is not None and (type(seed) is not int or seed < 0):
        raise InputError(f"seed={shown(seed)} must be a whole number >= 0")
    if form not in ("csv", "label_studio", "appraise"):
        raise InputError(f"form={shown(form)}: choose csv, label_studio or appraise")
    people, sheets = (None if file is None else Path(file) for file in (raters, out))
    with mendable():
        asked = assignments.Asked(Path(items), people, sheets, form, seed, controls, languages)
        return assignments.carried_out(Path(plan), asked, list(plugins))[1]
