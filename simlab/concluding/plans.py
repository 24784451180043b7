"""Read the plan that a table was collected by: a study file, and what an analyst is told beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Plan:
    """Hold a plan: the composed `config`, its `digest`, and `told`, what an exported campaign says beside its table.

    `told` is None for a plan alone, made before anything was collected.
    """

    path: Path
    question: str
    config: Mapping[str, Any]
    digest: str
    told: Mapping[str, Any] | None


def read_plan(path: Path) -> Plan:
    """Read a study file, or the sidecar of an exported campaign; raise InputError for what is none."""
    raise NotImplementedError
