"""Fit a law of one's own, a NumPyro model, and use its world."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simlab.cli import answer
from simlab.fitting.laws import Fitted
from simlab.fitting.own_law import OwnEffects, own_law, validate_sites
from simlab.fitting.scales.chain import gaussian_scale
from simlab.rng import stream
from simlab.tables.rating_table import ColumnOverrides
from simlab.types import InputError
from simlab.world import recorded
from simlab.world.files import kept_answers

EXAMPLE = Path(__file__).parents[2] / "examples" / "house_rules"
HEAD = "import numpyro\nimport numpyro.distributions as dist\n"
NORMAL = """
def law(n_systems, n_documents, n_raters, system, document, rater, score=None):
    with numpyro.plate("systems", n_systems):
        quality = numpyro.sample("quality", dist.Normal(50, 30))
    with numpyro.plate("documents", n_documents):
        ease = numpyro.sample("ease", dist.Normal(0, 4))
    with numpyro.plate("raters", n_raters):
        leniency = numpyro.sample("leniency", dist.Normal(0, 3))
    with numpyro.plate("ratings", len(system)):
        numpyro.sample("score", dist.Normal(quality[system] + ease[document] + leniency[rater], 2), obs=score)
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))


def module(name: str, text: str) -> str:
    Path(f"{name}.py").write_text(HEAD + text)
    return f"{name}:law"


def table() -> Path:
    """Write a table of the law NORMAL: three systems, twelve documents, three raters."""
    rng = np.random.default_rng(3)
    ease, leniency = 4 * rng.standard_normal(12), 3 * rng.standard_normal(3)
    rows = [
        f"S{s},d{d:02},r{r},{40 + 10 * s + ease[d] + leniency[r] + 2 * rng.standard_normal():.1f}"
        for s in range(3)
        for d in range(12)
        for r in range(3)
    ]
    Path("mine.csv").write_text("\n".join(["system,document,rater,score", *rows]) + "\n")
    return Path("mine.csv")


@pytest.mark.parametrize(
    ("law", "said"),
    [
        ("no_such_module:law", "there is no module no_such_module"),
        ("json:none", "json defines no function none"),
        ("json:", "write a law of your own as MODULE:FUNCTION"),
        ("my-laws:law", "write a law of your own as MODULE:FUNCTION"),
        ("json:dumps", "it asks for obj; a law takes score"),
        ("gausian", "is unknown"),
    ],
)
def test_what_is_no_law_is_refused_in_one_line(law: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    table()
    assert answer(["fit", "mine.csv", "--law", law, "--out", "w.yaml"]) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert said in error
    assert f"--law {law}" in error
    assert not Path("w.yaml").exists()


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "lacks",
            "def law(system, score=None):\n    numpyro.sample('x', dist.Normal(0, 1))\n",
            "has no site named score",
        ),
        pytest.param(
            *("fails", "def law(score=None):\n    raise ValueError('no\\nway')\n", "the model fails: ValueError: no"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "blind",
            "def law(system, score=None):\n    x = numpyro.sample('x', dist.Normal(0, 1))\n"
            "    numpyro.sample('score', dist.Normal(x, 1).expand([len(system)]))\n",
            "does not observe the scores",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "short",
            "def law(n_systems, score=None):\n    x = numpyro.sample('x', dist.Normal(0, 1))\n"
            "    numpyro.sample('score', dist.Normal(x, 1), obs=None if score is None else score[0])\n",
            r"score has shape \(\); the table has 108 ratings",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "unplated",
            NORMAL.replace('with numpyro.plate("documents", n_documents):', "if True:").replace(
                "dist.Normal(0, 4)", "dist.Normal(0, 4).expand([n_documents]).to_event(1)"
            ),
            "the site ease has a value for each of the documents and does not stand in their plate",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "nothing",
            "def law(system, score=None):\n"
            "    numpyro.sample('score', dist.Normal(50, 9).expand([len(system)]), obs=score)\n",
            "has no latent site",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_model_without_what_a_law_must_have_is_refused(name: str, text: str, said: str) -> None:
    law = module(name, text)
    ratings = recorded.table(table(), ColumnOverrides())
    with pytest.raises(InputError, match=f"--law {law}: .*{said}"):
        own_law(law).fit(ratings)


def fitted_normal() -> tuple[Any, Fitted]:
    law = own_law(module("normal_law", NORMAL))
    return law, law.fit(recorded.table(table(), ColumnOverrides()), seed=1, draws=60)


def shift_of_raters(pilot: Any, score: Any) -> Any:
    return np.array([score[pilot.rater == r].mean() for r in range(3)]) - score.mean()


@pytest.mark.slow
@pytest.mark.usefixtures("short_effort")
def test_a_law_finds_what_made_its_table_and_answers_alike() -> None:
    law, fitted = fitted_normal()
    assert fitted.posterior is not None
    assert fitted.posterior.dims["ease"] == ("document",)
    assert fitted.posterior.draws["quality"].shape == (2, 150, 3)
    pilot = fitted.ratings
    # Systems on the same documents and raters: their differences are known to 2 sqrt(2 / 36).
    differences = np.diff(fitted.posterior.draws["quality"].reshape(-1, 3), axis=1)
    means = np.diff([pilot.score[pilot.system == s].mean() for s in range(3)])
    np.testing.assert_allclose(differences.mean(0), means, atol=0.25)
    np.testing.assert_allclose(differences.std(0), 2 * np.sqrt(2 / 36), rtol=0.35)
    assert fitted.diagnosis["divergences"] < 20
    tables = [law.answer(stream(0, "t", k), fitted.effects[k], pilot) for k in range(60)]
    # Raters stay who they are, documents do not.
    assert np.corrcoef(shift_of_raters(pilot, np.mean(tables, 0)), shift_of_raters(pilot, pilot.score))[0, 1] > 0.95
    first, second = (one - one.mean() for one in tables[:2])
    assert not np.allclose(first, second, atol=1)
    # Other raters are drawn: their shifts vary from table to table as the law says (sd 3), those of the pilot hardly.
    others = [law.answer(stream(1, "t", k), fitted.effects[k].forget_raters(), pilot) for k in range(60)]
    spread = [np.std([shift_of_raters(pilot, one)[0] for one in some]) for some in (tables, others)]
    assert spread[0] < 1 < spread[1]

    held = json.loads(json.dumps(law.content(fitted)))
    about = {"format": "x", "about": {}, "not_identified": [], "components": {}, "lower_is_better": False}
    people = {"systems": ["S0", "S1", "S2"], "raters": ["r0", "r1", "r2"], "document_sizes": [1], "seats": [[0, 1, 2]]}
    world = kept_answers.validate_kept_world({**about, **people, **held}, "w.yaml")
    assert world.model == "normal_law:law"
    kept = np.stack([world.answers(k) for k in range(len(world.effects))])
    assert kept.shape[:2] == (40, 3)
    # What is kept scatters as the law says: 2 within a rater's answers, whose four are one of each quarter.
    assert kept.std(-1, ddof=1).mean() == pytest.approx(2, rel=0.1)
    shift = kept.mean((0, 1, 2, 4))
    np.testing.assert_allclose(shift[:3] - shift[:3].mean(), shift_of_raters(pilot, pilot.score), atol=0.3)
    assert kept.mean((1, 2, 4))[:, 3:].std(1).mean() == pytest.approx(3, rel=0.3)


@pytest.mark.slow
def test_the_example_answers_on_the_scale_of_its_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    law = own_law("house_rules.laws:beta_raters")
    ratings = recorded.table(EXAMPLE.parent / "ratings.csv", ColumnOverrides())
    from house_rules.laws import beta_raters

    sites = validate_sites(law.name, beta_raters, ratings)
    plates = {name: sites[name].plates for name in ("level", "quality", "ease", "leniency", "sharpness")}
    of_raters = ("raters",)
    assert list(plates.values()) == [(), ("systems",), ("documents",), of_raters, of_raters]
    known: dict[str, Any] = {"level": 0.5, "system_sd": 1.0, "document_sd": 0.5, "rater_sd": 0.2}
    known |= {"quality": np.linspace(-1, 2, ratings.n_systems), "leniency": np.zeros(ratings.n_raters)}
    known["sharpness"] = np.full(ratings.n_raters, 12.0)
    effects = OwnEffects(known, frozenset({"leniency", "sharpness"}), gaussian_scale(ratings))
    score = np.mean([law.answer(stream(0, "e", k), effects, ratings) for k in range(20)], axis=0)
    once = law.answer(stream(0, "e", 0), effects, ratings)
    assert once.min() >= 0
    assert once.max() <= 100
    np.testing.assert_array_equal(once, np.rint(once))
    means = np.array([score[ratings.system == s].mean() for s in range(ratings.n_systems)])
    # The mean of a Beta is what the logit says, documents averaged over: known to some two points.
    assert (np.diff(means) > 0).all()
    np.testing.assert_allclose(means[[0, -1]], [28, 87], atol=4)
