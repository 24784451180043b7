"""Tell machines that judge from people by their names, and refuse a table that counts both as one sort."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from simlab.messages import legible, several
from simlab.types import InputError

PRODUCTS = re.compile(
    r"(chat)?gpt\d?|llama\d*|mistral|mixtral|qwen\d*|deepseek|gemini|vicuna|prometheus|pandalm|judgelm|gemba|grok|palm\d"
)
"""Beginnings of the names of models that judge; what is a first name of people, too, needs a digit beside it."""
FIRST_NAMES = re.compile(r"claude|gemma")
WORDS = frozenset(("llm", "llms", "ai", "bot", "machine", "auto", "automatic", "openai", "anthropic", "o1", "o3", "o4"))
"""Parts of names that say that no person judged."""
MOST_SHOWN = 3


def is_machine(name: str) -> bool:
    """True if the name of a judge is that of a model.

    >>> [is_machine(name) for name in ("gpt4_pair", "Claude-3.5 Sonnet", "LLM judge", "expert_0", "Claude", "Gemma B.")]
    [True, True, True, False, False, False]
    """
    parts = [part for part in re.split(r"[^a-z0-9]+", name.casefold()) if part]
    if any(part in WORDS or PRODUCTS.match(part) for part in parts):
        return True
    return any(letter.isdigit() for letter in name) and any(FIRST_NAMES.match(part) for part in parts)


def refuse_two_sorts(raters: Iterable[str], column: str, where: str) -> None:
    """Raise InputError where some of the raters who answered are machines and some are not."""
    names = list(raters)
    machines = [name for name in names if is_machine(name)]
    others = [name for name in names if not is_machine(name)]
    if not machines or not others:
        return
    apart, rest = _options(column, machines), _options(column, others)
    raise InputError(
        f"{where}: judges of two sorts, {several(len(machines), 'machine')} ({_shown(machines)}) and "
        f"{several(len(others), 'other')} ({_shown(others)}), and these are not one; read {apart}, or {rest}"
    )


def _options(column: str, names: Sequence[str]) -> str:
    """Return the options that read the answers of some raters alone."""
    said = " ".join(f"--where {_word(f'{column}={name}')}" for name in names[:MOST_SHOWN])
    return f"{said} and so on" if len(names) > MOST_SHOWN else said


def _word(text: str) -> str:
    return f"'{legible(text, 60)}'" if re.search(r"[^\w=.,:/-]", text) else legible(text, 60)


def _shown(names: Sequence[str]) -> str:
    return legible(", ".join(names[:MOST_SHOWN]) + (", ..." if len(names) > MOST_SHOWN else ""), 80)
