"""Split sentences into words as evaluations of captions do: by a Penn Treebank tokenizer, then without punctuation.

Call `words` on sentences and references alike: words split in different ways would not match. The rules follow the
tokenizer that pycocoevalcap runs in Java (Stanford's, lower case) and its list of punctuation; tests compare the two.
"""

from __future__ import annotations

import re

_CLITIC = r"'(?:s|re|ve|ll|d|m)(?!\w)"
_NEGATED = re.compile(r"(?<=\w)n't(?!\w)")
_TWO_IN_ONE = re.compile(r"\b(?:(can)(not)|(gon|wan)(na)|(got)(ta)|(gim|lem)(me))\b")
# In this order: abbreviations keep their full stop, n't and 's are words, and a word may go on after a hyphen, a slash,
# an apostrophe (o'clock), or the point of a number. Signs that say something are words; punctuation is none.
_WORD = re.compile(
    rf"(?:[a-z]\.){{2,}}|(?:mrs?|ms|dr|prof|vs)\.|n't(?!\w)|{_CLITIC}"
    rf"|\w+(?:(?:[-/]|(?<=\d)[.,](?=\d)|(?!{_CLITIC})')\w+)*|[$%&#@+=*/<>()\[\]]"
)
# The list of what is dropped has brackets in capitals, and what it is held against is in lower case: they stay.
_BRACKETS = {"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-"}


def words(sentence: str) -> str:
    """Return the words of a sentence in lower case, separated by spaces.

    >>> words("The dog's owner says: Don't use 1.5 bits of make-up!")
    "the dog 's owner says do n't use 1.5 bits of make-up"
    """
    text = _NEGATED.sub(" n't", sentence.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))
    text = _TWO_IN_ONE.sub(lambda match: " ".join(filter(None, match.groups())), text)
    return " ".join(_BRACKETS.get(word, word) for word in _WORD.findall(text))
