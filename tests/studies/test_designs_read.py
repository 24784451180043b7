"""The keys of a design become a record; studies of before a key have what they did then."""

from __future__ import annotations

from typing import Any

from simlab.studies.preferences import preparing as preferences
from simlab.studies.ratings import preparing as ratings

RATED: dict[str, Any] = {
    "documents": 40,
    "ratings_per_item": 2,
    "grouping": {"_target_": "a.part"},
    "studies_per_document_set": 50,
    "load_entropy": 0.9,
    "load_tolerance": 0.03,
    "load_tries": 1000,
}
LATER = {"min_documents": 6, "estimand": "these_raters", "overlap": 0.2, "boost_margin": 3.0}


def test_keys_of_ratings_are_fields() -> None:
    found = ratings.read_design(RATED | LATER)
    fields = found._asdict() | found.further._asdict()
    assert {name: fields[name] for name in RATED | LATER} == RATED | LATER
    assert found.further.uneven


def test_designs_of_before_a_key_do_as_they_did() -> None:
    found = ratings.read_design(RATED)
    assert (found.min_documents, found.estimand, found.further) == (1, "all_raters", ratings.Further(0.0, None))
    assert not found.further.uneven
    compared = preferences.read_design({"shared_order": True, "pair_order": "fixed"})
    assert compared == preferences.PreferencesDesign(True, "fixed", False, "round")
