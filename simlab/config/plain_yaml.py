"""Read YAML files that users write: mappings, lists and texts; anchors, tags and repeated keys are refused.

`read_content` takes a path and returns nested dicts, lists and texts; `parse_value` reads one of these texts. YAML and
the command line disagree about what `1e-3`, `010`, `yes` or `~` are. Here a value in a file means the same as behind
`key=`: a plain scalar is read by the override grammar, a quoted one is text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from simlab import files
from simlab.config.overrides import check_plain, element
from simlab.messages import clip, show
from simlab.studies.drawn_keys import FORMS
from simlab.types import InputError

MAX_BYTES = 1_000_000
"""Most bytes of a file, its line on a campaign left out."""
MAX_TOLD = 1 << 28
"""Most bytes of a file with such a line."""
CAMPAIGN = "campaign: "
"""Begins the line behind a study that says, as JSON, which campaign of it was exported."""


class Plain(str):
    """Mark a scalar that stands in a file without quotes."""


def read_content(path: Path) -> Any:
    """Read the mappings, lists and texts of a YAML file, unquoted texts marked as `Plain`.

    Raises InputError, beginning with the path, for what is no such file.
    """
    return split_campaign_line(path)[0]


def split_campaign_line(path: Path) -> tuple[Any, str | None]:
    """Read a YAML file as `read_content` does; return beside it the text of its line on a campaign (None: no line).

    Raises InputError, beginning with the path, for what is no such file.
    """
    where, remedy = clip(path, 200), "name a YAML file"
    data = files.content(path, where, most=MAX_TOLD, remedy=remedy)
    study, mark, campaign = data.partition(f"\n{CAMPAIGN}{{".encode())
    if len(study) > MAX_BYTES:
        raise InputError(f"{where}: is larger than {MAX_BYTES:,} bytes; {remedy}")
    try:
        content = parse_yaml(files.text(study, where))
    except InputError as error:
        raise error if str(error).startswith(where) else InputError(f"{where}: {error}") from error
    return content, "{" + files.text(campaign, where) if mark else None


def parse_yaml(text: str) -> Any:
    """Read the text of a YAML file as `read_content` does; raise InputError for what is none."""
    try:
        return _content(_Loader(text).get_single_node())
    except yaml.MarkedYAMLError as error:
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise InputError(f"is not valid YAML{line} ({' '.join(str(error.problem).split())}); mend that line") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError("is not valid YAML") from error


class _Loader(yaml.SafeLoader):
    """Compose nodes, but nothing that stands for something else."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or event.anchor:
            raise InputError(f"line {event.start_mark.line + 1}: anchors and aliases are not used; write the value")
        if event.tag:
            raise InputError(
                f"line {event.start_mark.line + 1}: tags such as {show(event.tag)} are not used; write the value"
            )
        return super().compose_node(parent, index)


def _content(node: Any) -> Any:
    """Turn nodes into mappings, lists and texts, with every key once."""
    if isinstance(node, yaml.ScalarNode):
        if "${" in node.value:
            raise InputError(f"line {node.start_mark.line + 1}: ${{...}} is not filled in; write the value itself")
        return Plain(node.value) if node.style is None else node.value
    if node is not None and node.flow_style:
        _refuse_split_law(node)
    if isinstance(node, yaml.SequenceNode):
        return [_content(entry) for entry in node.value]
    content: dict[str, Any] = {}
    for name, value in node.value if node else ():
        key = name.value if isinstance(name, yaml.ScalarNode) else "[...]"
        if key in content:
            raise InputError(f"line {name.start_mark.line + 1}: the key {show(key)} appears twice; keep one")
        content[key] = _content(value)
    return content


def _refuse_split_law(node: Any) -> None:
    """Refuse a law without quotes within {...} or [...], where YAML ends a value at each comma."""
    inside = [child[-1] if isinstance(node, yaml.MappingNode) else child for child in node.value]
    for entry in inside:
        split = (
            isinstance(entry, yaml.ScalarNode)
            and entry.style is None
            and entry.value.count("(") > entry.value.count(")")
        )
        if split and entry.value.partition("(")[0].strip() in FORMS:
            raise InputError(
                f"line {entry.start_mark.line + 1}: within {{...}} and [...] a comma ends a value, and "
                f"{show(entry.value)} is half of one; put the law in quotes, "
                f'"{FORMS[entry.value.partition("(")[0].strip()]}"'
            )


def parse_value(key: str, value: Any) -> Any:
    """Read a value as it would be read behind `key=`; quoted text stays as it is.

    Raises InputError for what the grammar of values does not know.
    """
    if isinstance(value, list):
        return check_plain(key, [parse_value(key, entry) for entry in value])
    return element(key, value) if isinstance(value, Plain) else check_plain(key, value)
