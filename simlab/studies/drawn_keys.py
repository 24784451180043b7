"""Draw values of keys, world by world, from distributions that the config names: `raters.leniency_sd=uniform(0.1,0.5)`.

Call `draw_keys` with a config and the index of a world, which returns the config with numbers in place of such laws;
`read_law` parses one. Each key of each world has a random stream of its own, and one uniform number there whose
quantile is taken: neither more worlds nor more keys nor another law of another key move a value. Keys that take draws
of one fitted file share a stream, so that they take those of the same draw: parameters of a fit are correlated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, NamedTuple, TypeAlias, Union, get_args, get_origin

from simlab.messages import clip, word
from simlab.parts import is_own, parameters
from simlab.types import InputError

SECTIONS = ("systems", "raters", "metric")
"""Sections of a config whose keys worlds can draw.
"""
"""Sections of a config that make its worlds."""
POSTERIOR = "posterior"
FORMS = {
    "uniform": "uniform(A,B)",
    "normal": "normal(MEAN,SD)",
    "lognormal": "lognormal(MEDIAN,SD)",
    POSTERIOR: f"{POSTERIOR}(FILE)",
}
"""How laws are written; the SD of a lognormal one is that of the logarithm."""
HOW = f"{', '.join(list(FORMS.values())[:-1])} or {list(FORMS.values())[-1]}"
LEAST = 2.0**-54
"""Smallest probability whose quantile is taken, and distance from 1 of the largest: so values have a known range."""
MOST = 1e12
"""No lognormal law reaches further; no key takes more."""
_CALL = re.compile(r"\s*([A-Za-z_]+)\s*\(([^()]*)\)\s*", re.ASCII)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?", re.ASCII | re.IGNORECASE)
_DRAWS = re.compile(rf"([0-9a-f]{{12}}):({_NUMBER.pattern}(?:;{_NUMBER.pattern})*)", re.ASCII | re.IGNORECASE)
"""Text of a fitted file in a checked config: the first digits of its digest, and its draws of the key."""


class KeyLaw(NamedTuple):
    """Law of a key that worlds draw: its name and its two numbers, in the order of `FORMS` (such as mean and sd)."""

    name: str
    first: float
    second: float

    def quantile(self, share: float) -> float:
        """Return the value below which a `share` (0 to 1) of all draws lies."""
        # Just below 1 doubles are 2^-53 apart, twice LEAST.
        share = min(max(share, LEAST), 1 - LEAST * 2)
        if self.name == "uniform":
            return self.first + (self.second - self.first) * share
        from scipy.special import ndtri

        deviation = self.second * float(ndtri(share))
        # The exponential overflows beyond 709.
        return self.first + deviation if self.name == "normal" else self.first * math.exp(min(deviation, 709.0))

    @property
    def ends(self) -> tuple[float, float]:
        """Return the least and the greatest value that can be drawn."""
        return self.quantile(0.0), self.quantile(1.0)

    @property
    def label(self) -> str:
        """Return the law as pages show it."""
        return str(self)

    def __str__(self) -> str:
        """Write the law as it is typed, always in the same letters."""
        return f"{self.name}({_format_number(self.first)},{_format_number(self.second)})"


class PosteriorDraws(NamedTuple):
    """Draws of one parameter in a fitted file, and the beginning of the file's digest."""

    file: str
    draws: tuple[float, ...]
    name: str = POSTERIOR

    @property
    def ends(self) -> tuple[float, float]:
        """Return the least and the greatest value that can be drawn."""
        return min(self.draws), max(self.draws)

    @property
    def label(self) -> str:
        """Return the law as pages show it."""
        low, high = self.ends
        return f"{POSTERIOR}({self.file}), {len(self.draws)} draws from {low:.3g} to {high:.3g}"

    def __str__(self) -> str:
        """Write the law as a checked config has it: no world reads the file again, and another file is another law."""
        return f"{POSTERIOR}({self.file}:{';'.join(map(_format_number, self.draws))})"


AnyLaw: TypeAlias = KeyLaw | PosteriorDraws


def name_file(text: object) -> str | None:
    """Return the file that a law draws from, as it is typed; None for other laws, and where the text lists the draws.

    >>> name_file("posterior(mine.yaml)"), name_file("posterior(0123456789ab:1;2)"), name_file("uniform(1,2)")
    ('mine.yaml', None, None)
    """
    call = _CALL.fullmatch(text) if isinstance(text, str) else None
    if call is None or call[1] != POSTERIOR or _DRAWS.fullmatch(call[2].strip()):
        return None
    return call[2].strip()


def is_call(value: object) -> bool:
    """True if a text has the form of a law, whatever its name and numbers are.

    >>> is_call("uniform(.1,.5)"), is_call("unifrom(.1)"), is_call("fresh"), is_call(0.3)
    (True, True, False, False)
    """
    return isinstance(value, str) and _CALL.fullmatch(value) is not None


def read_law(key: str, text: str) -> AnyLaw:
    """Read a law; raise InputError, naming the key, for a text that is none.

    >>> str(read_law("raters.leniency_sd", "uniform(.10, .5)"))
    'uniform(0.1,0.5)'
    """
    call = _CALL.fullmatch(text)
    if call is None:
        raise InputError(f"{key}={clip(text, 60)} is no law; write {HOW}")
    setting = f"{key}={clip(text, 60)}"
    name, numbers = call[1], [part.strip() for part in call[2].split(",")]
    if name not in FORMS:
        raise InputError(f"{setting}: {name} is no law; write {HOW}")
    if name == POSTERIOR:
        return _read_draws(setting, call[2])
    if len(numbers) != 2 or not all(_NUMBER.fullmatch(number) for number in numbers):
        raise InputError(f"{setting}: a law has two numbers; write {FORMS[name]}")
    first, second = map(float, numbers)
    if not (math.isfinite(first) and math.isfinite(second)):
        raise InputError(f"{setting} must have finite numbers")
    if name == "uniform" and not first < second:
        raise InputError(f"{setting}: the first number must be less than the second; a fixed value is {key}=A")
    if name != "uniform" and not second > 0:
        raise InputError(f"{setting}: the second number is a standard deviation and must be above 0")
    if name == "lognormal" and not first > 0:
        raise InputError(
            f"{setting}: the first number is the median and must be above 0 (for a mean M of the logarithm it "
            "is exp(M))"
        )
    law = KeyLaw(name, first, second)
    if name == "lognormal" and law.ends[1] > MOST:
        raise InputError(
            f"{setting} reaches more than {MOST:g}; give a smaller second number, the standard deviation of the "
            "logarithm"
        )
    return law


def _read_draws(where: str, inside: str) -> PosteriorDraws:
    match = _DRAWS.fullmatch(inside.strip())
    draws = tuple(map(float, match[2].split(";"))) if match else ()
    if match is None or not all(map(math.isfinite, draws)):
        raise InputError(f"{where}: the draws of the file are not there; start from the command that named the file")
    return PosteriorDraws(match[1].lower(), draws)


def takes_number(annotation: Any) -> bool:
    """True if a key takes a number that is no count.

    >>> takes_number(Annotated[float, "of any size"] | None), takes_number(int), takes_number(float | str)
    (True, False, False)
    """
    inside = get_args(annotation)
    if get_origin(annotation) is Annotated:
        return takes_number(inside[0])
    if get_origin(annotation) in (Union, UnionType):
        return str not in inside and any(map(takes_number, inside))
    return annotation is float


def read_key_laws(config: Mapping[str, Any], plugins: Sequence[str] = ()) -> dict[str, AnyLaw]:
    """Return the laws of the keys of a checked config that worlds draw, by key in full (`raters.leniency_sd`).

    `plugins` are the packages that may be imported to see which keys take numbers; of others each law counts.
    """
    return {
        f"{section}.{name}": read_law(f"{section}.{name}", value)
        for section in SECTIONS
        for name, value in _calls(config.get(section), plugins)
    }


def _calls(section: object, plugins: Sequence[str]) -> Iterator[tuple[str, str]]:
    """List the keys of a section that are laws; none of a section that is no part, as studies without a metric have."""
    if not isinstance(section, Mapping):
        return
    calls = [(name, value) for name, value in section.items() if is_call(value)]
    if not calls:
        return
    known = is_own(section) or str(section["_target_"]).partition(".")[0] in plugins
    rules = parameters(section["_target_"], plugins) if known else {}
    for name, value in calls:
        if takes_number(rules[name]) if known else value.startswith(tuple(FORMS)):
            yield name, value


def draw_value(law: AnyLaw, seed: int, world: int, key: str) -> float:
    """Draw the value of a key (in full) in the world of an index, by its law and the study's seed."""
    # Reading how laws are written, which each verb does, loads no numpy.
    from simlab.rng import stream

    if isinstance(law, PosteriorDraws):
        return law.draws[int(stream(seed, "world", world, "drawn", POSTERIOR, law.file).integers(len(law.draws)))]
    return law.quantile(float(stream(seed, "world", world, "drawn", key).random()))


def draw_keys(config: Mapping[str, Any], world: int) -> dict[str, Any]:
    """Return a config with the values of a world in place of the laws that they are drawn from."""
    laws = read_key_laws(config, config.get("plugins", ()))
    drawn = {section: dict(config[section]) for section in SECTIONS if section in config}
    for key, law in laws.items():
        section, _, name = key.partition(".")
        drawn[section][name] = draw_value(law, config["seed"], world, key)
    return {**config, **drawn}


def refuse_drawn(config: Mapping[str, Any], what: str) -> None:
    """Raise InputError where a key is drawn world by world; `what` names the command that takes one value (`plan`)."""
    for key, law in read_key_laws(config, config.get("plugins", ())).items():
        raise InputError(
            f"{key}={law.label}: {what} takes one value of each key; give {key} a number (`simlab run` and "
            "`simlab sweep` draw it world by world)"
        )


def _format_number(number: float) -> str:
    return word(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
