"""Rows of the sweeps that README shows: as many campaigns, or to the same error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import yaml

import simlab
from simlab.store.opening import name_axes
from tests.benchmarks.performance.bench import Bench, Found, Pair
from tests.benchmarks.performance.measuring import Taken

Sizes = dict[str, int]


def same_campaigns(bench: Bench) -> Found:
    """Carry out the same campaigns of `item_grouping`, and hold outcome against outcome."""
    words = ["worlds=5", "studies=50"] if not bench.quick else ["worlds=2", "studies=10"]
    runs: list[Taken] = []
    folders: list[Path] = []

    def cpu(tree: Path) -> float:
        folders.append(bench.folder())
        runs.append(bench.run(tree, "sweep", "item_grouping", *words, "--out", folders[-1], "--jobs", bench.jobs))
        return runs[-1].cpu

    pairs = bench.alternating(cpu)
    same = bench.before is None or same_bits(folders[0], folders[1])
    note = "same bits" if same else "OTHER BITS"
    return Found(pairs, "CPU s", " ".join(words), memory(runs, bench), note=note if bench.before else "")


def memory(runs: list[Taken], bench: Bench) -> str:
    """Write the peaks of drivers and workers, before and now."""
    step = 1 if bench.before is None else 2
    each = [runs[k::step] for k in range(step)]
    return " → ".join(f"{max(r.driver for r in of):.0f}, {max(r.worker for r in of):.0f}" for of in each)


def same_bits(first: Path, second: Path) -> bool:
    """Tell whether two stores hold the same outcomes of all campaigns."""
    with simlab.open_results(first) as one, simlab.open_results(second) as other:
        names = [name for name in one.data_vars if "replicate" in one[name].dims and name in other]
        return bool(names) and all(_equal(one[name].values, other[name].values) for name in names)


def _equal(one: Any, other: Any) -> bool:
    return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))


def equal_error(name: str, measure: str, worlds: int, cells: tuple[str, ...]) -> Any:
    """Return a row: what a sweep takes at the error that it had, with the worlds and studies that either tree declares.

    CPU seconds times squared error say what a given error costs, whatever the number of worlds: the one grows with
    them as the other shrinks. Reduced to so many `worlds`, with as many studies each, and to some `cells`.
    """

    def row(bench: Bench) -> Found:
        runs: list[Taken] = []
        declared: list[str] = []

        def price(tree: Path) -> float:
            sizes = sizes_of(tree, name)
            reduced = _reduced(sizes, worlds) if bench.quick else sizes
            words = [*(cells if bench.quick else ()), *(f"{key}={value}" for key, value in reduced.items())]
            folder = bench.folder()
            seed = f"seed={1 + len(runs) // (1 if bench.before is None else 2)}"
            runs.append(bench.run(tree, "sweep", name, *words, seed, "--out", folder, "--jobs", bench.jobs))
            declared.append(" ".join(words))
            return runs[-1].cpu * squared_error(folder, measure)

        pairs = bench.alternating(price)
        step = 1 if bench.before is None else 2
        ran = " | ".join(dict.fromkeys(declared[:step]))
        seconds = [
            Pair(None if step == 1 else runs[step * k].cpu, runs[step * k + step - 1].cpu) for k in range(len(pairs))
        ]
        ratios = [pair.now / pair.before for pair in pairs if pair.before]
        return Found(seconds, "CPU s", ran, memory(runs, bench), ratios, f"ratio of CPU s × mcse² of {measure}")

    return row


def sizes_of(tree: Path, name: str) -> Sizes:
    """Return the worlds and studies that the sweep of a tree declares."""
    declared = yaml.safe_load((tree / "sweeps" / f"{name}.yaml").read_text())["set"]
    return {key: int(declared[key]) for key in ("worlds", "studies")}


def _reduced(sizes: Sizes, worlds: int) -> Sizes:
    """Keep the studies of a world; those of a single world are reduced themselves."""
    return (
        {**sizes, "studies": min(sizes["studies"], 10 * worlds)}
        if sizes["worlds"] == 1
        else {**sizes, "worlds": worlds}
    )


def squared_error(folder: Path, measure: str) -> float:
    """Return the mean squared Monte-Carlo standard error of a measure over the cells of a store."""
    with simlab.open_results(folder) as dataset:
        errors = dataset[f"{measure}_mcse"].transpose(*name_axes(dataset)).values
        return float(np.nanmean(errors**2))


def to_precision(wanted: str) -> Any:
    """Return a row: `item_grouping` until every cell has an error; wall seconds, which nothing did before."""

    def row(bench: Bench) -> Found:
        runs = [
            bench.run(bench.now, "sweep", "item_grouping", "--precision", f"srp={wanted}", "--out", bench.folder(),
                      "--jobs", bench.jobs)
            for _ in range(bench.size(bench.repeats, 1))
        ]  # fmt: skip
        cpu = " to ".join(
            f"{value:.0f}" for value in dict.fromkeys([min(r.cpu for r in runs), max(r.cpu for r in runs)])
        )
        alone = Bench(bench.now, None, bench.place)
        pairs = [Pair(None, one.wall) for one in runs]
        return Found(pairs, "wall s", f"{bench.jobs} processes, {cpu} CPU s", memory(runs, alone))

    return row
