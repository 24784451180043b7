"""The words that say who won a comparison: by the place in the row, or by numbers."""

from __future__ import annotations

FIRST, TIE, SECOND = 0, 1, 2
SIGNS = (">", "=", "<")
WORDS = {
    **dict.fromkeys((">", "a", "first", "system_a", "model_a", "system_1", "model_1", "a wins", "left"), FIRST),
    **dict.fromkeys(("=", "tie", "tied", "draw", "equal", "same", "both", "neither"), TIE),
    **dict.fromkeys(("tie (bothbad)", "tie (inconsistent)", "both bad", "bothbad", "both good"), TIE),
    **dict.fromkeys(("<", "b", "second", "system_b", "model_b", "system_2", "model_2", "b wins", "right"), SECOND),
    **dict.fromkeys(("a>b", "a>>b", "b<a", "b<<a"), FIRST),
    **dict.fromkeys(("a=b", "b=a"), TIE),
    **dict.fromkeys(("b>a", "b>>a", "a<b", "a<<b"), SECOND),
}
"""Both and neither are ties: they say how good the two are, and neither is better. A clear win is a win."""
SHARES = {"1": FIRST, "1.0": FIRST, ".5": TIE, "0.5": TIE, "0": SECOND, "0.0": SECOND}
"""Numbers that say what the first gets."""
BRACKETED = {**WORDS, "c": TIE}
"""Within double brackets, as judges of FastChat end their verdicts, C is a tie."""

EMPHATIC = "A>>B counts as a win, as A>B does"


def is_emphatic(text: str) -> bool:
    """True for a verdict that says that one is much better."""
    return ">>" in text or "<<" in text


def place_of(text: str) -> int:
    """Return which place of the row a word means; -1 where it means none.

    >>> place_of("A>>B"), place_of("[[C]]"), place_of("tie"), place_of("C")
    (0, 1, 1, -1)
    """
    word = " ".join(text.lower().split())
    if word.startswith("[[") and word.endswith("]]"):
        return BRACKETED.get(word[2:-2].replace(" ", ""), -1)
    return WORDS.get(word.replace(" ", ""), -1) if ">" in word or "<" in word or "=" in word else WORDS.get(word, -1)
