"""Names of the questions that raters are asked, by which kinds of studies are told apart in a config."""

QUESTION = "question"
"""The key, and the group of options, by which a config chooses its kind of study."""
RATE, COMPARE, JUDGE = "rate", "compare", "judge"
"""Questions that are built in: give a rating, compare two outputs, judge one output."""
