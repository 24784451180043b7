"""Write an assignment for Label Studio, a project for each rater, whose community edition assigns no tasks.

A project takes a file of tasks (a list, each with its `data`) and a labelling config; what comes out of it, with
annotations of the control `rating`, is read back by the code in the data. See labelstud.io/guide/task_format and
labelstud.io/tags (number, rating, choices).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import quoteattr

from simlab.concluding.assigning.blinding import Line
from simlab.concluding.assigning.cells import table
from simlab.concluding.assigning.naming import files_for
from simlab.concluding.assigning.scale import Scale

MOST_STARS = 10
MOST_CHOICES = 15
FINE = 0.01
"""The step of a scale on which any number can be given."""
DATA = ("slot", "position", "task", "document", "segment", "source", "output")
"""What a rater's tool is told of a rating that is to be given: nothing of the system, nor which are control items."""


def files(lines: Sequence[Line], raters: Sequence[str], scale: Scale) -> dict[str, str]:
    """Return the files of all projects by their names: tasks and config of each, and a list of who has which."""
    named = files_for(raters)
    own = {name: [line for line in lines if line.rater == name] for name in raters}
    held: dict[str, str] = {}
    for name, stem in named.items():
        held[f"{stem}.tasks.json"] = _tasks(own[name])
        held[f"{stem}.config.xml"] = config(scale, sources=any(line.source for line in lines))
    rows = [(name, f"{stem}.tasks.json", f"{stem}.config.xml", len(own[name])) for name, stem in named.items()]
    return held | {"projects.csv": table(("rater", "tasks", "config", "ratings"), rows)}


def _tasks(lines: Sequence[Line]) -> str:
    tasks = [{"data": {name: getattr(line, name) for name in DATA}} for line in lines]
    return json.dumps(tasks, ensure_ascii=False, indent=1) + "\n"


def config(scale: Scale, *, sources: bool) -> str:
    """Return a labelling config that asks for one rating of the scale, and shows sources where there are any."""
    source = '  <Text name="source" value="$source"/>\n'
    return (
        "<View>\n"
        '  <Header value="Document $document $segment"/>\n'
        f"{source if sources else ''}"
        '  <Text name="output" value="$output"/>\n'
        f"{_control(scale)}"
        "</View>\n"
    )


def _control(scale: Scale) -> str:
    values = _values(scale)
    if values and values == [k + 1.0 for k in range(len(values))] and len(values) <= MOST_STARS:
        return f"  {_tag('Rating', {'maxRating': len(values)})}/>\n"
    if values:
        choices = "".join(f"    <Choice value={quoteattr(f'{value:g}')}/>\n" for value in values)
        return f"  {_tag('Choices', {'choice': 'single'})}>\n{choices}  </Choices>\n"
    ends = {name: end for name, end in (("min", scale.low), ("max", scale.high)) if math.isfinite(end)}
    return f"  {_tag('Number', {**ends, 'step': scale.step or FINE})}/>\n"


def _values(scale: Scale) -> list[float]:
    """List the ratings of a scale that has few."""
    if scale.values or not (scale.step and math.isfinite(scale.low) and math.isfinite(scale.high)):
        return list(scale.values) if len(scale.values) <= MOST_CHOICES else []
    n = round((scale.high - scale.low) / scale.step) + 1
    return [scale.low + k * scale.step for k in range(n)] if n <= MOST_CHOICES else []


def _tag(name: str, own: Mapping[str, object]) -> str:
    said = {key: f"{value:g}" if isinstance(value, float) else str(value) for key, value in own.items()}
    keys = {"name": "rating", "toName": "output", **said, "required": "true"}
    return f"<{name} " + " ".join(f"{key}={quoteattr(value)}" for key, value in keys.items())
