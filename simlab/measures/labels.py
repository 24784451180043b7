"""Say how each performance measure is written on an axis, and what bounds it.

`bounds` and `order` (how many campaigns are compared at a time) let failed campaigns be counted as the worst and as
the best possible; conditional measures, whose denominators vary, have none. Of a measure that is `less_is_better` the
best design has the least.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LABELS: Mapping[str, Mapping[str, Any]] = {
    "srp": {"label": "stable ranking probability (SRP)", "bounds": [0, 1], "order": 2},
    "srp_given_any": {"label": "SRP given any significant pair"},
    "srp_disjoint": {"label": "SRP between campaigns that share no rating", "bounds": [0, 1]},
    "srp_both_significant": {"label": "SRP with significance in both", "bounds": [0, 1], "order": 2},
    "kendall": {"label": "Kendall's tau-b between campaigns", "bounds": [-1, 1], "order": 2},
    "pearson": {"label": "Pearson correlation between campaigns", "bounds": [-1, 1], "order": 2},
    "significant_share": {"label": "share of significant pairs", "bounds": [0, 1]},
    "power": {"label": "power (true differences found)", "bounds": [0, 1]},
    "type_s": {"label": "type S error (significant, wrong sign)", "less_is_better": True},
    "best_system_found": {"label": "probability of the right best system", "bounds": [0, 1]},
}
