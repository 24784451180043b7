"""Go once through the loop as a notebook would: plan, simulate, ask, compare, draw, fit.

`uv run python examples/notebook.py` takes well under a minute and leaves nothing behind.
"""

from __future__ import annotations

import sys
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TextIO

import simlab

SMALL = {
    "systems.n_systems": 6,
    "systems.n_documents": 60,
    "systems.n_segments": 240,
    "design.grouping": ["pseudo_side_by_side", "ungrouped"],
    "design.documents": [10, 30],
}


def main(folder: Path, table: Path | None = None, worlds: int = 4, studies: int = 12, out: TextIO = sys.stdout) -> None:
    """Write what each step says to `out`, and files below `folder`; `table` holds ratings (None: the built-in ones)."""

    def say(title: str, text: object) -> None:
        print(f"\n## {title}\n\n{text}", file=out)

    # Which difference could 100 human and 1,000 metric ratings tell at all? A calculation.
    plan = simlab.detect(n_human=100, n_metric=[0, 1000], rho=0.9, eta=0.9, alpha=0.6)
    say("Detectable difference", plan["detectable"].to_pandas())

    # Is a study more stable where one rater sees all systems' outputs of a document? Each cell is carried out
    # worlds x studies times. The same call again would run nothing; more worlds run what is missing.
    results = simlab.sweep("item_grouping", SMALL, worlds=worlds, studies=studies, out=folder / "store", jobs=1)
    say("Stable ranking probability", results["srp"].to_pandas())
    say("Settings that all cells share", simlab.config_of(results)["budget"])

    # Measures with their errors, and what a campaign costs: any stored outcome that has a mean.
    answer = simlab.query(results, measure=["srp", "power", "ratings_used"], documents=30)
    say("Thirty documents", answer.to_dataframe().T)

    # The designs met the same worlds, so their difference is known better than they are.
    compared = simlab.compare(results, by="grouping", measure="srp")
    shown = ["srp", "difference", "difference_low", "difference_high", "standing"]
    say("Differences", compared[shown].to_dataframe().to_string())

    figure = simlab.plot(results, out=folder / "srp.svg")
    say("Figure", f"{len(figure.axes)} panel, written to {(folder / 'srp.svg').name}")

    # A mistake is one line, and nothing is written.
    try:
        simlab.run({"design.documets": 20})
    except simlab.InputError as error:
        say("A mistake", error)

    # How far do the raters of a table agree, and which world would give such ratings?
    agreed = simlab.agreement(table)
    single, shared = agreed.single.kendall, agreed.shared.kendall
    say("Kendall's tau between raters", f"{single:.2f} per document, {shared:.2f} over all documents")
    world = simlab.fit(table, out=folder / "pilot.yaml")
    say("The pilot against its fit", world.checks[["real", "simulated", "inside"]].to_dataframe())

    # The fitted world is an option like any other.
    fitted = simlab.run(
        {
            "systems": "fitted",
            "systems.path": folder / "pilot.yaml",
            "design.documents": 6,
            "design.estimand": "these_raters",
        },
        worlds=2,
        studies=studies,
        out=folder / "fitted",
        jobs=1,
    )
    say("SRP with six documents in the fitted world", f"{fitted['srp'].item():.2f} ± {fitted['srp_mcse'].item():.2f}")


if __name__ == "__main__":
    with TemporaryDirectory() as folder, chdir(folder):
        main(Path(folder))
