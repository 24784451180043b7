"""Read a filled assignment by its key as the campaign of its plan, and list the ratings that are missing.

Call `read` with the sheets, their key and the study, which returns a `Read`. Control items are not ratings of the
study: raters who failed them are reported among the deviations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simlab.concluding.assigning import filled_sheets
from simlab.concluding.assigning.blinding import Meant, read_key
from simlab.concluding.assigning.cells import table
from simlab.concluding.assigning.filled_sheets import FilledRating, read_filled
from simlab.concluding.assigning.planned_study import RatingScale
from simlab.concluding.assigning.platforms import find_rater
from simlab.concluding.campaigns import CampaignInfo
from simlab.concluding.ratings.campaign_sheets import match_campaign
from simlab.concluding.sheets import Read, SheetRows
from simlab.files import read_decimal, reason, write_whole
from simlab.messages import clip, pluralise
from simlab.tables.opening import difference
from simlab.types import InputError

NAME = "missing.csv"
COLUMNS = ("rater", "position", "slot", "document", "segment")


NOT_LISTED = "what is missing is not listed"


def write(file: Path, key: Mapping[str, Meant], came: Collection[str]) -> str:
    """Write `file`, the list of ratings in the key that did not come; where all did, remove an earlier list.

    `came` are the codes that were rated. Returns why the list could not be written ("": it was). A file of that name
    from elsewhere is not touched.
    """
    lacking = [(slot, meant) for slot, meant in key.items() if meant.counts and slot not in came]
    rows = sorted((meant.rater, meant.position, slot, meant.document, meant.segment) for slot, meant in lacking)
    try:
        if file.exists() and not is_own(file):
            why = f"{clip(file)} is no such list, and stays; move it away"
            return f"{NOT_LISTED} ({why})" if rows else ""
        if rows:
            write_whole({file: table(COLUMNS, rows)})
        else:
            file.unlink(missing_ok=True)
    except OSError as error:
        return f"{NOT_LISTED} ({clip(file)}: {reason(error)})"
    return ""


def is_own(file: Path) -> bool:
    """True if a file is a list of missing ratings that `write` wrote."""
    if not file.is_file():
        return False
    with file.open("rb") as handle:
        return handle.readline(200).rstrip() == ",".join(COLUMNS).encode()


class SheetKey(NamedTuple):
    """Key of filled sheets: the file, its SHA-256 when it was written, and the scale that raters were given."""

    key: Path
    scale: RatingScale
    key_sha256: str


class UnblindedRating(NamedTuple):
    """A rating of a sheet: as it was `given`, the meaning of its code, the rater who gave it, and its value."""

    given: FilledRating
    meant: Meant
    rater: str
    value: float


def read(
    path: Path, sheets: SheetKey, config: Mapping[str, Any], info: CampaignInfo, columns: Mapping[str, str]
) -> Read:
    """Read a filled assignment, of any form, as the campaign of its plan; control items are checked and left out.

    `config` and `info` are the study and its campaign, `columns[ours]` the table's own name of a column. Raises
    InputError, naming file and line, for codes that the key does not have or that were rated twice, and for ratings off
    the scale.
    """
    key, people = read_key(sheets.key, sheets.key_sha256), info.frame.rater_names
    rated = unblind_ratings(read_filled(path, columns), key, sheets.scale, people, clip(path))
    unlisted = write(sheets.key.with_name(NAME), key, {rating.given.slot.lower() for rating in rated})
    reading = match_campaign(info, rows([rating for rating in rated if rating.meant.counts], clip(path)), config)
    deviations = [*reading.deviations, *_describe_new_values(rated, sheets.scale), *controls(rated)]
    return reading._replace(deviations=deviations, unlisted=unlisted)


def unblind_ratings(
    came: Iterable[FilledRating], key: Mapping[str, Meant], scale: RatingScale, people: Sequence[str], where: str
) -> list[UnblindedRating]:
    """Return each rating with the meaning of its code; `people` are the raters of the study, `where` names the file.

    Raises InputError for a code that is unknown or rated twice, a rating off the scale, and a row mixed up with others.
    """
    by_slot: dict[str, UnblindedRating] = {}
    for rating in came:
        # Codes have lower case letters only, so that case tells nothing apart.
        slot = rating.slot.lower()
        if slot not in key:
            what = f"has the code {clip(rating.slot, 40)}" if rating.slot else "has no code"
            raise InputError(
                f"{rating.where}: {what}, which is none of this plan's (key.csv); name the plan of this sheet"
            )
        if slot in by_slot:
            first = by_slot[slot].given
            apart = difference(["rating", "rater"], [first.rating, first.rater], [rating.rating, rating.rater])
            raise InputError(
                f"{rating.where}: {slot} is rated a second time (first: {first.where}); {apart}; keep one of the two"
            )
        filled_sheets.refuse_other_cells(rating, key[slot])
        by_slot[slot] = UnblindedRating(rating, key[slot], _rater(rating, key[slot], people), _value(rating, scale))
    rated = list(by_slot.values())
    # Control items and repeats alone are no ratings of the study.
    if not any(rating.meant.counts for rating in rated):
        raise InputError(f"{where}: holds no rating yet; fill in the column rating")
    filled_sheets.refuse_other_raters([(rating.given, rating.meant.rater, rating.rater) for rating in rated], people)
    filled_sheets.refuse_sorted_ratings([(rating.given, rating.meant, rating.value) for rating in rated], where)
    return rated


def _rater(rating: FilledRating, meant: Meant, people: Sequence[str]) -> str:
    """Return the rater: who is named, by their account perhaps, else who was asked."""
    if not rating.rater or rating.rater in people:
        return rating.rater or meant.rater
    return find_rater(rating.rater, people) or rating.rater


def _value(rating: FilledRating, scale: RatingScale) -> float:
    value = read_decimal(rating.rating)
    if value is None:
        raise InputError(
            f"{rating.where}: rating {clip(ascii(rating.rating), 40)} is no number; mend it, or leave it empty"
        )
    if not scale.holds(value):
        raise InputError(
            f"{rating.where}: rating {clip(rating.rating, 40)} is off the scale, {scale.describe()}; mend it"
        )
    return value + 0.0  # -0.0 would be another zero


def rows(rated: Sequence[UnblindedRating], where: str) -> SheetRows:
    """Return unblinded ratings as rows of an exported campaign; segments are numbered in their documents."""
    cells = {
        "system": [rating.meant.system for rating in rated],
        "document": [rating.meant.document for rating in rated],
        "segment": [str(rating.meant.number) for rating in rated],
        "rater": [rating.rater for rating in rated],
        "score": [repr(rating.value) for rating in rated],
    }
    return SheetRows(where, cells, [rating.given.line for rating in rated])


def _describe_new_values(rated: Sequence[UnblindedRating], scale: RatingScale) -> Iterator[str]:
    """State which ratings lie beyond what a pilot showed of its scale."""
    new = [rating for rating in rated if scale.is_new(rating.value)]
    if new:
        summary = f"{pluralise(len(new), 'rating')} beyond those of the pilot, {scale.describe()}"
        yield f"{summary} (first: {clip(new[0].given.rating, 20)}, {new[0].given.where})"


def controls(rated: Sequence[UnblindedRating]) -> list[str]:
    """Return sentences on raters who failed control items, and on how far repeated ratings of an output differ."""
    return [*_failures(rated), *_describe_repeats(rated)]


def _failures(rated: Sequence[UnblindedRating]) -> Iterator[str]:
    outcomes: dict[str, list[bool]] = {}
    for rating in rated:
        if rating.meant.passes is not None:
            passed = rating.meant.passes.low <= rating.value <= rating.meant.passes.high
            outcomes.setdefault(rating.rater, []).append(passed)
    for name, passes in outcomes.items():
        if failed := len(passes) - sum(passes):
            # Failures are reported and nobody is dropped: leaving raters out is the user's choice (--exclude).
            yield f"{name} failed {failed} of {pluralise(len(passes), 'control item')}"


def _describe_repeats(rated: Sequence[UnblindedRating]) -> Iterator[str]:
    first = {(rating.rater, *_place(rating)): rating.value for rating in rated if rating.meant.counts}
    apart: dict[str, list[float]] = {}
    for rating in rated:
        if rating.meant.again and (rating.rater, *_place(rating)) in first:
            apart.setdefault(rating.rater, []).append(abs(rating.value - first[rating.rater, *_place(rating)]))
    if apart:
        every = [value for distances in apart.values() for value in distances]
        means = {name: sum(distances) / len(distances) for name, distances in apart.items()}
        worst = max(means, key=lambda name: means[name])
        yield (
            f"{pluralise(len(every), 'output')} rated twice by the same rater, {sum(every) / len(every):.3g} apart on "
            f"average (most: {worst}, {means[worst]:.3g})"
        )


def _place(rating: UnblindedRating) -> tuple[str, str, int]:
    return rating.meant.system, rating.meant.document, rating.meant.number
