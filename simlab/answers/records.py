"""The model of every answer: frozen records that are written as JSON and read back as they were.

An answer derives from `Record`, or from `Rows` if it is one table; `serialise` returns what JSON holds, `read_record`
makes the record from it. JSON has neither NaN nor infinities: each kind of number says what its null means.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any, Generic, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    RootModel,
    ValidationError,
    ValidationInfo,
)

from simlab.messages import clip, show
from simlab.types import InputError

LARGEST = 1e15
"""No number of an answer that is read is larger in size."""
REMEDY = "keep the answer anew with --save"
"""End of the message on an answer that cannot be read."""


def _read_null_as(missing: float) -> BeforeValidator:
    # NaN is written as null, too, and is to be read as it was.
    return BeforeValidator(lambda value: missing if value is None or value != value else value)


def _refuse_huge(value: float, info: ValidationInfo) -> float:
    # What is computed is as it is; what a file holds goes onto a page.
    if info.mode == "json" and math.isfinite(value) and abs(value) > LARGEST:
        raise ValueError("must be a number of at most 15 digits")
    return value


def _refuse_unknown(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("must be a number")
    return value


_Bounded = AfterValidator(_refuse_huge)
Known = Annotated[float, AfterValidator(_refuse_unknown), _Bounded]
"""A number that is always known."""
Num = Annotated[float, _read_null_as(math.nan), _Bounded]
"""A number; null is what is not known (NaN)."""
Upper = Annotated[float, _read_null_as(math.inf), _Bounded]
"""An upper bound; null is none (+inf)."""
Lower = Annotated[float, _read_null_as(-math.inf), _Bounded]
"""A lower bound; null is none (-inf)."""
Count = Annotated[int, Field(ge=0, le=LARGEST)]
"""A whole number from 0."""


class Record(BaseModel):
    """Named values that nobody changes; each is of its type, or the record is refused."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        ser_json_inf_nan="null",
        serialize_by_alias=True,
        validate_by_name=True,
        validate_by_alias=True,
    )

    def __repr__(self) -> str:
        """Name the fields; of a table how many rows it has."""
        values = (getattr(self, name) for name in type(self).model_fields)
        texts = (f"<{len(value)} rows>" if isinstance(value, tuple) and value else repr(value) for value in values)
        named = (f"{name}={text}" for name, text in zip(type(self).model_fields, texts, strict=True))
        return f"{type(self).__name__}({', '.join(named)})"

    def _repr_html_(self) -> str | None:
        """Return the page of an answer, for notebooks; None for a part of one."""
        # By its name: records stand below what draws them.
        page: str | None = import_module("simlab.drawing.reports.answers").render_frame(self)
        return page

    @classmethod
    def build(cls, *values: Any, **named: Any) -> Self:
        """Return the record with these values of its first fields, in their order, and others by their names."""
        return cls(**dict(zip(cls.model_fields, values, strict=False)), **named)

    def replace_fields(self, **values: Any) -> Self:
        """Return the record with other values; they are checked as those of a new one are."""
        return type(self)(**{**{name: getattr(self, name) for name in type(self).model_fields}, **values})

    def serialise(self) -> dict[str, Any]:
        """Return the record as JSON holds it: mappings, lists, texts and numbers, null for what is not finite."""
        content: dict[str, Any] = json.loads(self.model_dump_json())
        return content

    def each_row(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the rows of every table of the record, each with the name of its table."""
        for name in type(self).model_fields:
            value = getattr(self, name)
            if isinstance(value, tuple) and value and isinstance(value[0], Record):
                yield from ((name, dict(row)) for row in value)


Row = TypeVar("Row", bound=Record)


def _refuse_empty(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    if not rows:
        raise ValueError("must have a row")
    return rows


class Rows(RootModel[Annotated[tuple[Row, ...], AfterValidator(_refuse_empty)]], Generic[Row]):
    """An answer that is one table: JSON has it as the list of its rows, of which there is one at least.

    A field of a row that was not set is left out.
    """

    model_config = ConfigDict(frozen=True, strict=True, ser_json_inf_nan="null")

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows."""
        return self.root

    def __repr__(self) -> str:
        """Name how many rows there are."""
        return f"{type(self).__name__}(<{len(self.root)} rows>)"

    def _repr_html_(self) -> str | None:
        """Return the page of an answer, for notebooks; None for a part of one."""
        # By its name: records stand below what draws them.
        page: str | None = import_module("simlab.drawing.reports.answers").render_frame(self)
        return page

    def serialise(self) -> list[dict[str, Any]]:
        """Return the rows as JSON holds them, null for what is not finite."""
        return [json.loads(row.model_dump_json(exclude_unset=True)) for row in self.root]

    def each_row(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the rows, each with no name of a table: there is one."""
        for row in self.root:
            yield "", {name: value for name, value in row if name in row.model_fields_set}


Read = TypeVar("Read", bound=BaseModel)


def read_record(
    model: type[Read], content: Any, where: str = "answer", others: Sequence[type[Read]] = (), remedy: str = REMEDY
) -> Read:
    """Return the record that JSON holds, of the first of `model` and `others` that `content`, the parsed JSON, fits.

    Raises InputError, in one line, for content that fits none: `where` (the name of the whole), the place of the first
    value that is not of its type in the model that fits best, the rule that it breaks, and the `remedy`.
    """
    failures = []
    # As JSON, in which a list is a tuple: strict records take none in Python.
    text = json.dumps(content)
    # An answer that has the names of one model is not tried as another, in which thousands of its rows would be wrong.
    named = [
        candidate
        for candidate in (model, *others)
        if isinstance(content, dict) and content.keys() == candidate.model_fields.keys()
    ]
    for candidate in named[:1] or (model, *others):
        try:
            return candidate.model_validate_json(text)
        except ValidationError as error:
            failures.append(error)
    best = min(failures, key=lambda error: error.error_count())
    first = best.errors(include_url=False, include_context=False)[0]
    raise InputError(f"{_path(where, first['loc'])}: {_reason(first)}; {remedy}")


def _path(where: str, parts: Sequence[int | str]) -> str:
    return where + "".join(f"[{part}]" if isinstance(part, int) else f".{clip(part, 60)}" for part in parts)


def _reason(error: Mapping[str, Any]) -> str:
    """State the rule that a value breaks, in the words of the other messages."""
    if error["type"] == "missing":
        return "is missing"
    if error["type"] == "extra_forbidden":
        return "is not a part of this answer"
    wanted = str(error["msg"]).removeprefix("Input ").removeprefix("Value error, ").replace("should be", "must be")
    return f"{_describe_briefly(error['input'])} {wanted[0].lower()}{wanted[1:]}"


def _describe_briefly(value: Any) -> str:
    """Write what fits in a line: of a list or an object, that it is one."""
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST:
        return "a number of many digits"
    return show(clip(value, 60) if isinstance(value, str) else value)
