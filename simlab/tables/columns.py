"""Find the columns of a table, by usual names or as the user says, and choose the rows that are read.

Keys of `NAMES`, such as `system` and `rater`, are our names of columns ("ours"); "theirs" are those of the file.
`find_columns` returns the place of each, `parse_columns` and `parse_where` read the options `--columns` and `--where`,
`chosen_rows` keeps the rows of the latter, and `place_of` reads who won from a word such as `A>>B` or `tie`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from simlab.files import read_decimal
from simlab.messages import clip, find_nearest, suggest
from simlab.tables.numbers import ANSWERS, is_missing
from simlab.types import InputError

_PEOPLE = (
    *("rater", "annotator", "worker", "evaluator", "participant", "assessor", "labeler", "labeller", "coder"),
    *("reviewer", "grader", "respondent", "crowdworker", "user"),
)
RATED = (
    *("system", "document", "segment", "position", "rater", "category", "severity", "score", "errors", "minor"),
    *("major", "seconds", "start", "end", "metadata", "run"),
)
MAY_SCORE = frozenset(("judge", "grader", "reviewer"))
"""Columns that hold names of raters in some tables and scores in others; their cells decide."""
_NUMBERED = ("turn", "round", "fold", "split", "index", "order", "position", "seconds", "time", "date", "timestamp")
VERDICTS = ("verdict", "choice", "label", "vote", "decision", "judgment", "judgement", "outcome", "result")
"""Columns that may say who won a comparison: their cells may mean anything, so that these are read or named by them."""
_FORMS = (
    ({"system", "system_a"}, {"score", "severity", "category", "winner", "a_wins", "human"}),
    ({"pair"}, {"winner", "a_wins", "human"}),
    ({"system_a"}, {"system_b"}),
    ({"original"}, {"corrupted"}),
    ({"slot"}, {"rating", "score"}),
    ({"system", "score"}, {"segment", "document"}),
    ({"system"}, {"segment", "document"}),
)
"""A header has one column of each set."""
_SHOWN = {"globalsegid": "globalSegId", "docsegid": "docSegId"}
Where: TypeAlias = tuple[tuple[str, str], ...]
Rows: TypeAlias = Iterable[tuple[int, list[str]]]
COPIES = "rows that are copies of others, which count once"
MOST_SHOWN = 200
"""Most values of a column that are kept, to suggest one near to a mistyped value."""
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
"""Words for a place, or a tie; `both` and `neither` are ties, and a clear win is a win."""
SHARES = {"1": FIRST, "1.0": FIRST, ".5": TIE, "0.5": TIE, "0": SECOND, "0.0": SECOND}
"""Numbers as verdicts: the share of the win that goes to the first."""
BRACKETED = {**WORDS, "c": TIE}
"""Words within double brackets, as in verdicts of FastChat's judges, where C is a tie."""
EMPHATIC = "A>>B counts as a win, as A>B does"


class Names(NamedTuple):
    """The usual names of a column, and rare ones, which count where no column has a usual name; the likeliest first.

    All are in lower case, with underscores between words.
    """

    usual: tuple[str, ...]
    rare: tuple[str, ...] = ()


_ITEM = Names(
    (
        *("seg_id", "segment", "item", "item_id", "segment_id", "question_id", "prompt_id", "instruction_id"),
        *("instance_id", "example_id", "seg"),
    ),
    ("question", "prompt", "instruction", "task_id", "task"),
)


NAMES: Mapping[str, Names] = {
    "system": Names(
        ("system", "model", "system_id"),
        (*("model_id", "model_name", "model_name_or_path", "generator"), *("system_name", "systemid", "modelid")),
    ),
    "document": Names(
        ("doc", "document", "document_id"), ("doc_id", "docid", "documentid", "doc_name", "document_name")
    ),
    "segment": Names(("globalsegid", *_ITEM.usual), _ITEM.rare),
    "item": _ITEM,
    "position": Names(("docsegid", "doc_id")),
    "rater": Names(
        (
            *("rater", "annotator", "worker", "login", "rater_id", "annotator_id", "worker_id", "judge_id"),
            *("raterid", "annotatorid", "workerid"),
        ),
        (
            *("evaluator", "participant", "evaluator_id", "participant_id", "assessor", "user_id", "user", "judge"),
            *(f"{who}{end}" for who in _PEOPLE for end in ("_id", "", "_name")),
        ),
    ),
    "category": Names(("category",)),
    "severity": Names(("severity",)),
    "score": Names(("score", "rating"), ("resolved", "passed", "correct", "success", "acc")),
    "errors": Names(("errors",)),
    "minor": Names(("minor",)),
    "major": Names(("major",)),
    "seconds": Names(("seconds",)),
    "start": Names(("start",)),
    "end": Names(("end",)),
    "metadata": Names(("metadata",)),
    "run": Names(("run", "run_id", "trial", "attempt", "repetition", "replicate", "seed", "epoch")),
    "system_a": Names(("system_a", "model_a", "system_1", "system1", "model_1", "model1", "generator_1")),
    "system_b": Names(("system_b", "model_b", "system_2", "system2", "model_2", "model2", "generator_2")),
    "pair": Names(("pair",)),
    "winner": Names(("winner", "preference", "preferred")),
    "a_wins": Names(("a_wins", "wins_a")),
    "b_wins": Names(("b_wins", "wins_b")),
    "ties": Names(("ties", "draws")),
    "person": Names(("person", "people"), ("who", "name")),
    "hours": Names(("hours",)),
    "cap": Names(("cap", "most", "most_ratings")),
    "source": Names(("source", "src"), ("input",)),
    "output": Names(("output", "target", "tgt", "translation", "hypothesis")),
    "control": Names(("control",), ("expected",)),
    "slot": Names(("slot", "code")),
    "rating": Names(("rating", "score")),
}
"""The one list of columns that are read, under our names; `segment` is what `item` is, in tables of ratings.

`docSegId`, and `doc_id` beside a document, are the place of a segment in its document; `globalSegId` and `seg_id` are
free to be a constant or to start again in each document, so a segment is known by all of them together. The rare names
are those of benchmarks and arenas (FastChat, alpaca_eval, arena-hard-auto, SWE-bench, lm-evaluation-harness).
"""


USUAL: Mapping[str, tuple[str, ...]] = {key: NAMES[key].usual + NAMES[key].rare for key in RATED}
"""Names of the columns of ratings; the first that a table has is taken."""


BESIDE_WIDE = frozenset((*NAMES["system"].usual, *NAMES["system"].rare, *NAMES["score"].usual))
"""Columns that a table with one for each system does not have."""


NO_METRICS = frozenset((*_NUMBERED, "tstamp", *NAMES["run"].usual))
"""Columns of numbers that count or number something and score nothing, in lower case with underscores."""


def aliases(*keys: str) -> dict[str, Names]:
    """Return the names of some columns, for `cells.rename`."""
    return {key: NAMES[key] for key in keys}


def list_rater_names() -> Names:
    """Return the names of the column that names raters in a list of them, where `name` can mean nothing else."""
    person, rater = NAMES["person"], NAMES["rater"]
    return Names(rater.usual, (*person.usual, *person.rare, *rater.rare))


def fold_name(name: str) -> str:
    """Write the name of a column in lower case, with underscores between words.

    >>> fold_name("Model Name"), fold_name(" question-id")
    ('model_name', 'question_id')
    """
    return "_".join(name.strip().lower().replace("-", " ").split())


def name_a_table(names: Sequence[str], overrides: Mapping[str, str]) -> bool:
    """True if names are the header of a table, not a title above it: columns that are read, or that the user names."""
    there = {fold_name(name) for name in names}
    ours = {key for key, known in NAMES.items() if there & {*known.usual, *known.rare}} | there
    ours |= {key for key, theirs in overrides.items() if fold_name(theirs) in there}
    ours |= {"human"} if any(name.startswith("human_") for name in there) else set()
    return len(names) > 1 and any(ours & first and ours & second for first, second in _FORMS)


def naming_people(names: Sequence[str], rows: Sequence[Sequence[str]]) -> set[str]:
    """Return the names of columns whose cells in the first `rows` may be people: not scores, and not verdicts.

    A column `judge` names who decided in FastChat's and the arenas' files, and holds a metric's scores in others.
    """
    people = set()
    for k, name in enumerate(names):
        cells = [(row[k], row) for row in rows if k < len(row) and not is_missing(row[k])]
        numbers = all(
            read_decimal(cell.replace(",", ".", 1)) is not None or cell.lower() in ANSWERS for cell, _ in cells
        )
        verdicts = all(place_of(cell) >= 0 or row.count(cell) > 1 for cell, row in cells)
        constant = len({cell for cell, _ in cells}) == 1 and not any(place_of(cell) >= 0 for cell, _ in cells)
        if cells and not numbers and (constant or not verdicts):
            people.add(name)
    return people


def parse_columns(text: str | None) -> dict[str, str]:
    """Read `ours=theirs,...`, the option `--columns`, as a dict from our names to theirs.

    >>> parse_columns("score=fluency, rater=who")
    {'score': 'fluency', 'rater': 'who'}

    Raises InputError for other texts, and for a column that is named twice.
    """
    named: dict[str, str] = {}
    for part in (text or "").split(",") if text is not None else ():
        ours, sign, theirs = (piece.strip() for piece in part.partition("="))
        if not (ours and sign and theirs):
            raise InputError(f"--columns {clip(part.strip(), 60)}: write OURS=THEIRS, such as score=fluency")
        if ours.lower() in named:
            raise InputError(f"--columns {clip(ours, 40)}: is named twice; name each column once")
        named[ours.lower()] = theirs
    return named


def parse_names(text: str | None) -> tuple[str, ...]:
    """Read names of columns, separated by commas.

    >>> parse_names("gpt, llama")
    ('gpt', 'llama')
    """
    return tuple(name for part in (text or "").split(",") if (name := part.strip()))


def find_columns(
    names: Sequence[str], overrides: Mapping[str, str], where: str, rows: Sequence[Sequence[str]] = ()
) -> dict[str, int]:
    """Return the place of each column that is read, by the keys of USUAL; `rows` are the first cells below.

    `names` is the header, `overrides` maps our names to its own. Raises InputError for a name of `overrides` that is
    not there, and for a column that is there twice.
    """
    alike = [fold_name(name) for name in names]
    chosen = {_find_key(ours): _find_place(ours, theirs, names, where) for ours, theirs in overrides.items()}
    taken = set(chosen.values())
    people = {fold_name(name) for name in naming_people(names, rows)} if MAY_SCORE & {*alike} else set()
    for key, usual in USUAL.items():
        there = (name for name in usual if name in alike and alike.index(name) not in taken)
        at = next((name for name in there if name not in MAY_SCORE or name in people), None)
        # Beside documents `task` names a benchmark, of which these are the items: it is no segment of theirs.
        if key == "segment" and at == "task" and "document" in chosen:
            continue
        if key not in chosen and at is not None:
            if alike.count(at) > 1:
                raise InputError(f"{where}: column {_SHOWN.get(at, at)} appears twice; rename one")
            chosen[key] = alike.index(at)
            taken.add(chosen[key])
    if "segment" not in chosen and "position" in chosen:
        chosen["segment"] = chosen.pop("position")
    if "task" in alike and "document" in chosen and alike[chosen["document"]] == "doc_id":
        # Benchmarks number the items of each task from 0.
        chosen["task"] = alike.index("task")
    return chosen


def _find_key(word: str) -> str:
    for key, usual in USUAL.items():
        if word == key or fold_name(word) in usual:
            return key
    raise InputError(f"--columns {clip(word, 40)}: is no column of ratings; {suggest(word, USUAL)}")


def _find_place(ours: str, theirs: str, names: Sequence[str], where: str) -> int:
    return column_place(theirs, names, where, f"--columns {clip(f'{ours}={theirs}', 80)}")


def column_place(theirs: str, names: Sequence[str], where: str, option: str) -> int:
    """Return the place of a column that an option names; raise InputError where it is not there, or twice."""
    exact = [k for k, name in enumerate(names) if name == theirs]
    at = exact or [k for k, name in enumerate(names) if fold_name(name) == fold_name(theirs)]
    if not at:
        raise InputError(f"{option}: {where} has no such column; {suggest(theirs, names, 'it has', 200)}")
    if len(at) > 1:
        raise InputError(f"{where}: column {clip(theirs, 40)} appears twice; rename one")
    return at[0]


def require(wanted: Iterable[str], columns: Mapping[str, int], names: Sequence[str], where: str) -> None:
    """Raise InputError naming the columns that a table lacks, those it has, and the nearest of them."""
    lacking = [key for key in wanted if key not in columns]
    if not lacking:
        return
    usual = ", no column ".join(" or ".join(_SHOWN.get(name, name) for name in NAMES[key].usual[:5]) for key in lacking)
    there = ", ".join(clip(name, 40) for name in names[:12]) + (", ..." if len(names) > 12 else "")
    close = (find_nearest(name, [name for name in names if name]) for key in lacking for name in USUAL[key])
    hints = list(dict.fromkeys(clip(name, 40) for name in close if name))
    hint = f"; did you mean {', '.join(hints)}?" if hints else ""
    advice = f"; or say which is meant: --columns {lacking[0]}=NAME" if len(names) > 1 else ""
    alone = "; columns are set apart by tabs, commas or semicolons" if len(names) == 1 else ""
    raise InputError(f"{where}: no column {usual}; found {there or 'an empty line'}{hint}{advice}{alone}")


class LeftOutRatings(NamedTuple):
    """Number of ratings, or comparisons, of a table that were left out, and the reason."""

    ratings: int
    why: str


def parse_where(words: Sequence[str] | None) -> Where:
    """Read each `COLUMN=VALUE`, the option `--where`, as a pair.

    >>> parse_where(["aspect=fluency", "turn = 1"])
    (('aspect', 'fluency'), ('turn', '1'))

    Raises InputError for other texts.
    """
    parsed = []
    for word in words or ():
        column, sign, value = (part.strip() for part in word.partition("="))
        if not (column and sign):
            raise InputError(f"--where {clip(word, 60)}: write COLUMN=VALUE, such as aspect=fluency")
        parsed.append((column, value))
    return tuple(dict.fromkeys(parsed))


def values_by_column(where: Where) -> dict[str, list[str]]:
    """Group the values that are asked for by their columns.

    >>> values_by_column((("aspect", "fluency"), ("turn", "1"), ("turn", "2")))
    {'aspect': ['fluency'], 'turn': ['1', '2']}
    """
    grouped: dict[str, list[str]] = {}
    for column, value in where:
        grouped.setdefault(column, []).append(value)
    return grouped


def phrase(where: Where) -> str:
    """State which rows are read, as a part of a sentence; empty where all are.

    >>> phrase((("aspect", "fluency"), ("turn", "1"), ("turn", "2")))
    'aspect=fluency, turn=1 or 2'
    """
    grouped = values_by_column(where).items()
    return ", ".join(f"{clip(column, 40)}={clip(' or '.join(values), 80)}" for column, values in grouped)


def skip_lines(rows: Rows, skip: Sequence[int]) -> Rows:
    """Return the rows except those on the lines `skip`."""
    gone = frozenset(skip)
    return ((line, row) for line, row in rows if line not in gone) if gone else rows


def drop_chosen(columns: Sequence[str], where: Where) -> tuple[str, ...]:
    """Return the columns without those by which rows were chosen."""
    chosen = {column.casefold() for column, _ in where}
    return tuple(name for name in columns if name.casefold() not in chosen)


def chosen_rows(rows: Rows, names: Sequence[str], where: Where, file: str) -> Iterator[tuple[int, list[str]]]:
    """Keep the rows that have one of the values asked for in each column that is named; capitals do not matter.

    Raises InputError for a column that is not there, and, once all rows are read, for a value that none of them has
    and where no row has all of them.
    """
    if not where:
        yield from rows
        return
    wanted = _place_values(names, where, file)
    met: dict[int, dict[str, str]] = {at: {} for at in wanted}
    none, kept = True, False
    for line, cells in rows:
        keep, none = True, False
        for at, values in wanted.items():
            cell = cells[at].strip() if at < len(cells) else ""
            folded = cell.casefold()
            if folded in values or len(met[at]) < MOST_SHOWN:
                met[at].setdefault(folded, cell)
            keep = keep and folded in values
        if keep:
            kept = True
            yield line, cells
    if none:
        return  # a table without rows is refused by its reader, which says so
    _refuse_unmet(wanted, met, names, file)
    if not kept:
        raise InputError(f"--where {phrase(where)}: {file} has no row with all of these; leave one out")


def _place_values(names: Sequence[str], where: Where, file: str) -> dict[int, dict[str, str]]:
    """Return the place of each column that is named, and the values asked for in it, as typed, by their folded form."""
    wanted: dict[int, dict[str, str]] = {}
    folded = [name.casefold() for name in names]
    for column, value in where:
        if column not in names and column.casefold() not in folded:
            hint = suggest(column, [name for name in names if name], "it has", 200)
            raise InputError(f"--where {clip(f'{column}={value}', 60)}: {file} has no column {column}; {hint}")
        at = list(names).index(column) if column in names else folded.index(column.casefold())
        wanted.setdefault(at, {})[value.casefold()] = value
    return wanted


def _refuse_unmet(
    wanted: Mapping[int, Mapping[str, str]], met: Mapping[int, Mapping[str, str]], names: Sequence[str], file: str
) -> None:
    for at, values in wanted.items():
        for folded, value in values.items():
            if folded not in met[at]:
                hint = suggest(value, [cell for cell in met[at].values() if cell], "it has", 200)
                condition = clip(f"{names[at]}={value}", 60)
                raise InputError(f"--where {condition}: no row of {file} has it; {hint}")


def is_emphatic(text: str) -> bool:
    """True for a verdict that one is much better, such as `A>>B`."""
    return ">>" in text or "<<" in text


def place_of(text: str) -> int:
    """Return who won by a word: the first of the row (0), nobody (1: a tie), the second (2); -1: it names no place.

    >>> place_of("A>>B"), place_of("[[C]]"), place_of("tie"), place_of("C")
    (0, 1, 1, -1)
    """
    word = " ".join(text.lower().split())
    if word.startswith("[[") and word.endswith("]]"):
        return BRACKETED.get(word[2:-2].replace(" ", ""), -1)
    return WORDS.get(word.replace(" ", ""), -1) if ">" in word or "<" in word or "=" in word else WORDS.get(word, -1)
