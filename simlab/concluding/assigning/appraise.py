"""Write an assignment for Appraise, an account and a batch for each rater.

A campaign takes a manifest and a list of batches, tasks of type `Document`; what `ExportSystemScoresToCSV` writes of it
is read back by targetID, which is the code of an output, and itemID, which counts its segments. See
github.com/AppraiseDev/Appraise, Examples/Document and EvalData/models/direct_assessment_document.py.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from simlab.concluding.assigning.blinding import Line
from simlab.concluding.assigning.cells import table
from simlab.concluding.assigning.scale import Scale
from simlab.messages import legible
from simlab.types import InputError

NUMBER = 1
"""The number of the campaign, which is part of what accounts are called."""
URL = "http://127.0.0.1:8000/dashboard/sso/"
_LANGUAGES = re.compile(r"([a-z]{3})-([a-z]{3})")
_ACCOUNT = re.compile(rf"[a-z]{{6}}{NUMBER:02x}([0-9a-f]{{2,6}})")


class Languages(NamedTuple):
    """Hold codes of languages as Appraise has them."""

    source: str
    target: str


def languages(text: str) -> Languages:
    """Read codes of languages; raise InputError for what is none.

    >>> languages("eng-deu")
    Languages(source='eng', target='deu')
    """
    found = _LANGUAGES.fullmatch(text)
    if not found:
        raise InputError(f"--languages {legible(text, 40)}: give two codes of three letters, such as eng-deu")
    return Languages(*found.groups())


def accounts(raters: Sequence[str], spoken: Languages) -> dict[str, str]:
    """Return what the account of each rater is called, as Appraise calls those of a campaign.

    >>> accounts(["Ann", "Bob"], Languages("eng", "deu"))
    {'Ann': 'engdeu0101', 'Bob': 'engdeu0102'}
    """
    digits = max(2, len(f"{len(raters):x}"))
    return {name: f"{spoken.source}{spoken.target}{NUMBER:02x}{k:0{digits}x}" for k, name in enumerate(raters, 1)}


def rater_of(account: str, raters: Sequence[str]) -> str | None:
    """Return whose account one is; None for an account that is none of these raters'.

    >>> rater_of("engdeu0102", ["Ann", "Bob"])
    'Bob'
    """
    found = _ACCOUNT.fullmatch(account)
    number = int(found[1], 16) if found else 0
    return raters[number - 1] if 0 < number <= len(raters) else None


def check_scale(scale: Scale) -> None:
    """Raise InputError for a scale other than that of Appraise's slider, or a pilot's that cannot be it."""
    if (scale.low, scale.high) == (0.0, 100.0):
        return
    ends = [end for end in (scale.low, scale.high) if math.isfinite(end)]
    if not scale.loose or any(not 0 <= end <= 100 for end in ends):
        raise InputError(
            f"--as appraise: its slider goes from 0 to 100, and this study rates {scale.said()}; choose another form"
        )


def files(lines: Sequence[Line], raters: Sequence[str], spoken: Languages, study: str) -> dict[str, str]:
    """Return manifest, batches, and a list of accounts by the names of their files; `study` names the campaign."""
    own = [[line for line in lines if line.rater == name] for name in raters]
    batches = [_batch(k, held, spoken) for k, held in enumerate(own, 1)]
    named = accounts(raters, spoken)
    rows = [(name, named[name], k, len(held)) for k, (name, held) in enumerate(zip(raters, own, strict=True), 1)]
    return {
        "manifest.json": _json(_manifest(len(raters), spoken, study)),
        "batches.json": _json(batches),
        "accounts.csv": table(("rater", "account", "batch", "ratings"), rows),
    }


def _json(held: Any) -> str:
    return json.dumps(held, ensure_ascii=False, indent=1) + "\n"


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


def _batch(number: int, lines: Sequence[Line], spoken: Languages) -> Mapping[str, Any]:
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


def _item(line: Line, *, complete: bool) -> Mapping[str, Any]:
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
