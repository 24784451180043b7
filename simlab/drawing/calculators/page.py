"""Put together the page of `simlab detect --page`: markup, style, scripts and data in one file that loads nothing."""

from __future__ import annotations

import html
import json
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from string import Template
from typing import Any

HERE = Path(__file__).parent
SCRIPTS = "special.js", "posterior.js", "chart.js", "detect.js"
"""Files of the page's JavaScript, in the order in which they are joined."""


def page(data: Mapping[str, Any]) -> str:
    """Return the calculator of detectable differences as an HTML page.

    `data` is what `simlab.commands.detect_page.gather_page_data` returns. The page's policy allows its own script and
    its own style, by their digests, and nothing else: it can load nothing, and send nothing.
    """
    style, script = _read("calculator.css"), "\n".join(_read(name) for name in SCRIPTS)
    return Template(_read("detect.html")).substitute(
        policy=html.escape(_policy(style, script)),
        version=html.escape(str(data["simlab"])),
        style=style,
        script=script,
        data=_encode_json(data),
    )


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    digests = ("'sha256-" + b64encode(sha256(text.encode()).digest()).decode() + "'" for text in (script, style))
    allowed = "script-src {}; style-src {};".format(*digests)
    return f"default-src 'none'; {allowed} img-src data:; base-uri 'none'; form-action 'none'"


def _encode_json(data: Mapping[str, Any]) -> str:
    """Write data so that nothing in it ends the script tag that it stands in."""
    return json.dumps(data, ensure_ascii=True, allow_nan=False).replace("<", "\\u003c")
