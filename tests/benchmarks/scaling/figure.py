"""Draw docs/figures/scaling.png, throughput measured and simulated: uv run python FILE."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[3])]

from simlab.drawing.figures.captions import question  # noqa: E402
from simlab.drawing.figures.files import write  # noqa: E402
from tests.benchmarks.scaling.model import BLOCKS_MS, CORES, COSTS, costs_of, simulate  # noqa: E402

FIGURE = Path(__file__).parents[3] / "docs" / "figures" / "scaling.png"
LOOKS = {"loky": ("#0072B2", "o", "processes"), "tcp": ("#D55E00", "s", "Dask workers over TCP")}
COLOURS = ("#CC79A7", "#E69F00", "#009E73", "#0072B2")


def draw(measured: dict[str, Any]) -> Any:
    """Draw both panels: blocks of 50 ms measured at one and two workers, and the simulation up to 4,000 cores."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.4, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    workers = (1, 2)
    left.plot(workers, [20 * k for k in workers], color="#666666", linestyle="--", label="ideal: workers / 50 ms")
    for shift, (backend, (colour, marker, label)) in zip((-0.03, 0.03), LOOKS.items(), strict=True):
        rates = [
            [r["rate"] for r in measured["runs"] if (r["backend"], r["jobs"], r["seconds"]) == (backend, k, 0.05)]
            for k in workers
        ]
        middle = [sorted(of)[len(of) // 2] for of in rates]
        spread = [[m - min(of) for m, of in zip(middle, rates, strict=True)]]
        spread += [[max(of) - m for m, of in zip(middle, rates, strict=True)]]
        at = [k + shift for k in workers]
        left.errorbar(at, middle, yerr=spread, color=colour, marker=marker, capsize=3, linestyle="none", label=label)
    left.set(xlabel="workers", ylabel="blocks per second", xticks=workers, xlim=(0.7, 2.3), ylim=(0, 46))
    left.set_title("measured: median, least and most of repeated runs", fontsize=9)
    left.legend(loc="lower right")
    costs = costs_of(measured, "tcp")
    for ms, colour, marker in zip(BLOCKS_MS, COLOURS, "osD^", strict=True):
        found = [simulate(costs, cores, ms / 1000, bundles=12).throughput for cores in CORES]
        right.plot(CORES, found, color=colour, marker=marker, label=f"{ms:,} ms")
        right.plot(CORES, [cores * 1000 / ms for cores in CORES], color=colour, linestyle=":", linewidth=0.9)
    right.set(xscale="log", yscale="log", xlabel="cores", ylabel="blocks per second")
    right.set_title("simulated, one driver (dotted: ideal)", fontsize=9)
    right.legend(title="a block takes", loc="upper left", fontsize=8)
    question(figure, "How many blocks of campaigns are carried out in a second?")
    return figure


if __name__ == "__main__":
    held = json.loads(COSTS.read_text())
    write(lambda: draw(held), Path(sys.argv[1]) if len(sys.argv) > 1 else FIGURE)
