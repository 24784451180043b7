"""Write small files of worlds fitted on a scale."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import yaml

SPREADS = (
    *("document_sd", "segment_sd", "system_document_sd", "output_sd", "rater_document_sd", "residual_sd"),
    *("system_sd", "leniency_sd", "sharpness_sd", "rater_system_sd"),
)
CUTS = {"gaussian": [], "ordinal": [-1.0, 0.0, 0.8], "binary": [0.0]}
UNIT = {"gaussian": 4.0, "ordinal": 0.4, "binary": 0.4}


def held(law: str = "gaussian", n_draws: int = 3) -> dict[str, Any]:
    """Return what a small file says: three systems, two raters."""
    rng, unit = np.random.default_rng(1), UNIT[law]
    draws: dict[str, Any] = {
        "mean": [75.0 if law == "gaussian" else 0.2] * n_draws,
        "system": (rng.standard_normal((n_draws, 3)) * unit).round(3).tolist(),
        "leniency": (rng.standard_normal((n_draws, 2)) * unit).round(3).tolist(),
        "sharpness": np.exp(rng.standard_normal((n_draws, 2)) / 5).round(3).tolist(),
        "taste": (rng.standard_normal((n_draws, 3, 2)) * unit / 3).round(3).tolist(),
        **{name: [unit] * n_draws for name in SPREADS},
        "sharpness_sd": [0.2] * n_draws,
        "tail": [None, 5.0, None][:n_draws],
        # Each draw its own list: YAML would write a reference to one that comes again.
        "thresholds": [list(CUTS[law]) for _ in range(n_draws)],
    }
    draws["system"] = [[draws["mean"][0] + value for value in row] for row in draws["system"]]
    points = law == "gaussian"
    return {
        "format": "simlab fitted world 3",
        "law": law,
        "about": {"table": "pilot.csv", "ratings": 240},
        "checks": {"passed": 9, "failed": [{"name": "zeros", "real": 0.1, "low": 0.2, "high": 0.3}]},
        "not_identified": ["one rater: no leniency"],
        "components": {"document_sd": {"low": 1.0, "estimate": 2.0, "high": 3.0}, "leniency_sd": {"estimate": 1.0}},
        "systems": ["A", "B", "C"],
        "raters": ["r1", "r2"],
        "document_sizes": [1, 2, 3],
        "seats": [[0], [1]],
        "lower_is_better": False,
        "scale": {
            "low": 0 if points else None,
            "high": 100 if points else None,
            "step": 1 if points else None,
            "values": [1, 2, 3, 5] if law == "ordinal" else [],
        },
        "draws": draws,
    }


def write(path: Path, content: dict[str, Any]) -> Path:
    """Write a file, and return where."""
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return path
