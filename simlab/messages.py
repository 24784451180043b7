"""Write messages to the user on one line: values as typed, names in order, the nearest name, the quoting that works."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_/][\w./:+-]*", re.ASCII)
_BETWEEN = re.compile(r",(?![^()]*\))")
_WORDS = ("null", "true", "false", "nan", "inf")
_CROSSED = {"pools": "pools", "document_draws": "draws of documents"}


class Reservation(UserWarning):
    """Reservation on a store for its reader: its run was interrupted, or its ledger cannot be read."""


def show(value: object, limit: int = 60) -> str:
    """Write a value as it would be typed, shortened; text that could be mistaken for another value in quotes.

    >>> show(None), show("20"), show("mean"), show([1, True])
    ('null', "'20'", 'mean', '[1,true]')
    """
    if isinstance(value, list | tuple):
        text = "[" + ",".join(show(element, limit) for element in value[:limit]) + "]"
    elif value is None or isinstance(value, bool):
        text = "null" if value is None else str(value).lower()
    elif isinstance(value, str) and not (_PLAIN.fullmatch(value) and value.lower() not in _WORDS):
        text = repr(value)
    else:
        text = str(value)
    return shorten(text, limit)


def word(value: object) -> str:
    """Write an axis value as the user would type it.

    >>> word(None), word(True), word(0.5), word(20.0), word("mean")
    ('null', 'true', '0.5', '20', 'mean')
    """
    return value if isinstance(value, str) else f"{value:.12g}" if isinstance(value, float) else show(value)


def split_values(text: str) -> list[str]:
    """Take values apart at the commas between them; those within parentheses belong to one value.

    >>> split_values("uniform(0.1,0.5),0.3")
    ['uniform(0.1,0.5)', '0.3']
    """
    return _BETWEEN.split(text)


def flatten(section: Mapping[str, Any], where: str = "") -> Iterator[tuple[str, Any]]:
    """Go through a nested config: every key in full, with its value.

    >>> list(flatten({"seed": 1, "design": {"documents": 5}}))
    [('seed', 1), ('design.documents', 5)]
    """
    for key, value in section.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{where}{key}.")
        else:
            yield f"{where}{key}", value


def shorten(text: str, limit: int = 60) -> str:
    """Cut a text to a length."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def clip(text: object, limit: int = 300) -> str:
    """Return a path, or text from a user's file, printable and cut to `limit` characters, for one line of an error."""
    shown = str(text)
    return shorten(shown if shown.isprintable() else ascii(shown), limit)


def find_nearest(word: str, choices: Iterable[str]) -> str | None:
    """Find the choice that was probably meant: same last part, else similar letters.

    >>> find_nearest("documents", ["design.documents", "design.grouping"]), find_nearest("sytems", ["systems"])
    ('design.documents', 'systems')
    """
    listed = list(choices)
    # What a number was meant to be no likeness of digits tells.
    if re.fullmatch(r"[+-]?[0-9.]+", word):
        return None
    same_end = [choice for choice in listed if choice.rpartition(".")[2] == word.rpartition(".")[2]]
    folded = {choice.lower(): choice for choice in same_end or listed}
    close = difflib.get_close_matches(word.lower(), folded, n=1, cutoff=0.0 if same_end else 0.6)
    return folded[close[0]] if close else None


def suggest(word: str, choices: Iterable[str], otherwise: str = "choose from", limit: int = 10_000) -> str:
    """Suggest the nearest choice, or list them all where none is near: `otherwise`, then names of `limit` characters.

    >>> suggest("sytems", ["systems", "raters"]), suggest("x", ["systems", "raters"], "it has")
    ('did you mean systems?', 'it has systems, raters')
    """
    listed = list(choices)
    close = find_nearest(word, listed)
    return f"did you mean {clip(close, 100)}?" if close else f"{otherwise} {clip(', '.join(listed), limit)}"


def order_naturally(name: str) -> list[tuple[int, str]]:
    """Return the key that sorts names in natural order.

    >>> sorted(["rater10", "rater2", "rater1"], key=order_naturally)
    ['rater1', 'rater2', 'rater10']
    """
    # Runs of digits compare by length, then digit by digit: as numbers, however long. The name breaks ties ("01", "1").
    words = re.split(r"([0-9]+)", name)
    digits = [(len(run.lstrip("0")), run.lstrip("0")) for run in words[1::2]]
    return [pair for word, run in zip(words[::2], [*digits, (0, name)], strict=True) for pair in ((0, word), run)]


def number_naturally(names: Iterable[str]) -> dict[str, int]:
    """Number different names from 0 in natural order."""
    return {name: index for index, name in enumerate(sorted(set(names), key=order_naturally))}


def describe_replication(sizes: Mapping[str, Any], sign: str = "×") -> str:
    """State how often a cell is carried out, from the sizes of its sweep; one pool and one draw are not named.

    >>> describe_replication({"worlds": 5, "studies": 50})
    '5 worlds × 50 studies'
    >>> describe_replication({"worlds": 5, "pools": 2, "studies": 10}, "x")
    '5 worlds x 2 pools x 10 studies'
    """
    crossed = [f"{sizes[key]} {words}" for key, words in _CROSSED.items() if sizes.get(key, 1) > 1]
    worlds = "1 world" if sizes["worlds"] == 1 else f"{sizes['worlds']} worlds"
    return f" {sign} ".join([worlds, *crossed, f"{sizes['studies']} studies"])


def name_things(word: str, n: int) -> tuple[str, ...]:
    """Name n things by a word and a number, all of one length.

    >>> name_things("system", 2)
    ('system1', 'system2')
    """
    return tuple(f"{word}{i + 1:0{len(str(n))}d}" for i in range(n))


def quote_override(key: str, text: str) -> str:
    """Write `key=text` so that a shell and the override grammar both take the text literally.

    >>> print(quote_override("systems.path", "/data/a,b (1).tsv"))
    'systems.path="/data/a,b (1).tsv"'
    """
    # Backslashes count only before a quote, the closing one included; there each is doubled.
    literal = re.sub(r'(\\*)(")', r"\1\1\\\2", text)
    literal = re.sub(r"(\\+)\Z", r"\1\1", literal)
    return shlex.quote(f'{key}="{literal}"')


def join_words(words: Sequence[str]) -> str:
    """Join words as a sentence lists them.

    >>> join_words(["a", "b", "c"]), join_words(["a"])
    ('a, b and c', 'a')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def pluralise(n: int, word: str) -> str:
    """Count things in words.

    >>> pluralise(1, "rater"), pluralise(2000, "rater")
    ('1 rater', '2,000 raters')
    """
    return f"{n:,} {word}{'' if n == 1 else 's'}"


def quantity(value: float, unit: str) -> str:
    """Write a quantity with its unit.

    >>> quantity(2.0, "points"), quantity(0.25, "points"), quantity(1234.0, "EUR")
    ('2 points', '0.25 points', '1,234 EUR')
    """
    number = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{number} {unit}".rstrip()


def duration(seconds: float) -> str:
    """Write a time as one reads it.

    >>> duration(3.21), duration(75), duration(7300)
    ('3.2 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 59.5:
        return f"{seconds:.2g} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def size(count: float) -> str:
    """Write a number of bytes as one reads it.

    >>> size(5e5), size(3 * 2**20), size(1.2e12)
    ('0.5 MiB', '3.0 MiB', '1.1 TiB')
    """
    mebi = count / 2**20
    for unit in ("MiB", "GiB"):
        if mebi < 1024:
            return f"{mebi:.1f} {unit}"
        mebi /= 1024
    return f"{mebi:,.1f} TiB"
