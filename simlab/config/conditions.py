"""Read the condition of a sweep file that selects cells of the grid: `only: documents * ratings_per_item <= 120`.

Call `read` on its text; `Condition.holds` takes the values of a cell and returns whether it is kept. Python's parser
reads the text, and only numbers, texts, names of axes, arithmetic, comparisons, `and`, `or` and `not` are allowed;
nothing is called or executed. The name `one_at_a_time` is true in cells that leave the first value on at most one axis.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from simlab.messages import shorten, show, suggest, word
from simlab.types import InputError

LONGEST = 1000
"""Most characters of a condition."""
DEEPEST = 50
"""Most parentheses, signs or `not` within each other."""
EXAMPLE = "documents * ratings_per_item <= 120"
"""Condition that messages show."""
ONE_AT_A_TIME = "one_at_a_time"
"""Name that is true in cells that vary at most one axis."""
_WORDS = {"true": True, "false": False, "null": None}
_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_EQUALITY: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {ast.Eq: operator.eq, ast.NotEq: operator.ne}
_ORDER: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_KNOWN = (ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Compare, ast.Name, ast.Attribute, ast.Constant)
_PARTS = (*_ARITHMETIC, *_EQUALITY, *_ORDER, ast.And, ast.Or, ast.Not, ast.USub, ast.Load)

Values = Mapping[str, Any]
"""Values of a cell by the name of an axis."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on the values of axes: its text and its tree."""

    text: str
    tree: ast.expr

    def holds(self, values: Values) -> bool:
        """True if a cell with these values (by axis) is kept; raise InputError where it cannot be evaluated."""
        try:
            kept = _evaluate(self.tree, values)
        except ArithmeticError as error:
            raise _refuse(f"cannot be worked out in the cell {_place(values)} ({error})") from error
        if not isinstance(kept, bool):
            raise _refuse(f"gives {show(kept)}, and a condition holds or does not; write a comparison, as {EXAMPLE}")
        return kept

    def check_names(self, axes: Mapping[str, Sequence[Any]]) -> None:
        """Raise InputError for a name that is no axis, and for a text that is no value of the axis it is held against.

        `axes[name]` are the values of an axis.
        """
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name | ast.Attribute) and not _inside_name(node, self.tree):
                name = _name(node)
                if name not in axes and name not in _WORDS:
                    raise _refuse(f"{show(name)} is no axis of this sweep; {suggest(name, axes)}")
            if isinstance(node, ast.Compare):
                _check_texts([node.left, *node.comparators], axes)


def read(key: str, value: Any) -> Condition:
    """Read the text of a condition, under `key` in errors; raise InputError for a text that is no condition."""
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{key} must be a condition on axes, such as `{key}: {EXAMPLE}`")
    text = " ".join(value.split())
    if len(text) > LONGEST:
        raise _refuse(f"is longer than {LONGEST:,} characters; write fewer comparisons")
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _refuse(f"`{shorten(text)}` cannot be read; write a condition such as {EXAMPLE}") from error
    for node in ast.walk(tree):
        _check_node(node)
    _check_depth(tree)
    return Condition(text, tree)


def narrow(only: Condition | None) -> Condition:
    """Return a condition that keeps those cells of another (None: all) which vary at most one axis."""
    if only is None:
        return read("only", ONE_AT_A_TIME)
    asks = any(isinstance(node, ast.Name) and node.id == ONE_AT_A_TIME for node in ast.walk(only.tree))
    return only if asks else read("only", f"{ONE_AT_A_TIME} and ({only.text})")


def _check_depth(tree: ast.expr) -> None:
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [below for node in level for below in ast.iter_child_nodes(node)]
    if level:
        raise _refuse(f"has more than {DEEPEST} parts within each other; write fewer")


def _check_node(node: ast.AST) -> None:
    if isinstance(node, ast.Constant) and not isinstance(node.value, bool | int | float | str | None):
        raise _refuse(f"{shorten(ast.unparse(node))} is no number and no text")
    operators = [*getattr(node, "ops", ()), *([node.op] if hasattr(node, "op") else [])]
    if not all(isinstance(part, (*_KNOWN, *_PARTS)) for part in (node, *operators)):
        text = shorten(ast.unparse(node)) if isinstance(node, ast.expr) else type(node).__name__
        raise _refuse(
            f"{text} is not part of a condition; it has names of axes, numbers, texts in quotes, + - * /, "
            "< <= == != >= >, and, or, not"
        )


def _refuse(text: str) -> InputError:
    return InputError(f"only: {text}")


def _name(node: ast.expr) -> str:
    """Write a name, or a full key with dots."""
    return ast.unparse(node)


def _inside_name(node: ast.expr, tree: ast.expr) -> bool:
    """True if a node is a part of a key with dots, not a name of its own."""
    return any(isinstance(outer, ast.Attribute) and outer.value is node for outer in ast.walk(tree))


def _check_texts(nodes: Sequence[ast.expr], axes: Mapping[str, Sequence[Any]]) -> None:
    """Refuse to compare an axis with a text that it does not have: the comparison would hold nowhere."""
    # The axis may stand on either side of a comparison.
    for left, right in (*pairwise(nodes), *pairwise(reversed(nodes))):
        if isinstance(left, ast.Name | ast.Attribute) and isinstance(right, ast.Constant):
            known = [word(value) for value in axes.get(_name(left), ())]
            if isinstance(right.value, str) and known and right.value not in known:
                raise _refuse(f"{_name(left)} is never {show(right.value)}; {suggest(right.value, known)}")


def _evaluate(node: ast.expr, values: Values) -> Any:
    match node:
        case ast.Constant():
            return node.value
        case ast.Name() | ast.Attribute():
            name = _name(node)
            return _WORDS[name] if name not in values and name in _WORDS else values[name]
        case ast.BoolOp():
            ends = isinstance(node.op, ast.Or)
            return ends if any(_truth(part, values) is ends for part in node.values) else not ends
        case ast.UnaryOp() if isinstance(node.op, ast.Not):
            return not _truth(node.operand, values)
        case ast.UnaryOp():
            return -_number(node.operand, values)
        case ast.BinOp():
            return _ARITHMETIC[type(node.op)](_number(node.left, values), _number(node.right, values))
        case ast.Compare():
            sides = [node.left, *node.comparators]
            return all(
                _compare(op, left, right, values) for op, left, right in zip(node.ops, sides, sides[1:], strict=False)
            )
    raise AssertionError(ast.dump(node))


def _compare(op: ast.cmpop, left: ast.expr, right: ast.expr, values: Values) -> bool:
    if type(op) in _EQUALITY:
        return _EQUALITY[type(op)](_evaluate(left, values), _evaluate(right, values))
    return _ORDER[type(op)](_number(left, values), _number(right, values))


def _truth(node: ast.expr, values: Values) -> bool:
    value = _evaluate(node, values)
    if not isinstance(value, bool):
        raise _refuse(f"{_name(node)} is {show(value)} in the cell {_place(values)}, neither true nor false")
    return value


def _number(node: ast.expr, values: Values) -> float:
    value = _evaluate(node, values)
    # In Python true is the number 1, and comparing it as such is a slip.
    if isinstance(value, bool) or not isinstance(value, int | float):
        more = "; ask `== null` first, with `or`" if value is None else ""
        raise _refuse(f"{_name(node)} is {show(value)} in the cell {_place(values)}, which is no number{more}")
    return value


def _place(values: Values) -> str:
    return ", ".join(f"{name}={show(value)}" for name, value in values.items() if "." not in name)
