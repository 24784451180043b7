"""Hold predictions from a pilot against studies on real ratings that the pilot did not see."""
