"""Carry out `simlab mutt --make`: corrupt a user's sentences by rules, and write them as trials for `simlab mutt`.

`make` takes the files and the names of corruptions, and returns `CorruptedSentences`, the trials made of each kind.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from simlab.commands.next_steps import step
from simlab.commands.typed_commands import Given, Launched
from simlab.drawing.text import tables
from simlab.drawing.text.tables import Form
from simlab.files import check_writable, write_whole
from simlab.messages import clip
from simlab.metric_tests import lexicon, sentences
from simlab.types import InputError


def make(source: Path, types: str, words: Path | None, out: Path, *, seed: int) -> sentences.CorruptedSentences:
    """Corrupt the sentences of the file `source` and write the trials to `out`.

    `types` are the names of corruptions with commas between them, or "all"; `words` is a file of word pairs for those
    that replace words. Raises InputError for wrong options and malformed files, and where no rule fits any sentence;
    nothing is written then.
    """
    if out.suffix.lower() != ".jsonl":
        raise InputError(f"--make {clip(out)}: trials are written as .jsonl; end the name with it")
    if _are_same(out, source):
        raise InputError(f"--make {clip(out)}: it holds the sentences themselves; choose another file")
    check_writable(out, "--make")
    wanted = sentences.choose_corruptions(types)
    if words and not lexicon.OWN.keys() & set(wanted):
        raise InputError(f"--words is for {' and '.join(lexicon.OWN)}, which --types leaves out; name one, or drop it")
    made = sentences.make(sentences.read(source), wanted, lexicon.read(words), seed)
    if not made.trials:
        needs = "; ".join(dict.fromkeys(f"{row['corruption']} needs {row['needs']}" for row in sentences.summary(made)))
        raise InputError(f"{source}: no sentence can be corrupted by these rules: {needs}")
    write_whole({out: sentences.text(made)})
    return made


def write(made: sentences.CorruptedSentences, form: Form, given: Given) -> Launched:
    """Format the number of trials of each corruption as table, csv or json; `given` are the command's options."""
    rows = sentences.summary(made)
    return Launched(_table(rows, made, given["make"]) if form == "table" else tables.write(rows, form))


def _are_same(out: Path, source: Path) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return out.samefile(source)
    return False


def _table(rows: list[dict[str, object]], made: sentences.CorruptedSentences, out: Path) -> str:
    cells = [[str(row[key]) for key in ("corruption", "kind", "trials", "left_out", "needs")] for row in rows]
    header = ["corruption", "kind", "trials", "left out", "a sentence needs"]
    return "\n".join(
        [
            tables.align_columns(header, cells, left=2, last_left=True),
            "",
            f"{len(made.trials)} trials of {tables.count_nouns([made.sentences], 'sentence')} are in {clip(out)}",
            step("mutt", out),
        ]
    )
