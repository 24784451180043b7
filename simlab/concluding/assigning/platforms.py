"""Write an assignment for the rating platforms Appraise (`appraise_files`) and Label Studio (`project_files`).

Both take the lines of the sheet and return the text of each file by its name.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

from simlab.concluding.assigning.blinding import SheetLine
from simlab.concluding.assigning.cells import name_files, table
from simlab.concluding.assigning.planned_study import RatingScale
from simlab.messages import clip
from simlab.types import InputError

NUMBER = 1
"""Number of the campaign in Appraise, a part of the names of accounts."""
URL = "http://127.0.0.1:8000/dashboard/sso/"
_LANGUAGES = re.compile(r"([a-z]{3})-([a-z]{3})")
_ACCOUNT = re.compile(rf"[a-z]{{6}}{NUMBER:02x}([0-9a-f]{{2,6}})")

MOST_STARS = 10
MOST_CHOICES = 15
FINE = 0.01
"""Step of the number field where a scale has no steps."""
DATA = ("slot", "position", "task", "document", "segment", "source", "output")
"""Fields of a rating that the platform gets: neither the system nor the mark of control items."""


class Languages(NamedTuple):
    """Source and target language as codes of three letters, such as eng and deu."""

    source: str
    target: str


def languages(text: str) -> Languages:
    """Read a pair of codes of languages; raise InputError for any other text.

    >>> languages("eng-deu")
    Languages(source='eng', target='deu')
    """
    match = _LANGUAGES.fullmatch(text)
    if not match:
        raise InputError(f"--languages {clip(text, 40)}: give two codes of three letters, such as eng-deu")
    return Languages(*match.groups())


def accounts(raters: Sequence[str], spoken: Languages) -> dict[str, str]:
    """Return the name of each rater's account in an Appraise campaign.

    >>> accounts(["Ann", "Bob"], Languages("eng", "deu"))
    {'Ann': 'engdeu0101', 'Bob': 'engdeu0102'}
    """
    # Appraise numbers accounts in hexadecimal digits, two at least; more raters than 255 need more.
    digits = max(2, len(f"{len(raters):x}"))
    return {name: f"{spoken.source}{spoken.target}{NUMBER:02x}{k:0{digits}x}" for k, name in enumerate(raters, 1)}


def find_rater(account: str, raters: Sequence[str]) -> str | None:
    """Return the rater that an account belongs to; None for an account of none of these raters.

    >>> find_rater("engdeu0102", ["Ann", "Bob"])
    'Bob'
    """
    match = _ACCOUNT.fullmatch(account)
    number = int(match[1], 16) if match else 0
    return raters[number - 1] if 0 < number <= len(raters) else None


def check_scale(scale: RatingScale) -> None:
    """Raise InputError for a scale other than that of Appraise's slider, or a pilot's that cannot be it."""
    if (scale.low, scale.high) == (0.0, 100.0):
        return
    ends = [end for end in (scale.low, scale.high) if math.isfinite(end)]
    if not scale.loose or any(not 0 <= end <= 100 for end in ends):
        raise InputError(
            f"--as appraise: its slider goes from 0 to 100, and this study rates {scale.describe()}; choose another "
            "form"
        )


def appraise_files(lines: Sequence[SheetLine], raters: Sequence[str], spoken: Languages, study: str) -> dict[str, str]:
    """Return the texts of manifest, batches and list of accounts, by file name; `study` ends the campaign's name."""
    own = [[line for line in lines if line.rater == name] for name in raters]
    batches = [_batch(k, rater_lines, spoken) for k, rater_lines in enumerate(own, 1)]
    named = accounts(raters, spoken)
    rows = [
        (name, named[name], k, len(rater_lines))
        for k, (name, rater_lines) in enumerate(zip(raters, own, strict=True), 1)
    ]
    return {
        "manifest.json": _format_json(_manifest(len(raters), spoken, study)),
        "batches.json": _format_json(batches),
        "accounts.csv": table(("rater", "account", "batch", "ratings"), rows),
    }


def _format_json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _manifest(n: int, spoken: Languages, study: str) -> Mapping[str, Any]:
    """Ask each of n annotators for the batch of their number."""
    return {
        "CAMPAIGN_URL": URL,
        "CAMPAIGN_NAME": f"simlab{study}",
        "CAMPAIGN_KEY": f"simlab{study}",
        "CAMPAIGN_NO": NUMBER,
        "REDUNDANCY": 1,
        "TASKS_TO_ANNOTATORS": [[*spoken, "uniform", n, n]],
        "TASK_TYPE": "Document",
    }


def _batch(number: int, lines: Sequence[SheetLine], spoken: Languages) -> Mapping[str, Any]:
    # Appraise closes a document at its last item, so later slots overwrite earlier ones of a screen.
    last = {line.screen: line.slot for line in lines}
    return {
        "items": [_item(line, complete=last[line.screen] == line.slot) for line in lines],
        "task": {
            "batchNo": number,
            "batchSize": len(lines),
            "randomSeed": 0,
            "requiredAnnotations": 1,
            "sourceLanguage": spoken.source,
            "targetLanguage": spoken.target,
        },
    }


def _item(line: SheetLine, *, complete: bool) -> Mapping[str, Any]:
    # All are of type TGT: another type would say which are control items, and leaves no trace in exports.
    return {
        "sourceID": line.document,
        "sourceText": line.source,
        "targetID": line.screen,
        "targetText": line.output,
        "itemID": line.number,
        "itemType": "TGT",
        "documentID": line.document,
        "isCompleteDocument": complete,
        "mqm": [],
        "_item": str(line.position),
    }


def project_files(lines: Sequence[SheetLine], raters: Sequence[str], scale: RatingScale) -> dict[str, str]:
    """Return the texts of all files, by name: tasks and config of each rater's project, and a list of the projects."""
    named = name_files(raters)
    own = {name: [line for line in lines if line.rater == name] for name in raters}
    contents: dict[str, str] = {}
    for name, stem in named.items():
        contents[f"{stem}.tasks.json"] = _tasks(own[name])
        contents[f"{stem}.config.xml"] = config(scale, sources=any(line.source for line in lines))
    rows = [(name, f"{stem}.tasks.json", f"{stem}.config.xml", len(own[name])) for name, stem in named.items()]
    return contents | {"projects.csv": table(("rater", "tasks", "config", "ratings"), rows)}


def _tasks(lines: Sequence[SheetLine]) -> str:
    tasks = [{"data": {name: getattr(line, name) for name in DATA}} for line in lines]
    return json.dumps(tasks, ensure_ascii=False, indent=1) + "\n"


def config(scale: RatingScale, *, sources: bool) -> str:
    """Return Label Studio's XML config: one rating on the scale per output; `sources`: source texts are shown."""
    source = '  <Text name="source" value="$source"/>\n'
    return (
        "<View>\n"
        '  <Header value="Document $document $segment"/>\n'
        f"{source if sources else ''}"
        '  <Text name="output" value="$output"/>\n'
        f"{_control(scale)}"
        "</View>\n"
    )


def _control(scale: RatingScale) -> str:
    values = _values(scale)
    # Label Studio's stars start at 1 and go up by 1, so that only such scales can be shown as stars.
    if values and values == [k + 1.0 for k in range(len(values))] and len(values) <= MOST_STARS:
        return f"  {_tag('Rating', {'maxRating': len(values)})}/>\n"
    if values:
        choices = "".join(f"    <Choice value={quoteattr(f'{value:g}')}/>\n" for value in values)
        return f"  {_tag('Choices', {'choice': 'single'})}>\n{choices}  </Choices>\n"
    ends = {name: end for name, end in (("min", scale.low), ("max", scale.high)) if math.isfinite(end)}
    return f"  {_tag('Number', {**ends, 'step': scale.step or FINE})}/>\n"


def _values(scale: RatingScale) -> list[float]:
    """List the ratings of a scale that has few."""
    if scale.values or not (scale.step and math.isfinite(scale.low) and math.isfinite(scale.high)):
        return list(scale.values) if len(scale.values) <= MOST_CHOICES else []
    n = round((scale.high - scale.low) / scale.step) + 1
    return [scale.low + k * scale.step for k in range(n)] if n <= MOST_CHOICES else []


def _tag(name: str, own: Mapping[str, object]) -> str:
    attributes = {key: f"{value:g}" if isinstance(value, float) else str(value) for key, value in own.items()}
    keys = {"name": "rating", "toName": "output", **attributes, "required": "true"}
    return f"<{name} " + " ".join(f"{key}={quoteattr(value)}" for key, value in keys.items())
