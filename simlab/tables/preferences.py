"""Read tables of preferences: which of two systems' outputs humans, and metrics, find better, row by row or counted.

Call `read` with the file, which returns `Preferences`, one entry per comparison.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from simlab.messages import clip, pluralise
from simlab.tables import pairs
from simlab.tables.cells import CellTable, check_systems, list_left_out, load_answers, merge_names, open_cells, rename
from simlab.tables.columns import TIE, VERDICTS, LeftOutRatings, Where, aliases, drop_chosen, fold_name, place_of
from simlab.tables.names import Numbers, doubtful_names, refuse_alike, refuse_lists
from simlab.tables.pairs import drop_copies
from simlab.tables.people import people, refuse_people_and_machines
from simlab.tables.rating_table import NOTHING, ColumnOverrides
from simlab.tables.table_summary import describe_rows, record_where
from simlab.tables.winners import WinnerComparisons, has_places, outputs
from simlab.types import Floats, InputError, Ints

FORM = (
    "preferences (item, system_a and system_b or pair, and winner or human: a name, a, b or tie; or counts in a_wins, "
    "ties and b_wins)"
)
USUAL = aliases("system_a", "system_b", "pair", "item", "document", "rater", "winner", "a_wins", "b_wins", "ties")


@dataclass(frozen=True, slots=True)
class Preferences:
    """Comparisons by humans, flat: one entry each, in the order of the table; and the metrics' scores of outputs.

    `first[k]`, `second[k]` are the two systems as the table has them, `outcome[k]` is 0 where the first is better, 1
    for a tie, 2 where the second is better. `item[k]` is the input, -1 where the table names none; `rater[k]` is who
    compared, -1 where the table does not say. `metrics[name]` holds a metric's comparisons in the same way; `line[k]`
    is where in the table each stands. `rows` were read, `gaps` of their human outcomes are missing. `notes` are
    sentences on what was left out or taken for granted. `counted`: the table counts outcomes, so that comparisons have
    no order. `where` are the values of columns by which rows were chosen, `left_out` counts what does not count.
    `remarks` are sentences for the report on how cells were read, `unused` are the columns that are not read.
    `document[item]` is the document of an item, empty where the table names none. `by_place`: winners are written as
    places in the row, not as names or numbers, so that the order of the two systems tells something. `rater_column` is
    what the table calls the column of raters, `how` says how the table was read, as a record.
    """

    first: Ints
    second: Ints
    item: Ints
    rater: Ints
    outcome: Ints
    line: Ints
    system_names: tuple[str, ...]
    item_names: tuple[str, ...]
    rater_names: tuple[str, ...]
    metrics: Mapping[str, WinnerComparisons]
    rows: int
    gaps: int
    notes: tuple[str, ...] = ()
    counted: bool = False
    where: Where = ()
    remarks: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    document: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    document_names: tuple[str, ...] = ()
    by_place: bool = False
    rater_column: str = "rater"
    left_out: tuple[LeftOutRatings, ...] = ()
    how: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_systems(self) -> int:
        """Count the systems."""
        return len(self.system_names)

    @property
    def n_raters(self) -> int:
        """Count the raters that are named."""
        return len(self.rater_names)

    @property
    def rater_known(self) -> bool:
        """True if the table names raters."""
        return bool(self.rater_names)

    @property
    def item_known(self) -> bool:
        """True if the table names items."""
        return bool(self.item_names)

    @property
    def document_known(self) -> bool:
        """True if the table has several documents, which are then the unit of sampling."""
        return len(self.document_names) > 1

    def counts(self) -> Floats:
        """Count human outcomes `[i, j, outcome]` of systems i < j, turned round where the table has j first."""
        counts = np.zeros((self.n_systems, self.n_systems, 3))
        turned = self.first > self.second
        low, high = np.minimum(self.first, self.second), np.maximum(self.first, self.second)
        np.add.at(counts, (low, high, np.where(turned, 2 - self.outcome, self.outcome)), 1)
        return counts


def read(path: Path, overrides: ColumnOverrides = NOTHING, metrics: Sequence[str] | None = None) -> Preferences:
    """Read a table of preferences; `metrics` are those to be read (empty: every one; None: no metric).

    Raises InputError naming file, line and value for rows that are no preferences or contradict each other, and for
    options that do not fit the table.
    """
    theirs = load_answers(path, FORM, overrides)
    table = rename(theirs, USUAL, overrides.columns)
    if not holds(table.header):
        raise InputError(f"{table.where}: has no columns of {FORM}; name them with --columns ours=yours,...")
    preferences = read_table(table, metrics, overrides)
    return (
        replace(preferences, rater_column=theirs.header[table.column("rater")])
        if "rater" in table.header
        else preferences
    )


def refuse_two_sorts(preferences: Preferences, where: str) -> None:
    """Raise InputError where some of the raters are machines and some are people."""
    there = np.unique(preferences.rater[preferences.rater >= 0]).tolist()
    refuse_people_and_machines([preferences.rater_names[k] for k in there], preferences.rater_column, where)


def _find_winner(table: CellTable) -> tuple[CellTable, list[str]]:
    """Find the column that says who won where none has its usual name: two games, or verdicts that mean one thing.

    Raises InputError, naming the column that may be meant, where there is none.
    """
    if pairs.has_winner(table.header):
        return table, []
    alike = [fold_name(name) for name in table.header]
    if {"g1_winner", "g2_winner"} <= set(alike):
        first_game, second_game = alike.index("g1_winner"), alike.index("g2_winner")
        rows = ((line, [*cells, _join_games(cells[first_game], cells[second_game])]) for line, cells in table.rows)
        note = "each pair was judged in both orders: a win is what both games say, else the pair is tied"
        return replace(table, header=(*table.header, "winner"), rows=rows), [note]
    there = [k for k, name in enumerate(alike) if name in VERDICTS]
    first, second = table.column("system_a"), table.column("system_b")
    cells = table.first_rows()
    clear = [k for k in there if all(place_of(row[k]) >= 0 or row[k] in ("", row[first], row[second]) for row in cells)]
    if len(there) == len(clear) == 1:
        names = list(table.header)
        note = f"the column {clip(names[there[0]], 40)} says who won"
        names[there[0]] = "winner"
        return replace(table, header=tuple(names)), [note]
    further = [name for name in table.header if name not in ("system_a", "system_b", "item", "rater", "")]
    meant = table.header[there[0]] if there else "NAME"
    hint = "" if there else f" (it has {clip(', '.join(further), 100) or 'no further column'})"
    raise InputError(
        f"{table.where}: each row names two systems, so that these are comparisons, and no column winner says who won; "
        f"name it: --columns winner={clip(meant, 40)}{hint}; its cells are the name of one of the two, a, b or tie; "
        "or 1 (the first wins), .5 and 0"
    )


def _join_games(first: str, second: str) -> str:
    """Return what two games of a pair say together."""
    if "error" in (first.lower(), second.lower()) or not (first and second):
        return ""
    return first if first == second else "tie"


def is_table(path: Path, overrides: ColumnOverrides) -> bool:
    """True if a file has the header of a table of preferences; False for a file that cannot be read."""
    try:
        return holds(rename(open_cells(path, FORM, overrides), USUAL, overrides.columns).header)
    except InputError:
        # What is wrong with it is said by who reads ratings.
        return False


def holds(header: Sequence[str]) -> bool:
    """True if columns, by our names, are those of preferences: two systems a row, or a pair and who won."""
    return {"system_a", "system_b"} <= set(header) or ("pair" in header and pairs.has_winner(header))


def read_table(table: CellTable, metrics: Sequence[str] | None, overrides: ColumnOverrides = NOTHING) -> Preferences:
    """Read the rows of a table whose columns have our names; `metrics` as in `read`.

    Raises InputError for rows that are no preferences or contradict each other, and for options on scores.
    """
    for option, value in (("--scale", overrides.scale), ("--better", overrides.better)):
        if value is not None:
            raise InputError(f"{option} is of scores, and {table.where} holds preferences; leave it out")
    if overrides.wide:
        raise InputError(f"--wide: is of scores, and {table.where} holds preferences; leave it out")
    table, remarks = _find_winner(merge_names(table))
    collector = pairs.gather(table, metrics)
    copies = drop_copies(collector, table)
    check_systems(len(collector.systems), table)
    first, second, _, _, line = collector.votes["human"].columns()[:5]
    # A system without any answer has no line.
    at = {int(k): int(n) for k, n in zip(np.append(first, second)[::-1], np.append(line, line)[::-1], strict=True)}
    refuse_lists(list(collector.systems), lambda k: table.locate(at[k]) if k in at else table.where)
    refuse_alike(collector.systems, "systems", table.where, table.path, overrides.alike)
    refuse_alike(collector.documents, "documents", table.where, table.path, overrides.alike)
    refuse_alike(collector.items, "items", table.where, table.path, overrides.alike)
    refuse_alike(collector.raters, "raters", table.where, table.path, overrides.alike)
    by_source = pairs.comparisons(collector, table)
    raters, person = find_people(tuple(collector.raters), overrides)
    human = by_source.pop("human")
    # The rater -1, nobody, takes the appended last place, and stays -1.
    human = human._replace(rater=np.append(person, -1)[human.rater])
    names = tuple(collector.systems), tuple(collector.items), raters
    notes = *table.notes, *collector.notes, *_notes(human), *_notes_on_documents(tuple(collector.documents))
    notes += (*doubtful_names(collector.systems, "system"), *doubtful_names(collector.raters, "rater"))
    counted = not pairs.is_one_by_one(table.header)
    marked = () if table.marks is None or not table.marks.remark else (table.marks.remark,)
    merged = () if table.spellings is None else table.spellings.remarks()
    on_page = (*remarks, *collector.remarks, *marked, *merged)
    unused = drop_chosen(pairs.list_unused(table.header, by_source), table.chosen)
    unused = tuple(name for name in unused if table.marks is None or name != table.marks.name)
    return Preferences(
        *human,
        *names,
        by_source,
        collector.rows,
        collector.gaps,
        notes,
        counted,
        table.chosen,
        on_page,
        unused,
        document=np.array(collector.document_of, np.int64),
        document_names=tuple(collector.documents),
        # Who played two games of a pair, with a win only where both agree, has met both orders.
        by_place=not counted
        and "g1_winner" not in map(fold_name, table.header)
        and has_places(collector.votes["human"]),
        left_out=list_left_out(table, copies),
        how=table.record((*USUAL, "human")),
    )


def find_people(raters: tuple[str, ...], overrides: ColumnOverrides) -> tuple[tuple[str, ...], Ints]:
    """Return the people behind the logins `raters`, in the order in which they come, and each login's place in them.

    Raises InputError where `overrides.people` is given, and the table has no raters or that file names none of them.
    """
    if overrides.people is None:
        return raters, np.arange(len(raters))
    if not raters:
        raise InputError(f"--people {clip(overrides.people)}: the table does not say who rated; leave it out")
    who = people(overrides.people, raters)
    persons = Numbers()
    number = np.array([persons[who.get(rater, rater)] for rater in raters])
    return tuple(persons), number


def _notes(human: WinnerComparisons) -> list[str]:
    """Note what a reader may not expect of the comparisons."""
    notes = []
    n = len(human.outcome)
    if n and (human.outcome == TIE).all():
        notes.append("all comparisons are ties: they do not say which system is better")
    known = (human.item >= 0) & (human.rater >= 0)
    key = outputs(human, human.item, human.rater)[known]
    again = len(key) - len(np.unique(key))
    if again:
        notes.append(f"kept: {pluralise(again, 'comparison')} of outputs that the same rater had compared")
    return notes


def use_documents(preferences: Preferences) -> Preferences:
    """Return the comparisons with documents as items, if the table has several; else as they are.

    Documents are then the units that a law of items is about.
    """
    if not preferences.document_known:
        return preferences
    # The item -1, not named, takes the appended last place, and stays -1.
    item = np.append(preferences.document, -1)[preferences.item]
    note = (
        f"documents are the units: {pluralise(len(preferences.item_names), 'item')} of "
        f"{len(preferences.document_names):,} documents"
    )
    return replace(preferences, item=item, item_names=preferences.document_names, notes=(*preferences.notes, note))


def _notes_on_documents(documents: tuple[str, ...]) -> list[str]:
    """State that a column which names the same document in each row tells nothing apart."""
    if len(documents) != 1:
        return []
    return [f"document is {clip(documents[0], 40)} in all rows: it tells nothing apart, and items are what is drawn"]


def describe(preferences: Preferences) -> str:
    """Return a line on the table: how many comparisons, of which systems, by whom, and how many ties."""
    n = len(preferences.outcome)
    words = (
        f"{pluralise(n, 'comparison')} of {pluralise(preferences.n_systems, 'system')} "
        f"({pluralise(_n_pairs(preferences), 'pair')})"
    )
    words += f", {pluralise(len(preferences.document_names), 'document')}" if preferences.document_known else ""
    words += f", {pluralise(len(preferences.item_names), 'item')}" if preferences.item_known else ", items not named"
    words += f", {pluralise(preferences.n_raters, 'rater')}" if preferences.rater_known else ", raters not named"
    if n:
        share = float((preferences.outcome == TIE).mean())
        words += f"; {_share(share)} ties"
    words += f"; {pluralise(preferences.gaps, 'gap')}" if preferences.gaps else ""
    words += f"; metrics {', '.join(preferences.metrics)}" if preferences.metrics else ""
    return words + describe_rows(preferences.where, preferences.left_out)


def record(preferences: Preferences) -> dict[str, Any]:
    """Return the JSON record of the table."""
    n = len(preferences.outcome)
    return {
        "rows": preferences.rows,
        "used": n,
        "gaps": preferences.gaps,
        "systems": preferences.n_systems,
        "pairs": _n_pairs(preferences),
        "documents": len(preferences.document_names) if preferences.document_known else None,
        "items": len(preferences.item_names) if preferences.item_known else None,
        "raters": preferences.n_raters if preferences.rater_known else None,
        "ties": float((preferences.outcome == TIE).mean()) if n else None,
        "better": None,
        "scale": None,
        "metrics": list(preferences.metrics),
        "remarks": list(preferences.remarks),
        "unused": list(preferences.unused),
        "how": dict(preferences.how),
        **record_where(preferences.where, preferences.left_out),
    }


def _n_pairs(preferences: Preferences) -> int:
    low, high = np.minimum(preferences.first, preferences.second), np.maximum(preferences.first, preferences.second)
    return len(np.unique(low * preferences.n_systems + high))


def _share(value: float) -> str:
    return "no" if value == 0 else "all are" if value == 1 else f"{value:.2f}".removeprefix("0")
