"""Answer the options that users of Hydra know and simlab does not have: why, and what to do instead."""

from __future__ import annotations

from collections.abc import Sequence

from simlab.types import InputError

INSTEAD = {
    ("--config-name", "-cn"): "the kind of study follows from its options; `simlab run FILE` takes a study file",
    ("--config-path", "-cp"): "simlab brings its configs; --config-dir DIR adds options of your own",
    ("-cd",): "write --config-dir DIR",
    ("-c",): "write --cfg job",
    ("--package", "-p"): "`simlab run --cfg job` prints the whole config",
    ("--resolve",): "a config holds nothing to fill in; leave it out",
    ("--info", "-i", "--hydra-help"): "`simlab list` and `simlab show KEY` tell what there is",
    ("--run", "-r"): "`simlab run` runs; leave it out",
    ("--shell-completion", "-sc"): "`simlab --install-completion` teaches the shell",
    ("--experimental-rerun",): "`simlab show --config` prints a study file, and `simlab run FILE` runs it again",
}


def refuse(words: Sequence[str]) -> None:
    """Raise InputError for the first word that is an option of Hydra's own."""
    for word in words:
        option = word.partition("=")[0]
        for names, instead in INSTEAD.items():
            if option in names:
                raise InputError(f"simlab has no option {option}; {instead}")
