"""Escape text and data for an HTML page: no name of a user becomes markup, and nothing runs."""

from __future__ import annotations

import html
import json
import re
from typing import Any

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff\ud800-\udfff]")
"""What HTML has no character for: controls, noncharacters, and halves of characters."""


def text(given: object) -> str:
    """Return `given` as text of a page, or of an attribute in double quotes.

    >>> text('</script> "a" & b')
    '&lt;/script&gt; &quot;a&quot; &amp; b'
    """
    return html.escape(_FORBIDDEN.sub("\ufffd", str(given)), quote=True)


def json_script(name: str, data: Any) -> str:
    r"""Return data as a script tag with the id `name` that no browser runs; `JSON.parse` of its text gives the data.

    `<`, `>` and `&` are written as JSON escapes: no text can end the tag or open a comment.

    >>> json_script("a", {"b": "</script>"})
    '<script type="application/json" id="a">{"b":"\\u003c/script\\u003e"}</script>'
    """
    written = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        written = written.replace(character, f"\\u{ord(character):04x}")
    written = _FORBIDDEN.sub(lambda match: f"\\u{ord(match.group()):04x}", written)
    return f'<script type="application/json" id="{text(name)}">{written}</script>'
