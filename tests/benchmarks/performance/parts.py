"""Rows of decisions, fits, launches and large campaigns, and of what a second process costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import yaml

from tests.benchmarks.performance.bench import Bench, Found, Pair
from tests.benchmarks.performance.measuring import Taken
from tests.benchmarks.performance.sweeps import memory
from tests.benchmarks.performance.tasks import REGIMES

KINDS: dict[str, Sequence[str]] = {
    "ratings": ("design.documents=20", "worlds=20", "studies=50"),
    "preferences": ("question=prefer", "worlds=40", "studies=10"),
    "preferences with a metric": ("question=prefer", "metric=mu_matrix", "decision=bayes", "worlds=8", "studies=4"),
    "judgements": ("question=judge", "analysis.estimator=ppi", "worlds=40", "studies=100"),
}
LARGE = (
    "systems.n_systems=100",
    "systems.n_documents=1000",
    "systems.n_segments=1000",
    "design.documents=1000",
    "worlds=1",
)
TINY = ("systems.n_systems=3", "systems.n_documents=16", "systems.n_segments=16")


def start(bench: Bench) -> Found:
    """Say how commands are used."""
    return Found(bench.alternating(lambda tree: bench.run(tree, "--help").cpu), "CPU s", "simlab --help")


def first_posterior(bench: Bench) -> Found:
    """Summarise pairs in a new process that finds nothing compiled."""
    runs: list[Taken] = []

    def cpu(tree: Path) -> float:
        runs.append(bench.task(tree, "first_posterior")[0])
        return runs[-1].cpu

    return Found(
        bench.alternating(cpu),
        "CPU s",
        "64 pairs of 10 to 200 human ratings, all of the process",
        _drivers(runs, bench),
    )


def against_the_sampler(regime: str) -> Any:
    """Return a row: how many times the published sampler takes of what a warm decision does."""

    def row(bench: Bench) -> Found:
        batch, pairs = bench.size((256, 3), (64, 1))
        slow = bench.task(bench.now, "sampled", regime, pairs)[1]
        found = bench.alternating(lambda tree: float(bench.task(tree, "decisions", regime, batch)[1]["seconds"]))
        times = [Pair(pair.before and slow["seconds"] / pair.before, slow["seconds"] / pair.now) for pair in found]
        least, most = REGIMES[regime]
        sampler = f"NUTS: {pairs} pairs, {slow['seconds']:.0f} CPU s each"
        ran = f"{batch} pairs of {least} to {most} human ratings at once; {sampler}"
        return Found(times, "times", ran, note=f"theta within {slow['off']:.3f} of NUTS")

    return row


def rater_noise(bench: Bench) -> Found:
    """Decide pairs that raters judged who err."""
    batch = bench.size(64, 8)
    pairs = bench.alternating(lambda tree: float(bench.task(tree, "decisions_of_raters", batch)[1]["seconds"]))
    return Found(pairs, "CPU s a decision", f"{batch} pairs of 60 to 200 human ratings at once, warm")


def tiny_cells(what: Literal["launch", "relaunch", "driver"]) -> Any:
    """Return a row of cells of one campaign: CPU from launch to store, or where nothing is missing, or the driver."""

    def row(bench: Bench) -> Found:
        cells = bench.size(2000, 1000)
        file = bench.place / f"tiny{cells}.yaml"
        file.write_text(yaml.safe_dump(_tiny(cells)))

        def number(tree: Path) -> float:
            words = ("sweep", file, "--out", bench.folder(), "--jobs", 1)
            first = bench.run(tree, *words)
            if what == "driver":
                return first.driver
            return 1000 / cells * (first if what == "launch" else bench.run(tree, *words)).cpu

        unit = "MB" if what == "driver" else "CPU ms a cell"
        return Found(bench.alternating(number), unit, f"{cells:,} cells of 1 campaign, 1 process")

    return row


def _tiny(cells: int) -> dict[str, Any]:
    """Declare a sweep of as many cells of one world and one campaign: ten numbers of documents, and prices."""
    settings = {key: int(value) for key, value in (word.split("=") for word in TINY)}
    axes = {
        "design.documents": list(range(6, 16)),
        "budget.price_per_rating": [round(0.1 * k, 1) for k in range(1, cells // 10 + 1)],
    }
    return {"aim": "What does a cell cost?", "axes": axes, "set": {**settings, "worlds": 1, "studies": 1}}


def large_campaign(bench: Bench) -> Found:
    """Carry out campaigns of 100 systems and 1,000 documents: what 11 take more than 1, by 10."""

    def milliseconds(tree: Path) -> float:
        one, many = (
            bench.run(tree, "run", *LARGE, f"studies={n}", "--out", bench.folder(), "--jobs", 1).cpu for n in (1, 11)
        )
        return 100 * (many - one)

    return Found(bench.alternating(milliseconds), "CPU ms", "11 campaigns less 1, by 10")


def fit(documents: int) -> Any:
    """Return a row: fit a world to ratings of 5 systems by 3 raters each, on as many documents of 4 segments."""

    def row(bench: Bench) -> Found:
        table = bench.place / f"ratings{documents}.csv"
        table.write_text("\n".join(_ratings(documents)) + "\n")
        runs: list[Taken] = []

        def cpu(tree: Path) -> float:
            runs.append(bench.run(tree, "fit", table, "--out", bench.place / "world.yaml"))
            return runs[-1].cpu

        return Found(bench.alternating(cpu), "CPU s", f"{60 * documents:,} ratings", _drivers(runs, bench))

    return row


def _ratings(documents: int, systems: int = 5, raters: int = 8, segments: int = 4) -> list[str]:
    """Write what raters say who differ in what they call good, of documents that differ in difficulty."""
    rng = np.random.default_rng(5)
    lines = ["system,document,segment,rater,score"]
    quality, taste = rng.normal(0, 0.3, systems), rng.normal(0, 0.4, raters)
    for document in range(documents):
        hard, asked = rng.normal(0, 0.4), rng.choice(raters, 3, replace=False)
        for segment in range(segments):
            of = rng.normal(0, 0.3, systems)
            for system in range(systems):
                for rater in asked:
                    score = 3 + quality[system] + taste[rater] + hard + of[system] + rng.normal(0, 0.7)
                    lines.append(f"s{system},d{document},{document}-{segment},r{rater},{score:.3f}")
    return lines


def two_jobs(kind: str) -> Any:
    """Return a row: what campaigns of a kind take in two processes, over what they take in one."""

    def row(bench: Bench) -> Found:
        words = KINDS[kind]

        def more(tree: Path) -> float:
            one, two = (bench.run(tree, "run", *words, "--out", bench.folder(), "--jobs", jobs).cpu for jobs in (1, 2))
            return two / one

        return Found(bench.alternating(more), "times one", " ".join(words))

    return row


def peak(words: Sequence[str]) -> Any:
    """Return a row: the most memory that a worker takes."""

    def row(bench: Bench) -> Found:
        def worker(tree: Path) -> float:
            return bench.run(tree, "run", *words, "--out", bench.folder(), "--jobs", 2).worker

        return Found(bench.alternating(worker), "MB", " ".join(words))

    return row


def _drivers(runs: Sequence[Taken], bench: Bench) -> str:
    return memory(list(runs), bench).replace(", 0", "")
