"""Declare a small study of each kind, from the options that ship."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

CONF = Path(__file__).parents[1] / "conf"


def small_contest(name: str = "preference") -> dict[str, Any]:
    section = yaml.safe_load((CONF / f"systems/{name}.yaml").read_text())
    return section | {"n_systems": 4, "n_items": 30}


def small_systems(name: str = "mqm") -> dict[str, Any]:
    section = yaml.safe_load((CONF / f"systems/{name}.yaml").read_text())
    return section | {"n_systems": 4, "n_documents": 14, "n_segments": 40}


def grouping(name: str = "pseudo_side_by_side") -> dict[str, Any]:
    section: dict[str, Any] = yaml.safe_load((CONF / f"design/grouping/{name}.yaml").read_text())
    return section


def study(**design: Any) -> dict[str, Any]:
    return {
        "seed": 1,
        "worlds": 2,
        "studies": 6,
        "systems": small_systems(),
        "raters": yaml.safe_load((CONF / "raters/expert_pool.yaml").read_text()) | {"noise": "potential"},
        "design": {
            "grouping": grouping(),
            "documents": 14,
            "ratings_per_item": 1,
            "load_entropy": None,
            "load_tolerance": 0.03,
            "load_tries": 1000,
            "studies_per_document_set": 3,
        }
        | design,
        "analysis": {
            "normalization": {"_target_": "simlab.analysis.normalization.none"},
            "test": yaml.safe_load((CONF / "analysis/test/permutation.yaml").read_text()),
        },
        "budget": {"price_per_rating": 1.0},
        "decision": {"level": 0.05},
    }


def preference_study(**budget: Any) -> dict[str, Any]:
    return {
        "seed": 1,
        "worlds": 2,
        "studies": 6,
        "systems": small_contest(),
        "raters": yaml.safe_load((CONF / "raters/oracle.yaml").read_text()),
        "metric": yaml.safe_load((CONF / "metric/mu_matrix.yaml").read_text()) | {"n_outputs": 100},
        "design": {"shared_order": True, "pair_order": "random"},
        "budget": {"annotations_per_pair": 30, "annotations": None, "batch_size": 10, "price_per_rating": 1.0} | budget,
        "analysis": {
            "reference": yaml.safe_load((CONF / "analysis/reference/exact.yaml").read_text()),
            "reference_level": 0.05,
        },
        "decision": yaml.safe_load((CONF / "decision/human_only.yaml").read_text()),
    }


def judgement_study(**keys: Any) -> dict[str, Any]:
    estimator = yaml.safe_load((CONF / "analysis/estimator/ppi.yaml").read_text())
    return {
        "seed": 1,
        "worlds": 2,
        "studies": 6,
        "systems": small_contest("alpha_optimal") | {"item_agreement": 0.3},
        "raters": yaml.safe_load((CONF / "raters/judges.yaml").read_text()),
        "metric": yaml.safe_load((CONF / "metric/rho_eta.yaml").read_text()),
        "design": {"shared_inputs": True, "replacement": False, "calibration": "shared"},
        "budget": yaml.safe_load((CONF / "budget/judgements.yaml").read_text()) | {"human_ratings": 30},
        "analysis": {"estimator": estimator},
        "decision": {"level": 0.05},
    } | keys
