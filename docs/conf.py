"""Build the site: `uv run --group docs sphinx-build -W --keep-going -n -b html docs outputs/site`; no network."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

project = "simlab"
author = "The simlab founders"
extensions = ["myst_parser"]
exclude_patterns = ["figures", "paper", "_static"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
html_theme = "furo"
html_title = "simlab"
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["simlab.css"]
# Words such as `console` are highlighted where they are known, and stand as they are where not.
highlight_language = "text"


def setup(app: Any) -> None:
    """Write the reference before the pages are read."""
    import reference_pages

    app.connect("config-inited", lambda *_: reference_pages.write(HERE / "reference"))
