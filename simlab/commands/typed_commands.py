"""Make commands of the command line from the typed functions that notebooks call.

`verb` makes the function for notebooks, `add` the command: both from one function that takes typed options and returns
a record, which `label` turns into what notebooks get, and `write` into text (`Launched`). Such a function is declared
once: its annotations say how the command line names its options, `**told: Unpack[TableOptions]` stands for the options
of a group, and its docstring, up to what it returns, is the help.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from types import SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    ParamSpec,
    TypeVar,
    Union,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
)

import typer

from simlab.commands.errors import UsageError
from simlab.commands.exit_codes import DONE, NOTHING, RESERVED
from simlab.commands.flags import DEFAULTS, FIGURES, FigureStyle, FigureWidth, Form, Format, Save
from simlab.commands.notes import note, silence_notes
from simlab.messages import clip, show, suggest
from simlab.types import InputError

LINE: ContextVar[str] = ContextVar("line", default="simlab")
"""Command line that is being answered; saved answers name it."""
ENDS_HELP = ("Returns", ">>>", "Warns", "Raises")
"""First words of the paragraphs of a docstring that the help of the command line leaves out."""

Asked = ParamSpec("Asked")
Found = TypeVar("Found")
Labelled = TypeVar("Labelled")
Given = Mapping[str, Any]
"""Options of a command, by name."""


class Launched(NamedTuple):
    """Answer of a command for stdout, the notes that belong below it, on stderr, and the exit code."""

    text: str
    notes: Sequence[str] = ()
    code: int = DONE


def verb(label: Callable[[Found], Labelled]) -> Callable[[Callable[Asked, Found]], Callable[Asked, Labelled]]:
    """Make the verb of notebooks of a function: nothing is printed, what a user can mend is raised as InputError.

    `label` turns the function's record into what notebooks get, and warns of doubts on it. An argument `progress` lets
    notes and bars be seen. The function itself stays below `__wrapped__`, for the command line.
    """

    def make_verb(function: Callable[Asked, Found]) -> Callable[Asked, Labelled]:
        @functools.wraps(function)
        def call_verb(*args: Asked.args, **given: Asked.kwargs) -> Labelled:
            bound = inspect.signature(function).bind(*args, **given).arguments
            _refuse_wrong({**bound, **bound.get("told", {})}, parameters)
            with explain_file_errors(), silence_notes(not given.get("progress")):
                return label(function(*args, **given))

        parameters = list(lay_flat(function))
        plain = [parameter.replace(annotation=_strip_option(parameter.annotation)) for parameter in parameters]
        returned = inspect.signature(label).return_annotation
        call_verb.__signature__ = inspect.Signature(plain, return_annotation=returned)  # type: ignore[attr-defined]
        return call_verb

    return make_verb


def lay_flat(function: Callable[..., Any]) -> Iterator[inspect.Parameter]:
    """Yield the parameters of a function; those of a group, `**told: Unpack[...]`, one by one in its place."""
    function = inspect.unwrap(function)
    parameters = inspect.signature(function).parameters
    # Not what a verb returns, too: that is imported only when the verb is called.
    own = SimpleNamespace(__annotations__={name: parameter.annotation for name, parameter in parameters.items()})
    annotations = get_type_hints(own, function.__globals__, include_extras=True)
    for name, parameter in parameters.items():
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD or get_origin(annotations[name]) is not Unpack:
            yield parameter.replace(annotation=annotations[name])
            continue
        yield from _list_options(get_args(annotations[name])[0])


def _list_options(group: type[Any]) -> Iterator[inspect.Parameter]:
    """Yield the options of a group as parameters."""
    for option, hint in get_type_hints(group, include_extras=True).items():
        default = DEFAULTS.get(option)
        yield inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def add(
    app: typer.Typer,
    function: Callable[..., Any],
    write: Callable[[Any, Form, Given], Launched],
    *,
    example: str = "",
    name: str | None = None,
    forms: bool = True,
    fill: Callable[[Sequence[Any], Given], Given] | None = None,
    instead: type[Any] | None = None,
) -> None:
    """Add a verb to the command line; `write(record, form, options)` turns its record into the answer of a form.

    Without `forms` there is one form only, and nothing that could be kept. `fill(words, options)` returns the options
    with defaults that only the command line has, such as the file of a figure. The options of the group `instead` are
    those of `write` only, which gets all options.
    """
    parameters = list(lay_flat(function))
    figures = [
        parameter.name for parameter in parameters if FIGURES in getattr(parameter.annotation, "__metadata__", ())
    ]
    progress = {"progress": True} if any(parameter.name == "progress" for parameter in parameters) else {}
    carry_out = inspect.unwrap(function)
    own = [parameter for parameter in parameters if parameter.kind is not inspect.Parameter.VAR_KEYWORD]
    taken = {parameter.name for parameter in own}
    more = [] if instead is None else list(_list_options(instead))

    def answer_words(*words: Any, answer_form: Form = "table", save: Path | None = None, **given: Any) -> None:
        keep = _prepare_saving(save)
        given |= {"save": save}
        to = next(iter(figures), "")
        with (
            _style_figure(given.get(to), f"--{to}", given.pop("style"), given.pop("width"))
            if figures
            else nullcontext()
        ):
            given = dict(fill(words, given)) if fill else given
            answer = carry_out(*words, **{name: given[name] for name in given if name in taken}, **progress)
        launched = write(answer, answer_form, given)
        if keep and launched.code != NOTHING:
            from simlab.commands import saved_answers

            unkept = saved_answers.keep_answer(
                keep, launched.text if answer_form == "json" else write(answer, "json", given).text
            )
            code = launched.code or (RESERVED if unkept else DONE)
            launched = launched._replace(notes=[*launched.notes, *unkept], code=code)
        end(launched)

    shared: dict[str, tuple[Any, Any]] = {"answer_form": (Format, "table"), "save": (Save, None)} if forms else {}
    shared |= {"style": (FigureStyle, "screen"), "width": (FigureWidth, None)} if figures else {}
    more += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in shared.items()
    ]
    _add_command(app, answer_words, [*own, *more], inspect.getdoc(carry_out) or "", name or carry_out.__name__, example)


def _add_command(
    app: typer.Typer,
    answer: Callable[..., None],
    parameters: Sequence[inspect.Parameter],
    text: str,
    name: str,
    example: str,
) -> None:
    """Add a function to the command line, its options of the types that can be typed."""
    several = [parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.VAR_POSITIONAL]
    typed = [_type_for_words(parameter) for parameter in parameters if parameter.name not in ("progress", "more")]
    names = [parameter.name for parameter in typed]

    def call_with_words(**given: Any) -> None:
        # What stands before several words is given by its place, as they are.
        first = [given.pop(name) for name in names[: names.index(several[0])]] if several else []
        words = given.pop(several[0]) or () if several else ()
        answer(*first, *words, **given)

    call_with_words.__signature__ = inspect.Signature(typed)  # type: ignore[attr-defined]
    call_with_words.__annotations__ = {parameter.name: parameter.annotation for parameter in typed}
    call_with_words.__doc__ = _write_help(text)
    app.command(name.replace("_", "-"), epilog=f"Example: {example}" if example else None)(call_with_words)


def end(launched: Launched) -> None:
    """Write an answer, then the notes below it: whoever reads both streams reads them in this order."""
    if launched.text:
        print(launched.text, flush=True)
    for line in launched.notes:
        note(line)
    if launched.code:
        raise typer.Exit(launched.code)


@contextmanager
def _style_figure(file: Path | None, option: str, style: str, width: str | None) -> Iterator[None]:
    """Set the style and width of the figure drawn inside, then note its captions.

    Raises UsageError where these are given and no file is.
    """
    if file is None and (style != "screen" or width is not None):
        raise UsageError(
            f"--style and --width are of a figure, and none is drawn; add {option} FILE, or leave them out"
        )
    if file is None:
        yield
        return
    from simlab.drawing.figures.page_style import figure_style, look

    with figure_style(look(style, width)) as captions:
        yield
        for text in dict.fromkeys(captions):
            note(f"caption of {clip(file)}: {text}")


def _prepare_saving(save: Path | None) -> Callable[[str], None] | None:
    """Return the function that keeps an answer, given as JSON, in a file; raise InputError where it could not."""
    if save is None:
        return None
    from simlab.commands import saved_answers

    saved_answers.check(save)
    return lambda text: saved_answers.keep(save, LINE.get(), text)


@contextmanager
def explain_file_errors() -> Iterator[None]:
    """Raise an OSError that names a file as an InputError with the file and the reason."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            raise
        raise InputError(f"{error.filename}: {(error.strerror or type(error).__name__).lower()}") from error


def _refuse_wrong(given: Given, parameters: Sequence[inspect.Parameter]) -> None:
    """Raise InputError for a value that is none of a parameter's choices, no whole number, or one too small."""
    for parameter in parameters:
        value, kinds = given.get(parameter.name), _list_kinds(parameter.annotation)
        if value is None:
            continue
        choices = [choice for kind in kinds if get_origin(kind) is Literal for choice in get_args(kind)]
        if choices and not (isinstance(value, str) and value in choices):
            raise InputError(f"{parameter.name}={show(value)} is unknown; {suggest(str(value), choices)}")
        # Numbers of numpy are whole numbers, too; True is none.
        whole = hasattr(value, "__index__") and not isinstance(value, bool)
        least = next(
            (mark.min for mark in getattr(parameter.annotation, "__metadata__", ()) if hasattr(mark, "min")), None
        )
        if int in kinds and not {str, float} & {*kinds} and not (whole and (least is None or value >= least)):
            bound = "" if least is None else f" >= {least:g}"
            raise InputError(f"{parameter.name}={show(value)} must be a whole number{bound}")


def _list_kinds(annotation: Any) -> list[Any]:
    """List the types of a union without None, or the one that there is."""
    kind = _strip_option(annotation)
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    return [each for each in kinds if each is not type(None)]


def _strip_option(annotation: Any) -> Any:
    """Return the type of an annotation, without the marks for the command line."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _type_for_words(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter as it is typed: a path where one may be given, else a text where that is one of its types."""
    kind, *marks = (
        get_args(parameter.annotation) if get_origin(parameter.annotation) is Annotated else (parameter.annotation,)
    )
    if get_origin(kind) in (Union, UnionType):
        kinds = _list_kinds(kind)
        lists = [each for each in kinds if get_origin(each) is Sequence]
        paths = [each for each in kinds if get_origin(each) is os.PathLike]
        chosen = Path if paths else str if str in kinds else list[str] if lists else kinds[0]
        kind = chosen | None if type(None) in get_args(kind) else chosen
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        kind = list[kind] | None  # type: ignore[valid-type]
        parameter = parameter.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
    return parameter.replace(annotation=Annotated[(kind, *(each for each in marks if each is not FIGURES))])


def _write_help(text: str) -> str:
    return "\n\n".join(passage for passage in text.split("\n\n") if not passage.startswith(ENDS_HELP))
