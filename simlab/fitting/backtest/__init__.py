"""Compare predictions from a pilot with studies on real ratings that the pilot did not see."""
