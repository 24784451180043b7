"""Say what real inputs look like, and how they go wrong: strategies of lines and files, most of them nearly right."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

NUMBERS = st.sampled_from([
    *("0", "1", "-1", "2.5", "1e3", "1e9", "1e308", "1e400", "-0", "nan", "inf", "１２", "1_000", "0x10"),
    *("true", "null", "", " ", "[]", "[1,2]", "[[1,0],[0,1]]", "{a: 1}", "1000000000000000000"),
    *("${oc.env:HOME}", "'1'", "range(1,3)"),
])  # fmt: skip
OPTIONS = st.sampled_from([
    *("systems=mqm", "systems=preference", "systems=alpha_optimal", "systems=fitted", "systems=recorded"),
    *("raters=judges", "metric=rho_eta", "metric=none", "decision=bayes", "decision=naive"),
    *("question=judge", "question=compare"),
    *("analysis.estimator=ppi", "design.grouping=ungrouped", "raters=crowd_pool", "metric=ideal", "raters=oracle"),
])  # fmt: skip
KEYS = st.sampled_from([
    *("systems.n_systems", "systems.n_items", "systems.n_documents", "systems.n_segments", "systems.max_segments"),
    *("systems.mean_score", "systems.system_sd", "systems.path", "systems.alphas", "systems.quality", "systems.p"),
    *("raters.pool_size", "raters.noise", "raters.leniency_sd", "raters.n_raters", "raters.confusion", "metric.rho"),
    *("metric.mu", "metric.path", "design.documents", "design.load_entropy", "budget.per_system"),
    "budget.human_ratings",
    *("budget.annotations_per_pair", "budget.batch_size", "decision.level", "worlds", "studies", "seed", "measure"),
    *("engine.block", "engine.jobs", "engine.retries", "engine.outcomes", "plugins", "question", "systems", "_target_"),
])  # fmt: skip
ODD = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
WORD = st.one_of(
    OPTIONS,
    st.builds("{}={}".format, KEYS, NUMBERS),
    st.builds("{}={},{}".format, KEYS, NUMBERS, NUMBERS),
    st.builds("{}={}".format, KEYS, ODD),
    ODD.map(lambda text: text.lstrip("-")),
)
WORDS = st.lists(WORD, max_size=4)

VALUE = st.one_of(
    NUMBERS, ODD, st.sampled_from(["!!python/object:os.system x", "&a 1", "*a", "[range(1,3)]", "|", "? x"])
)


def _mapping(keys: st.SearchStrategy[str], values: st.SearchStrategy[str], indent: str = "") -> st.SearchStrategy[str]:
    line = st.builds(lambda key, value: f"{indent}{key}: {value}", keys, values)
    return st.lists(line, min_size=1, max_size=4).map("\n".join)


SWEEP_KEYS = (
    "aim",
    "axes",
    "set",
    "measures",
    "figure",
    "precision",
    "quick",
    "finding",
    "claims",
    "calculation",
    "defaults",
)
SWEEP = st.lists(
    st.one_of(
        st.builds("{}: {}".format, st.sampled_from(SWEEP_KEYS), VALUE),
        st.builds("axes:\n{}".format, _mapping(KEYS, st.sampled_from(["1,2", "[1, 2]", "range(1,9)", "a,a"]), "  ")),
        st.builds("set:\n{}".format, _mapping(KEYS, VALUE, "  ")),
        st.builds("figure: {{x: {}, measure: {}}}".format, ODD, st.sampled_from(["srp", "kendall", "x"])),
        st.just("measures: [srp]"),
        st.just("aim: x"),
    ),
    max_size=6,
).map("\n".join)
OPTION = st.builds(
    "{}\n_target_: {}\n{}".format,
    st.sampled_from(["# An option.", "# @package _global_", "# @package measure.x", "defaults: [../../x]", ""]),
    st.sampled_from([
        *("simlab.world.systems.mqm", "os.system", "builtins.eval", "simlab.cli.main", "simlab.world.systems", "1"),
        *("simlab.world..systems.mqm", "simlab.world.systems.mqm.__globals__", "simlab.world.systems.np.load", "''"),
    ]),
    _mapping(st.one_of(st.sampled_from(["n_systems", "_recursive_", "_convert_", "_args_", "x"]), ODD), VALUE),
)  # fmt: skip

_CELL = st.one_of(
    st.sampled_from(["a", "b", "d1", "1", "2", "r1", "r2", "0", "major", "minor", "no-error", "None"]), NUMBERS, ODD
)
_HEADERS = {
    "ratings": "system\tdoc\tseg_id\trater\tscore",
    "errors": "system\tdoc\tdoc_id\tseg_id\trater\tcategory\tseverity",
    "averages": "system\tseg_id\tscore",
    "outputs": "system,item,human,m",
    "preferences": "item,system_a,system_b,human,m",
    "trials": "metric,kind,corruption,original,corrupted,lower_is_better",
    "mutt": "original\tcorruption\tkind\treferences",
}


def table(form: str) -> st.SearchStrategy[bytes]:
    """Make tables of a form: mostly its header, rows of about its width, bytes changed here and there."""
    header = _HEADERS[form]
    mark = "\t" if "\t" in header else ","
    width = header.count(mark) + 1
    row = st.lists(_CELL, min_size=width, max_size=width).map(mark.join)
    lines = st.lists(st.one_of(row, row, row, ODD, st.just("")), max_size=8)
    heads = st.one_of(st.just(header), st.just(header), st.permutations(header.split(mark)).map(mark.join), ODD)
    return mutated(st.builds(lambda head, rows: "\n".join([head, *rows]).encode("utf-8"), heads, lines))


_SCALES = ([0, 1], [1, 2, 3, 4, 5], [3], [0, 0, 0, 100], [1e-300, 2e-300], [1e6, -1e6], [0.1, 1 / 3, -7])
"""The scores of a table: yes or no, a scale, all alike, skewed, tiny, huge, of several digits."""


def ratings_table() -> st.SearchStrategy[bytes]:
    """Make tables that can be concluded from: few systems, documents and raters; some ratings gone, one cell odd."""
    size = st.integers(1, 6)
    odd = st.one_of(st.none(), st.none(), st.none(), _CELL)
    return st.builds(
        _rated, st.integers(2, 6), size, size, st.sampled_from(_SCALES), odd, st.randoms(use_true_random=False)
    )


def _rated(systems: int, documents: int, raters: int, scale: list[float], odd: str | None, drawn: Random) -> bytes:
    cells = [(d, s, r) for d in range(documents) for s in range(systems) for r in range(raters)]
    kept = [cell for cell in cells if drawn.random() < 0.9]
    rows = [f"d{d},S{s},r{r},{drawn.choice(scale[s % 2 :] or scale)}" for d, s, r in kept]
    if odd is not None and rows:
        rows[drawn.randrange(len(rows))] += odd
    return "\n".join(["document,system,rater,score", *rows]).encode("utf-8")


def mutated(content: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Change a few bytes of some of it."""
    change = st.tuples(st.integers(0, 400), st.binary(max_size=3))
    return st.builds(_changed, content, st.one_of(st.just([]), st.lists(change, max_size=3)))


def _changed(content: bytes, changes: list[tuple[int, bytes]]) -> bytes:
    for at, piece in changes:
        content = content[:at] + piece + content[at + len(piece) :]
    return content


JSON_LINES = mutated(
    st.lists(
        st.builds(
            '{{"original": {}, "corruption": {}, "kind": {}, "references": {}}}'.format,
            *(st.sampled_from(['"a dog runs"', "1", "null", "[]", '""', "1e999", "[[[", '"\\ud800"']) for _ in "ab"),
            st.sampled_from(['"altering"', '"passive"', '"x"', "[]"]),
            st.sampled_from(['["a dog"]', "[]", '["", " "]', '"a"', "{}"]),
        ),
        max_size=5,
    ).map(lambda lines: "\n".join(lines).encode())
)  # fmt: skip
