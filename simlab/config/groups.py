"""Find the groups and their options, and compose a study from one option of each."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from simlab.messages import or_nearest, shown
from simlab.types import InputError

QUESTION = "question"
"""The group of the kinds of studies: its options are the questions that raters are asked."""

Options = Mapping[str, Mapping[str, Path]]
"""`options[group][option]` is the YAML file; nested groups are written with a dot: design.grouping."""


def folder(name: str) -> Path:
    """Locate `conf` or `sweeps`: inside the installed package, else beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    return package / name if (package / name).is_dir() else package.parent / name


def find_options(plugins: Sequence[str] = ()) -> Options:
    """List the options of each group, those of plug-ins included."""
    options = {group: dict(files) for group, files in _read_folder(folder("conf")).items()}
    for plugin in plugins:
        for group, files in _read_folder(plugin_folder(plugin)).items():
            if group not in options:
                raise InputError(f"plug-in {plugin}: conf/{group} is no group; {or_nearest(group, options)}")
            for option, file in files.items():
                if option in options[group]:
                    raise InputError(f"plug-in {plugin}: {group}={option} exists already; give yours another name")
                options[group][option] = file
    return options


def plugin_folder(plugin: str) -> Path:
    """Locate the `conf` folder of a plug-in package."""
    if not re.fullmatch(r"[A-Za-z]\w*(\.[A-Za-z]\w*)*", plugin, re.ASCII):
        raise InputError(f"plug-in {shown(plugin)} is no package name; write --plugins with names such as my_parts")
    try:
        spec = importlib.util.find_spec(plugin)
    except ModuleNotFoundError:
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise InputError(f"plug-in {plugin} is no package that is installed here; install it or correct --plugins")
    for location in spec.submodule_search_locations:
        if (Path(location) / "conf").is_dir():
            return Path(location) / "conf"
    raise InputError(f"plug-in {plugin} has no folder conf; a plug-in offers its parts as conf/GROUP/OPTION.yaml")


def group_of(key: str, options: Options) -> str | None:
    """Find the innermost group that a key belongs to."""
    inside = [group for group in options if key == group or key.startswith(group + ".")]
    return max(inside, key=len, default=None)


def check_option(group: str, name: Any, options: Options) -> None:
    """Raise InputError unless a group has the option."""
    if not isinstance(name, str) or name not in options[group]:
        raise InputError(f"{group}={shown(name)} is no option; {or_nearest(shown(name), options[group])}")


def compose_options(choices: Mapping[str, Any], defaults: Path, plugins: Sequence[str] = ()) -> dict[str, Any]:
    """Compose the study of the chosen options (a name per group; for `measure` a list), all else as a file declares."""
    from hydra import compose
    from omegaconf import OmegaConf

    overrides = [f"{group.replace('.', '/')}={_option(choice)}" for group, choice in choices.items()]
    others = [source for source in (folder("conf"), *map(plugin_folder, plugins)) if source != defaults.parent]
    if others:
        overrides.append(f"hydra.searchpath=[{','.join(map(_quoted, others))}]")
    try:
        with _hydra(defaults.parent):
            composed = compose(defaults.stem, overrides)
        config: Any = OmegaConf.to_container(composed, resolve=True, throw_on_missing=True)
    except Exception as error:
        # The names were checked before, so what is wrong is a YAML file of simlab or of a plug-in.
        raise InputError(f"the options {' '.join(overrides)} do not compose: {' '.join(str(error).split())}") from error
    return dict(config)


def _option(choice: Any) -> str:
    return choice if isinstance(choice, str) else f"[{','.join(choice)}]"


def _quoted(path: Path) -> str:
    text = path.as_posix().replace("'", "\\'")
    return f"'file://{text}'"


@contextmanager
def _hydra(options: Path) -> Iterator[None]:
    """Start Hydra on a folder of options; a program that runs under Hydra itself keeps its own."""
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra

    held = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(options), version_base="1.3"):
            yield
    finally:
        GlobalHydra.instance().hydra = held


def _read_folder(root: Path) -> dict[str, dict[str, Path]]:
    groups: dict[str, dict[str, Path]] = {}
    for file in sorted(root.rglob("*.yaml")):
        if group := ".".join(file.parent.relative_to(root).parts):
            groups.setdefault(group, {})[file.stem] = file
        elif question := _question(file):
            groups.setdefault(QUESTION, {})[question] = file
    return groups


def _question(file: Path) -> str | None:
    """Read what the studies of a file of defaults ask; None where it is no such file."""
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    return content.get(QUESTION) if isinstance(content, Mapping) else None
