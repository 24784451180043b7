"""Find the groups and their options (conf/GROUP/OPTION.yaml), and compose a study from one option of each.

`find_options` returns the YAML file of each option, `compose_options` the config (nested dicts) of chosen ones. A
user's own options stand in a folder (--config-dir), those of plug-ins in a package.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import deepcopy
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import yaml

from simlab.config.plain_yaml import read_content
from simlab.messages import show, suggest
from simlab.types import QUESTION, InputError

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Reads plain data only, ten times as fast where libyaml is there."""
Options = Mapping[str, Mapping[str, Path]]
"""`options[group][option]` is the YAML file; nested groups are written with a dot: design.grouping."""
FilesState = tuple[tuple[str, int, int], ...]
"""Path, time of writing and size of each file."""


_OWN: ContextVar[Path | None] = ContextVar("own_options", default=None)


def folder(name: str) -> Path:
    """Return the path of a shipped folder, `conf`, `sweeps` or `examples`: in the package, else in the checkout."""
    package = Path(__file__).resolve().parent.parent
    return package / name if (package / name).exists() else package.parent / name


def find_options(plugins: Sequence[str] = ()) -> Options:
    """List the options of each group, those of plug-ins and of a folder of one's own included.

    Raises InputError for a plug-in that is none, and for options that have no group or the name of another.
    """
    options = {group: dict(files) for group, files in _read_folder(folder("conf")).items()}
    for plugin in plugins:
        files_of_plugin = _read_folder(plugin_folder(plugin))
        for measure in files_of_plugin.get("measure", {}).values():
            _check_header(measure, f"# @package measure.{measure.stem}")
        _add(options, f"plug-in {plugin}: conf/", files_of_plugin)
    if own := _OWN.get():
        _add(options, f"{own}: ", _read_folder(own))
    return options


def _add(options: dict[str, dict[str, Path]], where: str, more: Mapping[str, Mapping[str, Path]]) -> None:
    for group, files in more.items():
        if group not in options:
            raise InputError(f"{where}{group.replace('.', '/')} is no group; {suggest(group, options)}")
        for option, file in files.items():
            if option in options[group]:
                raise InputError(f"{where}{group}={option} exists already; give yours another name")
            options[group][option] = file


@contextmanager
def own_options(root: Path | None) -> Iterator[None]:
    """Add the options of a user's folder (--config-dir), ROOT/GROUP/OPTION.yaml, to the others, within a `with`.

    `root` is the folder; None: there is none. Raises InputError where it is no such folder, and for files that hold
    more than keys and values.
    """
    if root is not None:
        _check_own(root)
    token = _OWN.set(root)
    try:
        yield
    finally:
        _OWN.reset(token)


def own_words() -> list[str]:
    """Return the words of a command line that name the user's folder of options; none where none is in use."""
    return ["--config-dir", str(_OWN.get())] if _OWN.get() else []


def _check_own(root: Path) -> None:
    if not root.is_dir():
        raise InputError(f"--config-dir {show(str(root))} is no folder; name one that holds GROUP/OPTION.yaml")
    files = sorted(root.rglob("*.yaml"))
    if not files:
        raise InputError(f"--config-dir {show(str(root))} holds no option; write one as GROUP/OPTION.yaml")
    for file in files:
        if file.parent == root:
            raise InputError(f"{file} belongs to no group; move it to a folder such as {root / 'raters' / file.name}")
        content = read_content(file)
        if not isinstance(content, dict) or "defaults" in content:
            raise InputError(f"{file}: an option holds lines such as `key: value` and no list of defaults")
        _check_header(file, f"# @package measure.{file.stem}" if file.parent == root / "measure" else None)


def _check_header(file: Path, package: str | None) -> None:
    """Keep an option in its own section: only measures, of which a study has several, are told where they go."""
    first, *rest = file.read_text(encoding="utf-8-sig").splitlines()
    if package and first != package:
        raise InputError(f"{file}: the file of a measure begins with the line `{package}`")
    if wrong := [line for line in ([] if package else [first]) + rest if line.lstrip().startswith("# @package")]:
        raise InputError(f"{file}: leave out the line `{wrong[0].strip()}`; an option goes where its folder says")


def plugin_folder(plugin: str) -> Path:
    """Locate the `conf` folder of a plug-in package; raise InputError where there is none."""
    if not re.fullmatch(r"[A-Za-z]\w*(\.[A-Za-z]\w*)*", plugin, re.ASCII):
        raise InputError(f"plug-in {show(plugin)} is no package name; write --plugins with names such as my_parts")
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
    """Return the innermost group that a key with dots belongs to; None: it belongs to none."""
    inside = [group for group in options if key == group or key.startswith(group + ".")]
    return max(inside, key=len, default=None)


def check_option(group: str, name: Any, options: Options) -> None:
    """Raise InputError unless a group has the option."""
    if not isinstance(name, str) or name not in options[group]:
        raise InputError(f"{group}={show(name)} is no option; {suggest(show(name), options[group])}")


def compose_options(choices: Mapping[str, Any], defaults: Path, plugins: Sequence[str] = ()) -> dict[str, Any]:
    """Compose the study of the chosen options (a name per group; for `measure` a list), all else as in `defaults`.

    Returns nested dicts, a section for each group. Raises InputError where the files of options do not compose.
    """
    overrides = [f"{group.replace('.', '/')}={_option(choice)}" for group, choice in choices.items()]
    own = _OWN.get()
    searched = [folder("conf"), *map(plugin_folder, plugins), *([own.resolve()] if own else [])]
    if others := [source for source in searched if source != defaults.parent]:
        overrides.append(f"hydra.searchpath=[{','.join(map(_quote_path, others))}]")
    try:
        # Configs are patched afterwards, and what is kept must stay as it was composed.
        return deepcopy(_compose_cached(defaults, tuple(overrides), tuple(map(_state, searched))))
    except Exception as error:
        # The names were checked before, so what is wrong is a YAML file of simlab or of a plug-in.
        raise InputError(f"the options {' '.join(overrides)} do not compose: {' '.join(str(error).split())}") from error


@lru_cache(maxsize=256)
def _compose_cached(defaults: Path, overrides: tuple[str, ...], state: tuple[FilesState, ...]) -> dict[str, Any]:
    """Let Hydra compose what it was not asked for before, with the files as they are: it takes a tenth of a second."""
    from hydra import compose
    from omegaconf import OmegaConf

    with _start_hydra(defaults.parent):
        composed = compose(defaults.stem, list(overrides))
    config: Any = OmegaConf.to_container(composed, resolve=True, throw_on_missing=True)
    return dict(config)


def _state(root: Path) -> FilesState:
    """Return times and sizes of the files of options: one's own may change while a notebook is open."""
    stats = ((str(file), file.stat()) for file in root.rglob("*.yaml"))
    return tuple(sorted((name, stat.st_mtime_ns, stat.st_size) for name, stat in stats))


def _option(choice: Any) -> str:
    return choice if isinstance(choice, str) else f"[{','.join(choice)}]"


def _quote_path(path: Path) -> str:
    text = path.as_posix().replace("'", "\\'")
    return f"'file://{text}'"


@contextmanager
def _start_hydra(options: Path) -> Iterator[None]:
    """Start Hydra on a folder of options; a program that runs under Hydra itself keeps its own."""
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra

    previous = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(options), version_base="1.3"):
            yield
    finally:
        GlobalHydra.instance().hydra = previous


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
    return read_section(file).get(QUESTION)


def read_section(file: Path) -> Mapping[str, Any]:
    """Read the keys of an option from its file."""
    status = file.stat()
    return _section(file.resolve(), status.st_mtime_ns, status.st_size)


@cache
def _section(file: Path, changed: int, size: int) -> Mapping[str, Any]:
    """Read a file once as long as it stays as it is: own options may change while a notebook is open."""
    content = yaml.load(file.read_text(encoding="utf-8"), LOADER)  # noqa: S506 (a safe loader)
    return content if isinstance(content, Mapping) else {}
