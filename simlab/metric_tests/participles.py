"""Form past participles of English verbs that end in -ing; call `participle`."""

from __future__ import annotations

_IRREGULAR = (
    "beating:beaten biting:bitten blowing:blown breaking:broken bringing:brought building:built burning:burned "
    "buying:bought catching:caught choosing:chosen cutting:cut digging:dug doing:done drawing:drawn "
    "drinking:drunk driving:driven eating:eaten feeding:fed fighting:fought finding:found flying:flown "
    "forgetting:forgotten freezing:frozen getting:got giving:given grinding:ground growing:grown hanging:hung "
    "hearing:heard hiding:hidden hitting:hit holding:held hurting:hurt keeping:kept knitting:knitted "
    "knowing:known laying:laid leading:led leaving:left letting:let lighting:lit losing:lost making:made "
    "meeting:met paying:paid putting:put reading:read riding:ridden ringing:rung saying:said seeing:seen "
    "selling:sold sending:sent setting:set sewing:sewn shaking:shaken shooting:shot showing:shown "
    "shutting:shut singing:sung speaking:spoken spending:spent spinning:spun splitting:split "
    "spreading:spread stealing:stolen sticking:stuck striking:struck sweeping:swept swinging:swung "
    "taking:taken teaching:taught tearing:torn telling:told throwing:thrown understanding:understood "
    "waking:woken wearing:worn weaving:woven winning:won winding:wound writing:written"
)
IRREGULAR = dict(pair.split(":") for pair in _IRREGULAR.split())
"""Past participles of irregular verbs, by the form in -ing."""


def participle(verb: str) -> str | None:
    """Return the past participle of a verb that ends in -ing; None for another word.

    >>> [participle(verb) for verb in ("slicing", "chopping", "carrying", "playing", "freeing", "eating", "king")]
    ['sliced', 'chopped', 'carried', 'played', 'freed', 'eaten', None]
    """
    lowered = verb.lower()
    if lowered in IRREGULAR:
        return IRREGULAR[lowered]
    stem = lowered.removesuffix("ing")
    if stem == lowered or not any(letter in "aeiouy" for letter in stem):
        return None
    if stem.endswith("y") and stem[-2:-1] not in tuple("aeiou"):
        return f"{stem[:-1]}ied"
    return f"{stem}d" if stem.endswith("e") else f"{stem}ed"
