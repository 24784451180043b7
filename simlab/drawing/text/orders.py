"""Write the partial order of systems that one campaign arrived at."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


def table(orders: Sequence[dict[str, Any]]) -> str:
    """Write the order of each cell: who ranks where, who beats whom, how the pairs were decided."""
    return "\n\n".join(map(_text, orders))


def to_json(orders: Sequence[dict[str, Any]]) -> str:
    """Write the orders as JSON, every round of theirs included."""
    return json.dumps(list(orders), indent=1)


def _text(order: dict[str, Any]) -> str:
    axes = [f"{key}={value}" for key, value in order.items() if not isinstance(value, list)]
    ranks = [f"{k:>4}. {', '.join(rank)}" for k, rank in enumerate(order["ranks"], 1)]
    beats = ", ".join(f"{better} > {worse}" for better, worse in order["beats"]) or "nobody"
    cycles = "; ".join(" > ".join(cycle) for cycle in order["cycles"]) or "none"
    rounds = [f"{n}: {left}" for n, left in zip(order["collected"], order["undecided"], strict=True)]
    lines = [*axes, "ranks (nobody of a rank is beaten by a later one)", *ranks, f"beats directly: {beats}"]
    return "\n".join([*lines, f"cycles: {cycles}", f"annotations: undecided pairs  {_every(rounds)}"])


def _every(rounds: list[str], most: int = 8) -> str:
    """Keep the first, the last, and some rounds between."""
    kept = sorted({round(k * (len(rounds) - 1) / (most - 1)) for k in range(most)})
    return ", ".join(rounds[k] for k in kept)
