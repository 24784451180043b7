"""The page and the figure of a fit say what was read, which law, what failed and which way, and what is not known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from simlab.drawing.figures import fitted_world as figure
from simlab.drawing.text import fitted_world as text
from simlab.fitting.checks import Check, Checks, Erring
from simlab.fitting.comparing_laws import Compared
from simlab.fitting.components import Components
from simlab.fitting.generalisability import coefficients, trade

NAN = float("nan")
VARIANCE = {"system": 9.0, "document": 4.0, "system_document": 2.0, "leniency": 6.0, "rater_system": 1.0}
HELD = Components({k: np.array([v, v]) for k, v in (VARIANCE | {"residual": 12.0}).items()}, 1.0, 3, 40, frozenset())


def report(*, failed: bool = False, held: Components = HELD) -> Any:
    traits = (Check("sd of scores", 8.2 if failed else 24, 25.0, 21.0, 29.0), Check("mean score", 70, 70, 68, 72))
    erring = (
        Erring("pairs told apart by a t test", 0.79, 0.09, 0.99),
        Erring("halves: all confirmed (SRP)", 0.9, 0.91, 0.4),
    )
    grid, many = np.linspace(0, 100, 9), np.tile(np.linspace(1, 0, 9), (20, 1))
    means = np.tile(np.arange(3.0), (20, 1))
    return SimpleNamespace(
        speed_record=None,
        law=SimpleNamespace(name="gaussian"),
        asked=False,
        ratings=SimpleNamespace(score=np.zeros(640), system_names="abc", rater_names="xyz", n_systems=8),
        compared=[Compared("gaussian", -2.31, 0.0, NAN), Compared("mqm", -2.62, 0.31, 0.02)],
        refused={"binary": "yes and no need exactly 2 different scores"},
        checks=Checks(traits, erring, grid, many, means, means),
        components=held,
        listed=held.listed(),
        coefficients=coefficients(held, 1),
        trade=trade(held, 80),
        not_identified=["3 raters: how far raters at large differ is mostly prior"],
    )


def test_a_world_that_passes_fits_on_a_page() -> None:
    page = text.page(report(), "640 ratings of 8 systems", Path("w.yaml"), "next: simlab sweep x")
    lines = page.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    assert lines[0] == "Read     640 ratings of 8 systems"
    said = " ".join(page.split())
    assert "gaussian, predicts documents held out best (log score -2.310 a rating); mqm .310 ± .020 behind" in said
    assert "Checks   2 of 2 passed" in page
    assert "Erring" not in page
    assert "two each pay where a document costs more than .3 ratings" in page
    assert lines[-1] == "next: simlab sweep x"


def test_a_world_that_fails_says_what_and_which_way() -> None:
    page = text.page(report(failed=True), "640 ratings", Path("w.yaml"), "marked")
    assert "Checks   1 of 2 FAILED" in page
    assert "sd of scores: 8.2 real, 25.0 simulated (21.0 to 29.0)" in page
    assert "power under-predicted (.79 in the pilot, .09 simulated)" in " ".join(page.split())
    assert "SRP about right" in page
    record: Any = text.record(report(failed=True))
    assert record["checks"]["failed"] == [{"name": "sd of scores", "real": 8.2, "low": 21.0, "high": 29.0}]
    assert record["compared"][0] == {"law": "gaussian", "log_score": -2.31, "behind": 0.0, "se": None}


def test_what_is_not_known_has_no_number() -> None:
    one_rater = replace(HELD, unknown=frozenset({"leniency", "rater_system"}), n_raters=1)
    page = text.page(report(held=one_rater), "640 ratings", None, "")
    row = next(line for line in page.splitlines() if line.startswith("raters at large x system"))
    assert "not known" in row
    assert "(assumed 1.00)" in row
    assert "other raters" not in page
    assert "Not known from this pilot; priors stand in:" in page


def test_the_figure_shows_pilot_components_and_what_follows() -> None:
    titles = [axes.get_title() for axes in figure.draw(report()).axes]
    assert titles[:4] == ["Scores", "Checks", "Systems", "Raters"]
    assert titles[4:6] == ["What makes scores differ", "Dependable (E rho^2, Phi)"]
    unknown = replace(HELD, unknown=frozenset({"system_document"}))
    assert "cannot tell" in figure.draw(report(held=unknown)).axes[6].get_title()
