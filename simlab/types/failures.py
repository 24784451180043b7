"""Exceptions of simlab: `InputError`, a user's mistake; `DesignFailure` and `ImpossibleValue`, of one replicate."""

from __future__ import annotations


class InputError(ValueError):
    """Report a mistake that a user can mend, in one line: where, which value, which rule, what to do."""


class DesignFailure(RuntimeError):
    """Report a replicate whose design could not be carried out; it is stored, not raised to the user."""


class ImpossibleValue(DesignFailure):
    """Report a replicate with an impossible value in it; it is stored, as any other that failed."""
