"""Read sentences from the comments of YAML files as `simlab show` does."""

from __future__ import annotations

import pytest

from simlab.config.explaining import OWN, sentences

FILES = {
    "# @package a.b\n# An option\n# of two lines.\n_target_: a.b\nn: 1\n": {OWN: ("An option of two lines.", "")},
    "# An option.\n{}\n": {OWN: ("An option.", "")},
    "# A study.\ndefaults:\n  - systems: mqm\n  # not for anybody\n\n# A seed.\nseed: 1\n": {
        OWN: ("A study.", ""),
        "seed": ("A seed.", ""),
    },
    "# Of the key.\nn: 1\n": {"n": ("Of the key.", "")},
    "# An option.\n\n# So many [things].\nn: 1\nm: 2\n": {OWN: ("An option.", ""), "n": ("So many.", "things")},
    "n: 1  # Beside it [things].\nm: 2\n": {"n": ("Beside it.", "things")},
    "# Above,\nn: 1  # and beside it.\n": {"n": ("Above, and beside it.", "")},
    "n: 'a # b'\nm: a#b\no: [\"#\", 1] # A list.\n": {"o": ("A list.", "")},
    "# Above nothing.\n\nn: 1\n# At the end.\n": {OWN: ("Above nothing.", "")},
    "n: 1\n  # inside\n  m: 2\n": {},
    "# A range [0, 1] inside.\nn: 1\n": {"n": ("A range [0, 1] inside.", "")},
}


@pytest.mark.parametrize("content", FILES)
def test_a_comment_belongs_to_the_key_below_it_or_beside_it(content: str) -> None:
    assert sentences(content) == FILES[content]
