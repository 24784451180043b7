"""Errors: a user's mistake, a design that could not be carried out, a value that cannot be."""

from __future__ import annotations


class InputError(ValueError):
    """Report what a user can mend, in one line: where, which value, which rule, what to do."""


class DesignFailure(RuntimeError):
    """Report a replicate whose design could not be carried out; it is stored, not raised to the user."""


class ImpossibleValue(DesignFailure):
    """Report a replicate that gave, or was given, a value that cannot be; it is stored as any other that failed."""
